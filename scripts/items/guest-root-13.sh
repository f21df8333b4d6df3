# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# guest-root-13: the same user space from Debian 13, whose rdma-core is the older one that people have today.

make_guest_root_13() {
    step 1 2 "packages of Debian 13" progress_packages
    echo "deb $EFA_MIRROR/debian trixie main" |
        debian_root root trixie "$TREE/scripts/items/guest-root.packages"
    step 2 2 "check of rdma-core's own tests"
    [ -d root/usr/share/doc/rdma-core/tests ] || fail "python3-pyverbs brought no tests of rdma-core"
    publish root
}
