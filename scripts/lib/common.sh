# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Where things are, messages, and the key of an item. Sourced by every script here.

# With it cd says where it goes.
unset CDPATH
TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
EFA_CACHE=${EFA_CACHE:-${HOME:-/root}/.cache/efa-rs}
EFA_MIRROR=${EFA_MIRROR:-}
ITEMS="build-root guest-root guest-root-13 package-root user-root kernel-source kernel-stock kernel-test kernel-debug user-metadata arm64-root"

# The exit status of a maker that has told the person what is wrong.
# shellcheck disable=SC2034 # used by those who source this
REPORTED=99
# A file that only the build root has.
# shellcheck disable=SC2034 # used by those who source this
BUILD_ROOT_MARK=/etc/efa-rs-build-root

export EFA_CACHE EFA_MIRROR

say() {
    printf '%s\n' "$*" >&2
}

die() {
    say "error: $*"
    exit 1
}

# usage TEXT [ARGUMENT...]: prints it for who asks for it; else it is what was expected.
usage() {
    local text="usage: $1"
    [[ ${2:-} != -h && ${2:-} != --help ]] || { echo "$text"; exit; }
    die "$text"
}

# Kernel builds take neither spaces nor colons in a path.
check_paths() {
    local trouble="has a space or a colon in it, which kernel builds cannot take"
    [[ $TREE != *[[:space:]:]* ]] || die "the tree's path '$TREE' $trouble: move the tree"
    [[ $EFA_CACHE != *[[:space:]:]* ]] || die "'$EFA_CACHE' $trouble: set EFA_CACHE to another directory"
    [[ $EFA_CACHE = /* ]] || die "EFA_CACHE must be an absolute path, not '$EFA_CACHE'"
}

# elapsed SECONDS: as m:ss
elapsed() {
    printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

known_item() {
    [[ " $ITEMS " == *" $1 "* ]]
}

# item_inputs NAME: the files that decide what is in an item, and the items it is made from.
item_inputs() {
    local items=$TREE/scripts/items
    case $1 in
    build-root | guest-root*)
        echo "$items/$1.sh" "$items/${1%-13}.packages" "$TREE/scripts/lib/debian-root.sh"
        ;;
    package-root) echo "$items/$1.sh" "$items/$1.packages" "$TREE/scripts/lib/debian-root.sh" ;;
    user-root) echo "$items/$1.sh" "$items/guest-root.packages" "$TREE/scripts/debian/efa-rs-dkms.depends" "$TREE/scripts/lib/debian-root.sh" ;;
    user-metadata) echo "$items/$1.sh" "$TREE"/scripts/lib/build-dir{,-maker}.sh ;;
    arm64-root) echo "$items/$1.sh" "$items/$1.packages" "$TREE"/scripts/lib/build-dir{,-maker}.sh ;;
    kernel-source) echo "$items/$1.sh" ;;
    kernel-stock)
        echo "$items/$1.sh" "$TREE/scripts/kernel-build-dir" "$TREE"/scripts/lib/{kernel,build-dir,build-dir-maker}.sh
        ;;
    kernel-test) echo "$items/$1.sh" "$TREE/scripts/lib/kernel.sh" "$TREE/scripts/kernel-test.config" ;;
    kernel-debug) echo "$items/$1.sh" "$TREE/scripts/lib/kernel.sh" "$TREE"/scripts/kernel-{test,debug}.config ;;
    esac
}

# item_needs NAME: the items that must be there first.
item_needs() {
    case $1 in
    user-metadata | arm64-root) echo user-root ;;
    kernel-source) echo build-root ;;
    kernel-*) echo build-root kernel-source ;;
    esac
}

# item_key NAME: changes with what the item is made of, but not with comments. A kernel's key does not follow
# the build root's, or one more tool in it would compile every kernel again.
item_key() {
    local name=$1 key=
    case $name in
    kernel-stock | kernel-test | kernel-debug) key=$(item_key kernel-source) ;;
    user-root) key=$(grep '^SUPPORTED=' "$TREE/scripts/lib/kdir.sh") ;;
    user-metadata | arm64-root) key=$(item_key user-root) ;;
    esac
    # shellcheck disable=SC2046 # the tree's path has no spaces (check_paths)
    { echo "$key"; sed -e '/^[[:space:]]*#/d' -e '/^[[:space:]]*$/d' $(item_inputs "$name"); } | sha256sum | cut -c1-12
}

item_dir() {
    echo "$EFA_CACHE/$1-$(item_key "$1")"
}

# Where cargo builds: one directory a tree, since two trees would overwrite each other's programs.
cargo_target() {
    echo "$EFA_CACHE/target/$(echo "$TREE" | sha256sum | cut -c1-12)"
}

# claim_cargo_target: says whose it is, so that no other tree's run takes it for an orphan.
claim_cargo_target() {
    mkdir -p "$(cargo_target)"
    echo "$TREE" >"$(cargo_target)/tree"
}
