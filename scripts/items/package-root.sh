# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# package-root: a plain Debian 13 that builds packages, as on anybody's machine.

make_package_root() {
    step 1 2 "packages of Debian 13" progress_packages
    echo "deb $EFA_MIRROR/debian trixie main" |
        debian_root root trixie "$TREE/scripts/items/package-root.packages"
    step 2 2 "check of the tools"
    local command
    for command in dpkg-buildpackage dh cargo lintian; do
        [ -x "root/usr/bin/$command" ] || fail "the package root has no $command"
    done
    publish root
}
