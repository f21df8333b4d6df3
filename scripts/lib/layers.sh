# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A root on which everything can be changed, and that is gone afterwards.

# own_user_namespace: whether an ordinary user runs this, as root of a namespace (namespace.sh).
own_user_namespace() {
    [ "$(awk '{ print $3 }' /proc/self/uid_map)" != 4294967295 ]
}

# mount_layers PLACE LOWER...: the directories LOWER on top of each other, the first uppermost, at PLACE/root. What is
# written there goes to PLACE/upper, in memory.
mount_layers() {
    local place=$1 IFS=: options
    shift
    options=lowerdir=$*,upperdir=$place/upper,workdir=$place/work
    ! own_user_namespace || options+=,userxattr
    mount -t tmpfs -o mode=755 machine "$place"
    mkdir "$place"/{upper,work,root}
    mount -t overlay -o "$options" machine "$place/root"
}
