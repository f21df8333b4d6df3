# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Builds what is in this tree, and starts the test runner.

# lock_tree: until this process and what it started have ended. Two runs would overwrite each other's build/.
lock_tree() {
    mkdir -p "$TREE/build"
    exec 8>"$TREE/build/lock"
    flock -n 8 || die "another run uses this tree: wait until it ends, or use another clone"
}

# tied COMMAND...: runs it, and ends it when this process is killed.
tied() {
    setpriv --pdeathsig TERM "$@"
}

# compiler_of KDIR: what make must be told to compile with what the kernel was compiled with.
compiler_of() {
    local config=$1/include/config/auto.conf
    if grep -qx 'CONFIG_CC_IS_CLANG=y' "$config"; then
        echo LLVM=1
    else
        sed -n 's/^CONFIG_CC_VERSION_TEXT=\([^ ]*\) .*/CC=\1/p' "$config"
    fi
}

# build_module KDIR SOURCE OBJECTS TOOLS...: the modules of SOURCE/Kbuild. TOOLS is what runs make: in-root, or env on
# the host.
build_module() {
    local kdir=$1 source=$2 objects=$3 compiler
    shift 3
    mapfile -t compiler < <(compiler_of "$kdir")
    tied "$@" make --no-print-directory -C "$kdir" M="$source" MO="$objects" V="${V:-}" "${compiler[@]}" -j"$(nproc)" modules >&2
}

# make_module KDIR KERNEL TOOLS...: efa.ko in build/KERNEL.
make_module() {
    local kdir=$1 output=$TREE/build/$2
    shift 2
    # Objects for one kernel are of no use for another.
    [ "$(cat "$output/kdir" 2>/dev/null)" = "$kdir" ] || rm -rf "$output"
    mkdir -p "$output"
    echo "$kdir" >"$output/kdir"
    build_module "$kdir" "$TREE" "$output" "$@"
    [ -f "$output/efa.ko" ] || die "the build left no $output/efa.ko"
    say "module: build/$(basename "$output")/efa.ko"
}

# module_for KERNEL: for a kernel of the cache.
module_for() {
    make_module "$(item_dir "kernel-$1")/build" "$1" "$TREE/scripts/in-root"
}

in_tests() {
    tied "$TREE/scripts/in-root" env -C "$TREE/tests" "$@"
}

# make_tools: vefa and the runner. The network is asked only for crates that are not in the cache.
make_tools() {
    drop_orphans
    in_tests cargo fetch --locked --offline --quiet 2>/dev/null || in_tests cargo fetch --locked ||
        die "could not fetch the crates of tests/Cargo.lock: check the network and run the same command again"
    in_tests cargo build --locked --offline --bin vefa --bin runner
}

# drop_orphans: what cargo built for trees that are gone.
drop_orphans() {
    local directory owner
    for directory in "$EFA_CACHE"/target/*; do
        # Without a name it is being made right now, by another tree.
        owner=$(cat "$directory/tree" 2>/dev/null) || continue
        [ -z "$owner" ] || [ -d "$owner" ] || rm -rf --one-file-system -- "$directory"
    done
}

# runner KERNEL ARGUMENT...: in the build root. Its JSON is written in build/ and copied to JSON=, which need not be
# a place that the build root shows.
runner() {
    local kernel=$1 status=0 output=$TREE/build/$1 json=()
    shift
    mkdir -p "$output"
    rm -f "$output/result.json"
    [ -z "${JSON:-}" ] || json=(--json "$output/result.json")
    EFA_TREE=$TREE EFA_BUILD=$output EFA_KERNEL_DIR=$(item_dir "kernel-$kernel") \
        EFA_KERNEL_SOURCE=$(item_dir kernel-source)/src EFA_GUEST_ROOT=$(item_dir guest-root) EFA_GUEST_ROOT_13=$(item_dir guest-root-13) \
        EFA_USER_ROOT=$(item_dir user-root) EFA_USER_METADATA=$(item_dir user-metadata) EFA_ARM64_ROOT=$(item_dir arm64-root) EFA_DEBS=$TREE/build/deb \
        EFA_STOCK_KERNEL_DIR=$(item_dir kernel-stock) EFA_VEFA=$(cargo_target)/debug/vefa \
        tied "$TREE/scripts/in-root" "$(cargo_target)/debug/runner" "$@" "${json[@]}" || status=$?
    [ $status -lt 128 ] || { say "error: a signal ended the run (exit status $status)"; return $status; }
    [ -z "${JSON:-}" ] || cp "$output/result.json" "$JSON" 2>/dev/null || die "the runner left no result to write to $JSON"
    return $status
}
