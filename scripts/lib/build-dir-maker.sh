# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# How kernel-build-dir makes a build directory with Rust metadata: in $cache/partial, under a lock, renamed into place
# when it is whole. "headers", "release", "cache", "source" and "directory" are its own.

# is_key NAME: whether it is one that build_dir gives a directory.
is_key() {
    [[ ${1##*/} =~ ^[0-9a-f]{12}$ ]]
}

tell() {
    say "[$release] $*"
}

fail() {
    say "error: no Rust metadata for $release: $1"
    exit 1
}

# failed_log REASON: with the log from its first error on, or else its end.
failed_log() {
    local first
    first=$(grep -n -m1 -E 'error[:[]|\*\*\* ' "$log" | cut -d: -f1) || true
    say "error: no Rust metadata for $release: $1: $(sed -n "${first:-\$}p" "$log" | cut -c1-300); from $log:"
    if [ -n "$first" ]; then
        sed -n "$first,$((first + 14))p" "$log"
    else
        tail -n 15 "$log"
    fi | sed 's/^/    /' >&2
    exit 1
}

# jobs_for_memory: as many as there are processors, and no more than fit into the memory.
jobs_for_memory() {
    local jobs fit
    jobs=$(nproc) fit=$(($(free_memory) / JOB_MIB))
    [ "$fit" -ge "$jobs" ] || { jobs=$((fit > 0 ? fit : 1)); tell "little memory is free: $jobs at a time"; }
    echo "$jobs"
}

# run COMMAND...: into the log; ends it when this script is killed. In the background, so that a signal is acted on
# at once.
run() {
    local child status=0
    setpriv --pdeathsig TERM -- "$@" >>"$log" 2>&1 </dev/null &
    child=$!
    # shellcheck disable=SC2064 # this child
    trap "kill $child 2>/dev/null; wait $child; exit 143" INT TERM HUP
    wait $child || status=$?
    trap - INT TERM HUP
    return $status
}

# kernel_make TARGET...: in the source, with objects in build/; nothing of what called us reaches it.
kernel_make() {
    run env -i PATH="$PATH" HOME="${HOME:-/root}" LC_ALL=C.UTF-8 make -C "$tree" O="$work/build" -j"$jobs" \
        ARCH="$(kernel_arch)" CROSS_COMPILE="$(cross_prefix)" CC="$(kernel_compiler)" HOSTCC="$(host_compiler)" \
        CROSS_COMPILE_COMPAT="$(compat_prefix)" CC_COMPAT="$(compat_prefix)$(host_compiler)" \
        LOCALVERSION="${release#"$version"}" "$@"
}

# unpack_source: what headers, host tools and Rust crates are made from; the rest is nine tenths of the tree. Host tools
# are built with headers of this machine's architecture, and every kernel's system calls are compared with x86's. The
# bindings are of two headers of drivers, too, and arm64's vDSO for 32-bit programs is finished by a tool of arm's.
unpack_source() {
    local wanted=(arch/arm/vdso arch/arm64 arch/x86 drivers/android drivers/base include kernel lib rust scripts security
        tools/arch/arm64 tools/arch/x86 tools/bpf/resolve_btfids tools/build tools/include tools/lib tools/objtool
        tools/scripts)
    mkdir "$tree"
    run tar -xf "$source" -C "$tree" --strip-components=1 --exclude='*/boot/dts/*' \
        --wildcards --wildcards-match-slash '*/Kconfig*' '*/Makefile*' '*/Kbuild*' \
        --no-wildcards-match-slash "${wanted[@]/#/*/}" || failed_log "cannot unpack $source"
}

# source_version: of the Makefile, as 7.3.4.
source_version() {
    awk '/^(VERSION|PATCHLEVEL|SUBLEVEL) = / { version = version separator $3; separator = "." } END { print version }' "$tree/Makefile"
}

configure() {
    version=$(source_version)
    [[ $release = "$version" || $release = "$version"[-+]* ]] ||
        fail "$source is of Linux $version, not of $release: install linux-source-$SUPPORTED of the headers' version"
    mkdir "$work/build"
    cp "$headers/.config" "$work/build/.config"
    kernel_make olddefconfig || failed_log "the source takes no configuration"
    # Another build of the same compiler has another name.
    local lost
    lost=$(diff -I '^CONFIG_CC_VERSION_TEXT=' "$headers/.config" "$work/build/.config" |
        sed -n 's/^[<>] //p' | paste -sd' ') || true
    [ -z "$lost" ] ||
        fail "its source and this machine's tools do not take its configuration as it is ($lost): use the tools that built it"
}

prepare() {
    kernel_make prepare modules_prepare || failed_log "make failed"
    [ -f "$work/build/rust/libkernel.rmeta" ] || fail "the source leaves no rust/libkernel.rmeta"
    cmp -s <(echo "$release") "$work/build/include/config/kernel.release" ||
        fail "the source makes a directory for $(cat "$work/build/include/config/kernel.release")"
}

# slim: modules are built against headers, tools, Rust metadata and the symbol table. Objects and what they were
# compiled from are of no use, but for scripts/, where a part of every module comes from.
slim() {
    local build=$work/build
    find "$build" -name '*.a' -type f -delete
    find "$build" \( -path "$build/scripts" -o -path "$build/tools" \) -prune -o \
        \( -name '*.o' -o -name '*.o.cmd' \) -type f -exec rm {} +
    find "$build/rust" -name '*.so' -exec strip --strip-debug {} +
    [ ! -d "$work/source" ] ||
        find "$work/source" -path "$work/source/scripts" -prune -o -name '*.[cS]' -type f -exec rm {} +
}

# finish: the symbol table, the types for BTF and Debian's choice of the compiler; and the directory must work from
# where it goes.
finish() {
    local build=$work/build file
    for file in Module.symvers vmlinux .kernelvariables; do
        [ ! -f "$headers/$file" ] || cp "$headers/$file" "$build/"
    done
    sed -i "s|$work/|$directory/|g" "$build/Makefile"
    [ ! -d "$work/source" ] || ln -sfn ../source "$build/source"
    echo "$headers" >"$work/headers"
}

# publish: in one rename, once it is on the disk. What was made of the kernel in another way goes.
publish() {
    local older
    mkdir -p "$cache/$release"
    sync -f "$work"
    mv -T "$work" "$directory"
    for older in "$cache/$release"/*; do
        [ "$older" = "$directory" ] || ! is_key "$older" || rm -rf --one-file-system -- "$older"
    done
}

# drop_removed: what was made for headers that are no longer installed.
drop_removed() {
    local of made
    for of in "$cache"/*/*/headers; do
        made=$(dirname "$of")
        if [[ -f $of && ! -d $(cat "$of") ]] && is_key "$made"; then
            rm -rf --one-file-system -- "$made"
            rmdir --ignore-fail-on-non-empty "$(dirname "$made")"
        fi
    done
}

# drop_half: also at exit, where nothing of what is local is left.
drop_half() {
    rm -rf --one-file-system -- "$half"
}

make_build_dir() {
    local work=$cache/partial log=$cache/log tree version jobs started=$SECONDS
    exec 9>"$cache/lock"
    flock -n 9 || { tell "waiting for another run, which holds $cache/lock"; flock 9; }
    if [ ! -d "$directory" ]; then
        drop_removed
        half=$work
        drop_half
        check_disk
        check_memory
        trap drop_half EXIT
        set -E
        trap 'fail "${BASH_COMMAND%% *} failed; see above"' ERR
        mkdir "$work"
        : >"$log"
        jobs=$(jobs_for_memory) tree=$work/source
        if [ -d "$source" ]; then
            tree=$source
        else
            tell "1/3 unpacking of $source"
            unpack_source
        fi
        tell "2/3 the kernel's configuration"
        configure
        tell "3/3 Rust metadata, once for this kernel: about 3 minutes on two cores"
        prepare
        slim
        finish
        publish
        tell "made in $(elapsed $((SECONDS - started))): $directory"
    fi
    exec 9>&-
}
