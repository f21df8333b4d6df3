# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A toy archive for the real set-up: mmdebstrap and apt are stand-ins that answer in an instant, the kernel source is
# a makefile of a few lines, and everything else is what a person runs. Sourced by the tests.

set -euo pipefail
TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)

# These tests need the tools of the build root.
[ -e /etc/efa-rs-build-root ] || exec "$TREE/scripts/in-root" "$0"

ITEMS=(build-root guest-root guest-root-13 kernel-source kernel-stock kernel-test kernel-debug)
TOY=$(mktemp -d)
RELEASE=7.3.9+deb13-cloud-amd64
export TOY EFA_CACHE=$TOY/cache EFA_PROGRESS_SECONDS=1 EFA_SETUP_DISK_MIB=1 EFA_MIRROR=http://toy.example
unset EFA_SETUP_STOP_AT
trap clean_up EXIT

clean_up() {
    local job
    for job in $(jobs -p); do
        kill -KILL "$job" 2>/dev/null || true
    done
    rm -rf --one-file-system "$TOY"
}

flunk() {
    echo "$*"
    exit 1
}

# make_package NAME: of what is in the directory $TOY/content.
make_package() {
    mkdir -p "$TOY/content/DEBIAN" "$TOY/archive"
    printf 'Package: %s\nVersion: 7.3.9-1\nArchitecture: all\nMaintainer: toy\nDescription: toy\n' "$1" >"$TOY/content/DEBIAN/control"
    dpkg-deb --build "$TOY/content" "$TOY/archive/$1_7.3.9-1_all.deb" >/dev/null
    rm -rf "$TOY/content"
}

# make_headers DIRECTORY: Debian's headers of a kernel that was built with the tools there are.
make_headers() {
    mkdir -p "$1/include/config" "$1/include/generated"
    cat >"$1/.config" <<CONFIG
CONFIG_CC_VERSION_TEXT="x86_64-linux-gnu-gcc-14 (Debian)"
CONFIG_GCC_VERSION=$(gcc-14 -dumpfullversion | awk -F. '{ print $1 * 10000 + $2 * 100 + $3 }')
CONFIG_RUSTC_VERSION_TEXT="$(rustc --version)"
CONFIG_BINDGEN_VERSION_TEXT="$(bindgen --version)"
CONFIG_PAHOLE_VERSION=130
CONFIG_RUST=y
CONFIG_INFINIBAND=m
CONFIG_X86_64=y
CONFIG
    cp "$1/.config" "$1/include/config/auto.conf"
    echo "$RELEASE" >"$1/include/config/kernel.release"
    echo '#define UTS_VERSION "toy"' >"$1/include/generated/utsversion.h"
    touch "$1/Makefile"
    echo symbols >"$1/Module.symvers"
    echo vmlinux >"$1/vmlinux"
}

make_archive() {
    local source=$TOY/linux-source-7.3
    mkdir -p "$source/drivers/infiniband/hw/efa"
    echo toy >"$source/drivers/infiniband/hw/efa/efa_verbs.c"
    cp "$TREE/tests/setup/lib/toy-kernel.mk" "$source/Makefile"
    mkdir -p "$TOY/content/usr/src"
    tar -cJf "$TOY/content/usr/src/linux-source-7.3.tar.xz" -C "$TOY" linux-source-7.3
    make_package linux-source-7.3

    mkdir -p "$TOY/content/usr/lib/modules/$RELEASE"
    echo image >"$TOY/content/usr/lib/modules/$RELEASE/vmlinuz"
    make_package "linux-binary-$RELEASE"

    mkdir -p "$TOY/content/usr/lib/modules/$RELEASE/kernel"
    echo module >"$TOY/content/usr/lib/modules/$RELEASE/kernel/toy.ko.txt"
    make_package "linux-modules-$RELEASE"

    make_headers "$TOY/content/usr/src/linux-headers-$RELEASE"
    make_package "linux-headers-$RELEASE"
}

make_tools() {
    mkdir -p "$TOY/bin"
    cp "$TREE/tests/setup/lib/mmdebstrap" "$TREE/tests/setup/lib/apt-get" "$TREE/tests/setup/lib/apt-cache" "$TOY/bin"
    PATH=$TOY/bin:$PATH
}

# start_setup LOG ITEM...: in the background; its process is $setup.
start_setup() {
    local log=$1
    shift
    "$TREE/scripts/setup" "$@" >"$log" 2>&1 &
    # shellcheck disable=SC2034 # for the test that calls this
    setup=$!
}

# wait_for LOG TEXT: at most 20 seconds.
wait_for() {
    local try
    for try in $(seq 400); do
        ! grep -qF -- "$2" "$1" || return 0
        sleep 0.05
    done
    flunk "after $((try / 20)) s set-up has not said '$2' but: $(cat "$1")"
}

# expect_one_line PATTERN COMMAND...: it must fail, and say so in exactly one line that starts with "error:".
expect_one_line() {
    local pattern=$1 said
    shift
    ! said=$("$@" 2>&1) || flunk "'$*' did not fail"
    said=$(grep -v -e '^set-up in ' -e '^    about ' -e '^\[' -e '^make: \*\*\*' <<<"$said") || true
    [ "$(wc -l <<<"$said")" = 1 ] || flunk "'$*' took more than one line to say what is wrong: $(paste -sd'|' <<<"$said")"
    grep -qE -- "^error: .*$pattern" <<<"$said" || flunk "'$*' said '$said', not '$pattern'"
}

# expect_whole: each item is there, with what its users take from it.
expect_whole() {
    local item directory file
    for item in "${ITEMS[@]}"; do
        directory=$("$TREE/scripts/path" "$item")
        [ -d "$directory" ] || flunk "$item is missing"
    done
    for item in kernel-stock kernel-test kernel-debug; do
        directory=$("$TREE/scripts/path" "$item")
        for file in image release build/Makefile "modules/lib/modules/$(cat "$directory/release")"; do
            [ -e "$directory/$file" ] || flunk "$item has no $file"
        done
        grep -qxF "export KBUILD_OUTPUT = $directory/build" "$directory/build/Makefile" || flunk "$item's build directory does not know where it is"
    done
    [ -z "$(ls "$EFA_CACHE/partial")" ] || flunk "something half-made is left: $(ls "$EFA_CACHE/partial")"
}

make_archive
make_tools
