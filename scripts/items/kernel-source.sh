# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# kernel-source: the newest linux-source of the supported version in backports, unpacked, and Debian's own kernel
# packages of the same version, which backports drops when a newer one comes.

KERNEL_VERSION=7.3
KERNEL_FLAVOUR=cloud-amd64

# backports TOOL...: one of apt's tools in the build root, with an index of backports alone.
backports() {
    local tool=$1
    shift
    "$TREE/scripts/in-root" "$tool" -o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" -o Acquire::Languages=none \
        -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3 -o APT::Sandbox::User=root "$@"
}

# newest PATTERN: "package version" of the newest package whose name matches.
newest() {
    backports apt-cache pkgnames linux- | grep -E "^$1\$" | while read -r package; do
        backports apt-cache madison "$package" | awk -F ' *[|] *' -v p="$package" '{ print p, $2 }'
    done | sort -k2,2V | tail -1
}

find_packages() {
    local available
    mkdir -p apt/lists/partial apt/cache/archives/partial packages
    echo "deb $EFA_MIRROR/debian trixie-backports main" >apt/sources.list
    backports apt-get update --error-on=any
    read -r source version < <(newest "linux-source-${KERNEL_VERSION//./\\.}(\\..*)?") || {
        available=$(backports apt-cache pkgnames linux-source- | sed 's/linux-source-//' | sort -V | paste -sd' ')
        fail "trixie-backports has no linux-source-$KERNEL_VERSION (it has: $available): for the module alone, give a kernel's build directory with make KDIR=DIRECTORY"
    }
    read -r binary _ < <(newest "linux-binary-${KERNEL_VERSION//./\\.}.*-$KERNEL_FLAVOUR") ||
        fail "trixie-backports has $source but no linux-binary for $KERNEL_FLAVOUR"
    release=${binary#linux-binary-}
}

fetch_packages() {
    (cd packages && backports apt-get download "$source=$version" \
        "linux-binary-$release=$version" "linux-modules-$release=$version" "linux-headers-$release=$version")
}

# What a kernel of ours never compiles is left out: it is two thirds of the tree.
unpack_source() {
    local part excludes=()
    for part in arch/a* arch/c* arch/h* arch/l* arch/m* arch/n* arch/o* arch/p* arch/r* arch/s* \
        drivers/accel drivers/clk drivers/gpu drivers/iio drivers/media drivers/pinctrl drivers/scsi \
        drivers/staging drivers/usb sound; do
        excludes+=(--exclude="*/$part/*.[chS]")
    done
    remove_tree item/src
    mkdir -p item/src
    dpkg-deb --fsys-tarfile packages/linux-source-*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
        "$TREE/scripts/in-root" xz -dc -T0 | tar -x -C item/src --strip-components=1 --wildcards --wildcards-match-slash "${excludes[@]}" \
        --exclude='*/Documentation/*/*' --exclude='*/tools/testing/*'
    [ -f item/src/drivers/infiniband/hw/efa/efa_verbs.c ] || fail "$source has no efa driver"
}

make_kernel_source() {
    local source version binary release
    step 1 3 "packages of Linux $KERNEL_VERSION in backports"
    find_packages
    step 2 3 "download of $source $version and of Debian's $release"
    fetch_packages
    step 3 3 "unpacking of $source"
    unpack_source
    mv packages/linux-source-*.deb .
    mkdir -p item/packages
    cp packages/*.deb item/packages/
    echo "$version" >item/version
    echo "$release" >item/release
    publish item
}
