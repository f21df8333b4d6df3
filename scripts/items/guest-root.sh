# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# guest-root: the user space of the virtual machine, Debian 14 (the release after the build root's) for its
# rdma-core. The guest's init comes from the test runner; nothing here starts a service.

make_guest_root() {
    step 1 2 "packages of Debian 14" progress_packages
    echo "deb $EFA_MIRROR/debian forky main" |
        debian_root root forky "$TREE/scripts/items/guest-root.packages"
    step 2 2 "check of rdma-core's own tests"
    [ -d root/usr/share/doc/rdma-core/tests ] || fail "python3-pyverbs brought no tests of rdma-core"
    publish root
}
