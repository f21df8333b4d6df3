# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Builds the .deb packages of this tree in build/deb: scripts/debian becomes debian/ in a copy of the tree. The kernels
# that are supported stand in kdir.sh.

DEBS=$TREE/build/deb
# What the packages are made from.
SOURCES=(Kbuild Kconfig COPYING src include scripts tests Documentation)
# For the steps of progress.sh.
# shellcheck disable=SC2034
item=deb log=$DEBS/log

# git_here ARGUMENT...: git, where the tree is a repository's own, and not one that was unpacked within another's.
git_here() {
    [ -e "$TREE/.git" ] || return 1
    git --no-optional-locks -C "$TREE" "$@"
}

# The one place where the version stands.
tree_version() {
    sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' "$TREE/src/shims/module.c"
}

# tree_time: of the last commit; where there is no git, when the version last changed.
tree_time() {
    git_here log -1 --format=%ct 2>/dev/null || stat -c %Y "$TREE/src/shims/module.c"
}

# changed: whether the packages are made of something else than the commit.
changed() {
    [ -n "$(git_here status --porcelain -- "${SOURCES[@]}" 2>/dev/null)" ]
}

# package_version: the tree's, with the time of its commit, so that a later one is an upgrade, and the commit.
package_version() {
    local version commit
    version=$(tree_version)
    if commit=$(git_here rev-parse HEAD 2>/dev/null); then
        [ "$(git_here rev-parse --quiet --verify "refs/tags/v$version^{commit}")" = "$commit" ] ||
            version+=+git$(date -ud "@$(tree_time)" +%Y%m%d.%H%M%S).${commit:0:7}
        ! changed || version+=.dirty
    elif [ -e "$TREE/.git" ]; then
        say "note: git does not tell the commit, so the version of the packages does not: $(git_here rev-parse HEAD 2>&1 | head -n 1)"
    fi
    echo "$version"
}

# changelog VERSION
changelog() {
    local origin
    origin="commit $(git_here rev-parse HEAD 2>/dev/null)" ||
        origin="a tree without git"
    ! changed || origin+=", with changes"
    cat <<CHANGELOG
efa-rs ($1) trixie; urgency=medium

  * Built from $origin.

 -- $(sed -n 's/^Maintainer: //p' "$TREE/scripts/debian/control")  $(date -uRd "@$(tree_time)")
CHANGELOG
}

in_package_root() {
    tied "$TREE/scripts/in-root" --in package-root "$@"
}

# copy_source VERSION: the tree without what building leaves in it, with debian/ at its top. Files keep their times,
# so that cargo sees what has changed.
copy_source() {
    rm -rf "$DEBS/source"
    mkdir -p "$DEBS/source"
    tar -C "$TREE" --exclude-vcs-ignores -c "${SOURCES[@]}" |
        tar -C "$DEBS/source" -x
    cp -r "$TREE/scripts/debian" "$DEBS/source/debian"
    find "$DEBS/source/debian" -type f -exec sed -i "s/@VERSION@/$1/g; s/@SUPPORTED@/$SUPPORTED/g" {} +
    [ "$1" = "$(tree_version)" ] ||
        sed -i "s/^MODULE_VERSION(.*/MODULE_VERSION(\"$1\");/" "$DEBS/source/src/shims/module.c"
    changelog "$1" >"$DEBS/source/debian/changelog"
}

# begin_debs: without those of an earlier build.
begin_debs() {
    mkdir -p "$DEBS"
    rm -f "$DEBS"/*.deb
    : >"$log"
    trap end_step EXIT
}

# deb_step N OF WHAT [DETAIL]
deb_step() {
    step "$@" 3>&2
}

# How far cargo is.
progress_cargo() {
    step_log | sed -n 's/^ *Compiling \([^ ]*\).*/compiling \1, /p' | tail -n 1
}

# fetch_crates: the network is asked only for those that are not in the cache.
fetch_crates() {
    in_package_root env -C "$TREE/tests" cargo fetch --locked --offline --quiet 2>/dev/null ||
        in_package_root env -C "$TREE/tests" cargo fetch --locked ||
        die "could not fetch the crates of tests/Cargo.lock: check the network and run the same command again"
}

# make_debs WHICH VERSION: WHICH is binary (all packages), or all (the module's alone, which depends on no machine).
make_debs() {
    copy_source "$2"
    [ "$1" = all ] || fetch_crates
    in_package_root env -C "$DEBS/source" DEB_BUILD_OPTIONS=noautodbgsym SOURCE_DATE_EPOCH="$(tree_time)" \
        dpkg-buildpackage --build="$1" --no-sign >>"$log" 2>&1 ||
        { end_step; tail -n 20 "$log" >&2; die "no packages (the log is build/deb/log)"; }
    rm -rf "$DEBS/source" "$DEBS"/*.changes "$DEBS"/*.buildinfo
}

# check_debs FILE...: by lintian.
check_debs() {
    local found
    found=$(in_package_root lintian --no-cfg --fail-on error,warning --display-info --allow-root "$@" 2>&1) ||
        { end_step; say "$found"; die "lintian complains of the packages"; }
    say "${found:-lintian has nothing to say}"
}
