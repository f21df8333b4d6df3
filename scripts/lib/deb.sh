# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Builds the .deb packages of this tree in build/deb: scripts/debian becomes debian/ in a copy of the tree. The kernels
# that are supported stand in kdir.sh.

DEBS=$TREE/build/deb

# The one place where the version stands.
tree_version() {
    sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' "$TREE/src/shims/module.c"
}

# tree_time: of the last commit; where there is no git, when the version last changed.
tree_time() {
    git -C "$TREE" log -1 --format=%ct 2>/dev/null || stat -c %Y "$TREE/src/shims/module.c"
}

in_package_root() {
    tied "$TREE/scripts/in-root" --in package-root "$@"
}

# copy_source VERSION: the tree without what building leaves in it, with debian/ at its top. Files keep their times,
# so that cargo sees what has changed.
copy_source() {
    rm -rf "$DEBS/source"
    mkdir -p "$DEBS/source"
    tar -C "$TREE" --exclude-vcs-ignores -c Kbuild Kconfig COPYING src include scripts tests Documentation |
        tar -C "$DEBS/source" -x
    cp -r "$TREE/scripts/debian" "$DEBS/source/debian"
    find "$DEBS/source/debian" -type f -exec sed -i "s/@VERSION@/$1/g; s/@SUPPORTED@/$SUPPORTED/g" {} +
    [ "$1" = "$(tree_version)" ] ||
        sed -i "s/^MODULE_VERSION(.*/MODULE_VERSION(\"$1\");/" "$DEBS/source/src/shims/module.c"
    cat >"$DEBS/source/debian/changelog" <<CHANGELOG
efa-rs ($1) trixie; urgency=medium

  * Built from the tree.

 -- $(sed -n 's/^Maintainer: //p' "$TREE/scripts/debian/control")  $(date -uRd "@$(tree_time)")
CHANGELOG
}

# fetch_crates: the network is asked only for those that are not in the cache.
fetch_crates() {
    in_package_root env -C "$TREE/tests" cargo fetch --locked --offline --quiet 2>/dev/null ||
        in_package_root env -C "$TREE/tests" cargo fetch --locked ||
        die "could not fetch the crates of tests/Cargo.lock: check the network and run the same command again"
}

# make_debs WHICH VERSION: WHICH is binary (all packages), or all (the module's alone, which depends on no machine).
make_debs() {
    local log=$DEBS/log
    mkdir -p "$DEBS"
    copy_source "$2"
    [ "$1" = all ] || fetch_crates
    in_package_root env -C "$DEBS/source" DEB_BUILD_OPTIONS=noautodbgsym SOURCE_DATE_EPOCH="$(tree_time)" \
        dpkg-buildpackage --build="$1" --no-sign >"$log" 2>&1 ||
        { tail -n 20 "$log" >&2; die "no packages (the log is build/deb/log)"; }
    rm -rf "$DEBS/source" "$DEBS"/*.changes "$DEBS"/*.buildinfo
}

# check_debs FILE...: by lintian.
check_debs() {
    in_package_root lintian --no-cfg --fail-on error,warning --display-info --allow-root "$@" >&2 ||
        die "lintian complains of the packages"
}
