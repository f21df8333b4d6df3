# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# kernel-stock: Debian's own cloud kernel, unmodified, and a build directory for modules of it. Debian's header
# packages lack the Rust metadata, so it is made from the matching source with Debian's configuration.

# Lines make prints while it prepares; only for the progress.
STOCK_LINES=200

progress_stock() {
    echo "$({ wc -l <made/log; } 2>/dev/null || echo 0) of about $STOCK_LINES lines of make, "
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

# make_metadata: with the tool that a person's own machine makes it with.
make_metadata() {
    local made
    made=$("$TREE/scripts/in-root" "$TREE/scripts/kernel-build-dir" --release "$release" \
        --headers "$PWD/debian/usr/src/linux-headers-$release" --source "$(kernel_source_file src)" --cache "$PWD/made")
    remove_tree item/build
    mv "$made" item/build
    finish_build
}

make_kernel_stock() {
    local release
    release=$(cat "$(kernel_source_file release)")
    step 1 2 "unpacking of Debian's $release"
    unpack_packages
    step 2 2 "Rust metadata and tools for modules of $release" progress_stock
    make_metadata
    echo "$release" >item/release
    publish item
}
