# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# arm64-root: what the machine user-root gets to build for arm64 kernels: compilers, the headers of the cloud kernel of
# backports, and in var/cache/efa-rs what scripts/kernel-build-dir makes for that kernel there. No root by itself: it is
# laid over user-root.

for part in kdir layers namespace; do
    # shellcheck source=/dev/null
    . "$TREE/scripts/lib/$part.sh"
done
# shellcheck source=scripts/items/user-root.sh
. "$TREE/scripts/items/user-root.sh"

on_arm64_machine() {
    in_own_namespace "$BASH" "$TREE/scripts/lib/enter-root.sh" "$PWD/machine/root" / "$@"
}

# arm64_machine COMMAND LOWER...: runs COMMAND while the machine is there: user-root, and LOWER on top of it.
arm64_machine() {
    local command=$1
    shift
    mkdir -p machine
    mount_layers "$PWD/machine" "$@" "$(item_dir user-root)"
    "$command"
    umount --recursive machine
}

# The source is upgraded where the headers are newer than user-root.
install_arm64_packages() {
    local packages
    packages=$(sed -e '/^#/d' -e '/^$/d' "$TREE/scripts/items/arm64-root.packages")
    user_root_sources | sed 's/^deb /deb [arch=amd64,arm64] /' >machine/root/etc/apt/sources.list
    mkdir -p packages/partial
    # shellcheck disable=SC2016,SC2086 # for the shell on the machine; a list of packages
    on_arm64_machine env DEBIAN_FRONTEND=noninteractive sh -ec '
        archives=$1
        shift
        dpkg --add-architecture arm64
        apt-get update --error-on=any
        apt-get install -y --no-install-recommends -o "Dir::Cache::Archives=$archives" "$@"
    ' - "$PWD/packages" "linux-source-$SUPPORTED" $packages
    mkdir installed
    cp -a --no-preserve=xattr machine/upper/usr installed/
}

arm64_release() {
    local headers=(root/usr/lib/modules/"$SUPPORTED".*-cloud-arm64/build)
    [ -L "${headers[0]}" ] || fail "the arm64 cloud kernel of trixie-backports is no longer Linux $SUPPORTED"
    basename "$(dirname "${headers[0]}")"
}

make_arm64_metadata() {
    mkdir -p cache
    on_arm64_machine bash -c "mkdir -p /var/cache/efa-rs && mount --bind '$work/cache' /var/cache/efa-rs &&
        '$TREE/scripts/kernel-build-dir' --release '$release'"
    rm -f cache/{log,lock}
}

make_arm64_root() {
    local release
    if [ ! -d root ]; then
        step 1 2 "compilers for arm64, and the headers of its kernel" progress_packages
        remove_tree installed
        arm64_machine install_arm64_packages
        mv installed root
    fi
    release=$(arm64_release)
    step 2 2 "Rust metadata for $release" progress_metadata
    arm64_machine make_arm64_metadata "$PWD/root"
    mkdir -p root/var/cache
    mv cache root/var/cache/efa-rs
    publish root
}
