# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A kernel build directory that a person gives with KDIR=.

SUPPORTED=7.3

# check_kdir KDIR: refuses in one line what the module cannot be built against.
check_kdir() {
    local kdir=$1
    [ -d "$kdir" ] ||
        die "KDIR=$kdir is not a directory: install the kernel's headers (linux-headers-RELEASE), or give the kernel's own build directory"
    [[ -f $kdir/Makefile && -f $kdir/include/config/auto.conf ]] ||
        die "KDIR=$kdir is not a configured kernel build directory (no Makefile or include/config/auto.conf): give /lib/modules/RELEASE/build, or a kernel's O= directory after make prepare"
    check_kernel "$kdir"
    [ -f "$kdir/rust/libkernel.rmeta" ] ||
        die "KDIR=$kdir has no Rust metadata (rust/libkernel.rmeta): for Debian's header packages give what scripts/kernel-build-dir --headers $kdir prints; in a kernel's own build directory run make prepare"
}

# check_kernel DIRECTORY: whether the kernel of a build directory or of headers is one for this driver.
check_kernel() {
    local config=$1/include/config/auto.conf release
    release=$(cat "$1/include/config/kernel.release" 2>/dev/null) || release=unknown
    case $release in
    "$SUPPORTED" | "$SUPPORTED".* | "$SUPPORTED"[-+]*) ;;
    *) die "$1 is of Linux $release; this driver supports $SUPPORTED" ;;
    esac
    grep -qx 'CONFIG_RUST=y' "$config" ||
        die "the kernel in $1 has no CONFIG_RUST: the driver needs a kernel configured with CONFIG_RUST=y"
    grep -qx 'CONFIG_INFINIBAND=[my]' "$config" ||
        die "the kernel in $1 has no CONFIG_INFINIBAND: the driver needs the kernel's RDMA core"
}

# same_rustc KDIR TOOLS...: whether the rustc that TOOLS reaches is the kernel's.
same_rustc() {
    local wanted
    wanted=$(kernel_rustc "$1")
    shift
    [ "$("$@" rustc --version 2>/dev/null)" = "$wanted" ]
}

kernel_rustc() {
    sed -n 's/^CONFIG_RUSTC_VERSION_TEXT=//p' "$1/include/config/auto.conf"
}

# module_for_kdir KDIR KERNEL: with the host's tools if its rustc is the one the kernel was built with, else with the
# build root's. No kernel and no root is made for it.
module_for_kdir() {
    local kdir source tools found
    # Of a path that is not there as much is resolved as can be: check_kdir says what is wrong with it.
    kdir=$(realpath -m -- "$1")
    check_kdir "$kdir"
    source=$(realpath "$kdir/source" 2>/dev/null) || source=
    tools=("$TREE/scripts/in-root")
    export EFA_SHOW="$kdir $source"
    if same_rustc "$kdir" env; then
        tools=(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL)
    elif [ ! -d "$(item_dir build-root)" ] || ! same_rustc "$kdir" "${tools[@]}"; then
        found=$(rustc --version 2>/dev/null) || found="no rustc"
        die "the kernel in KDIR=$kdir was built with $(kernel_rustc "$kdir"), and here is $found: put that rustc in PATH, or, for Debian 13's, run scripts/setup build-root"
    fi
    lock_tree
    make_module "$kdir" "$2" "${tools[@]}"
}
