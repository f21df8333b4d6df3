#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Packages of two commits have two versions, of which the later commit's is the later one. What is not of a commit says so.
# Tools that ask for a release of amzn-drivers take the version for one with the features of that release.

set -euo pipefail
SOURCE=$(cd "$(dirname "$0")/../.." && pwd -P)
toy=$(mktemp -d)
trap 'rm -rf "$toy"' EXIT
mkdir -p "$toy/scripts" "$toy/src/shims" "$toy/tests"
cp -r "$SOURCE/scripts/lib" "$SOURCE/scripts/debian" "$toy/scripts/"
cp "$SOURCE/src/shims/module.c" "$toy/src/shims/"
# shellcheck source=/dev/null
. "$toy/scripts/lib/common.sh"
# shellcheck source=/dev/null
. "$toy/scripts/lib/deb.sh"
export HOME=$toy TZ=America/New_York GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

git_toy() {
    git -C "$toy" "$@" >/dev/null
}

# commit TIME
commit() {
    git_toy add -A
    GIT_COMMITTER_DATE=$1 git_toy commit --allow-empty -m change
}

# expect VERSION WHEN
expect() {
    local found
    found=$(package_version)
    [ "$found" = "$1" ] || { echo "$2 the version is $found, not $1"; exit 1; }
}

plain=$(tree_version)
expect "$plain" "without git"
git_toy init --quiet --initial-branch=main
commit 2026-11-30T15:30:12Z
first=$(git -C "$toy" rev-parse HEAD)
expect "$plain+git20261130.153012.${first:0:7}" "of a commit"
first_version=$(package_version)
touch "$toy/build"
expect "$first_version" "beside what does not go into the packages"
echo >>"$toy/src/shims/module.c"
expect "$first_version.dirty" "of a changed tree"
changelog "$first_version" | grep -q "commit $first, with changes\." || { echo "the changelog does not name the commit"; exit 1; }

commit 2026-11-30T16:00:00Z
second_version=$(package_version)
for later in "$second_version" "$first_version.dirty" "$first_version+1"; do
    dpkg --compare-versions "$first_version" lt "$later" || { echo "$later is no upgrade of $first_version"; exit 1; }
done
dpkg --compare-versions "$first_version.dirty" lt "$second_version" || { echo "$second_version is no upgrade of $first_version.dirty"; exit 1; }
git_toy tag -m release "v$plain"
expect "$plain" "of the tagged commit"

dpkg --compare-versions 0.1.0+git20261130.153012.abcdef0 lt "$plain" || { echo "$plain is no upgrade of the first versions"; exit 1; }

# As they are compared: by sort -V, with and without what is neither digit nor dot.
for version in "$plain" "$first_version"; do
    for asked in 2.12.1 3.1.0 "${plain%%+*}"; do
        for found in "$version" "${version//[!0-9.]/}"; do
            [ "$(printf '%s\n' "$found" "$asked" | sort -V | head -n 1)" = "$asked" ] || { echo "who asks for $asked refuses $found"; exit 1; }
        done
    done
done

# Each feature of the table is shown by tests that there are.
documents=$SOURCE/Documentation/versions.md
grep -qF "    $plain" "$documents" || { echo "$documents is of another version than $plain"; exit 1; }
# shellcheck disable=SC2016 # code in Markdown
grep -oE '`[a-z-]+\.[A-Za-z0-9_.-]+`' "$documents" | tr -d '`' | grep -vE '\.(md|sh|c)$' | while read -r name; do
    grep -qF "name = \"$name\"" "$SOURCE/tests/guest/tests.toml" || grep -qrE "fn ${name##*.}\(" "$SOURCE/src" ||
        { echo "there is no test $name"; exit 1; }
done
