# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# What the makers of kernels share. "target" and "work" are the maker's (maker.sh).

# What make is told of the compiler; Debian's kernels are built with this one.
KERNEL_COMPILER=CC=gcc-14

# kernel_source_file FILE: of the kernel-source item.
kernel_source_file() {
    echo "$(item_dir kernel-source)/$1"
}

# kernel_make TARGET...: in the source, with objects in ./item/build, in the build root.
kernel_make() {
    "$TREE/scripts/in-root" make -C "$(kernel_source_file src)" O="$PWD/item/build" \
        "$KERNEL_COMPILER" -j"$(nproc)" "$@"
}

# check_options FRAGMENT CONFIG: every option the fragment sets must have that value in CONFIG. Options that
# depend on something absent are dropped by the kernel's configuration without a word.
check_options() {
    local line lost=
    while read -r line; do
        case $line in
        CONFIG_*=n) ! grep -q "^${line%=n}=" "$2" || lost+=" $line" ;;
        CONFIG_*) grep -qxF -- "$line" "$2" || lost+=" $line" ;;
        esac
    done <"$1"
    [ -z "$lost" ] || fail "these options did not survive the kernel's configuration:$lost"
}

# configure_small FRAGMENT...: the smallest kernel there is, and what the fragments ask for.
configure_small() {
    local fragment
    mkdir -p item/build
    kernel_make tinyconfig
    cat "$@" >>item/build/.config
    kernel_make olddefconfig
    for fragment; do
        check_options "$fragment" item/build/.config
    done
}

# install_kernel: what a virtual machine takes, from build/ into the item.
install_kernel() {
    remove_tree item/modules
    kernel_make INSTALL_MOD_PATH="$PWD/item/modules" modules_install
    cp item/build/arch/x86/boot/bzImage item/image
    cp item/build/include/config/kernel.release item/release
    rm -f item/modules/lib/modules/*/{build,source}
    finish_build
}

# finish_build: build/ must work from where the item goes, and needs no objects: modules are built against headers,
# tools, Rust metadata and the symbol table.
finish_build() {
    sed -i "s|^export KBUILD_OUTPUT = .*|export KBUILD_OUTPUT = $target/build|" item/build/Makefile
    find item/build -name '*.a' -delete
    find item/build \( -path item/build/scripts -o -path item/build/tools \) -prune -o \
        \( -name '*.o' -o -name '*.ko' -o -name '*.mod.c' -o -name '*.o.cmd' -o -name '*.ko.cmd' \) ! -name module.lds -type f -exec rm {} +
}
