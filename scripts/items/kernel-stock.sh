# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# kernel-stock: Debian's own cloud kernel, unmodified, and a build directory for modules of it. Debian's header
# packages lack the Rust metadata, so it is made from the matching source with Debian's configuration.

# Lines make prints while it prepares; only for the progress.
STOCK_LINES=200

progress_stock() {
    echo "$(step_log | wc -l) of about $STOCK_LINES lines of make, "
}

unpack_packages() {
    local package
    remove_tree debian
    for package in "$(kernel_source_file packages)"/*.deb; do
        dpkg-deb -x "$package" debian
    done
    remove_tree item/modules
    mkdir -p item/modules/lib/modules
    mv "debian/usr/lib/modules/$release" item/modules/lib/modules/
    rm -f "item/modules/lib/modules/$release"/{build,source}
    mv "item/modules/lib/modules/$release/vmlinuz" item/image
    "$TREE/scripts/in-root" depmod -b "$PWD/item/modules" "$release"
}

# The suffix after the upstream version, as Debian built it.
local_version() {
    echo "+${release#*+}"
}

configure() {
    mkdir -p item/build
    cp "$headers/.config" item/build/.config
    kernel_make LOCALVERSION="$(local_version)" olddefconfig
    # Debian names the same compiler by its longer name.
    diff -I '^CONFIG_CC_VERSION_TEXT=' "$headers/.config" item/build/.config ||
        fail "the source does not take Debian's configuration as it is: the build root's tools are not those of $release"
}

make_kernel_stock() {
    local release headers
    release=$(cat "$(kernel_source_file release)")
    headers=debian/usr/src/linux-headers-$release
    step 1 4 "unpacking of Debian's $release"
    unpack_packages
    step 2 4 "Debian's configuration"
    configure
    step 3 4 "Rust metadata and tools for modules of $release" progress_stock
    kernel_make LOCALVERSION="$(local_version)" prepare modules_prepare
    cp "$headers/Module.symvers" "$headers/vmlinux" item/build/
    step 4 4 "check of the release"
    echo "$release" >item/release
    cmp item/release item/build/include/config/kernel.release || fail "the build directory is not one of $release"
    finish_build
    publish item
}
