# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# user-root: a Debian 13 machine as people have it: its rdma-core, the cloud kernel of backports with its headers, and
# what efa-rs-dkms depends on, but not the package itself. The tests install that in it.

# shellcheck source=scripts/lib/kdir.sh
. "$TREE/scripts/lib/kdir.sh"

# Only the kernel comes from backports, as on a machine that installed it with apt install -t trixie-backports.
user_root_pins() {
    cat <<'PINS'
Package: src:linux src:linux-base src:linux-signed-amd64
Pin: release n=trixie-backports
Pin-Priority: 700
PINS
}

user_root_sources() {
    cat <<SOURCES
deb $EFA_MIRROR/debian trixie main
deb $EFA_MIRROR/debian trixie-backports main
deb $EFA_MIRROR/debian-security trixie-security main
SOURCES
}

# All that the machine gets, without versions.
user_root_packages() {
    cat "$TREE/scripts/items/guest-root.packages"
    printf 'linux-%s-cloud-amd64\n' image headers
    sed "s/ (.*//; s/@SUPPORTED@/$SUPPORTED/" "$TREE/scripts/debian/efa-rs-dkms.depends"
}

make_user_root() {
    step 1 2 "packages of Debian 13, and the kernel of backports" progress_packages
    user_root_pins >pins
    user_root_packages >packages.list
    # No initial RAM disk: the virtual machine needs none, and it takes longer than the rest.
    user_root_sources | debian_root root trixie packages.list \
        --setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\" \"\$1/etc/initramfs-tools\" && cp '$PWD/pins' \"\$1/etc/apt/preferences.d/backports\"" \
        --setup-hook="echo update_initramfs=no >\"\$1/etc/initramfs-tools/update-initramfs.conf\"" \
        --dpkgopt=force-confold
    step 2 2 "check of the kernel"
    local headers=(root/usr/lib/modules/"$SUPPORTED".*-cloud-amd64/build)
    [ -e "${headers[0]}/Makefile" ] || fail "the cloud kernel of trixie-backports is no longer Linux $SUPPORTED"
    publish root
}
