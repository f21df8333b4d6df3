# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# build-root: Debian 13 with the toolchain that built Debian's 7.3 kernels, and QEMU from backports.

# Only these come from backports: its rustc is not the one that built the kernels.
# libelf and libdw must come from where QEMU's libelf does.
build_root_pins() {
    cat <<'PINS'
Package: src:qemu src:seabios src:ipxe src:elfutils src:linux src:linux-signed-amd64
Pin: release n=trixie-backports
Pin-Priority: 700
PINS
}

build_root_sources() {
    cat <<SOURCES
deb $EFA_MIRROR/debian trixie main
deb $EFA_MIRROR/debian trixie-updates main
deb $EFA_MIRROR/debian trixie-backports main
deb $EFA_MIRROR/debian-security trixie-security main
SOURCES
}

make_build_root() {
    step 1 2 "packages of Debian 13" progress_packages
    build_root_pins >pins
    build_root_sources | debian_root root trixie "$TREE/scripts/items/build-root.packages" \
        --setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\" && cp '$PWD/pins' \"\$1/etc/apt/preferences.d/backports\"" \
        --customize-hook="touch \"\$1$BUILD_ROOT_MARK\""
    step 2 2 "check of the tools"
    local command
    for command in gcc-14 rustc bindgen cargo qemu-system-x86_64; do
        [ -x "root/usr/bin/$command" ] || fail "the build root has no $command"
    done
    publish root
}
