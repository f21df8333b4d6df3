#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317 # its functions are called by the makers, which shellcheck does not see
# maker.sh ITEM WORK TARGET LOG: makes one item in the directory WORK and renames it to TARGET when it is whole.
# Its output goes to LOG, and what a person should see to descriptor 3. Called by make_item with the item locked.
# scripts/items/ITEM.sh has the function make_ITEM (dashes as underscores), which calls step, fail and publish.

set -euo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=scripts/lib/progress.sh
. "$(dirname "$0")/progress.sh"
# shellcheck source=scripts/lib/debian-root.sh
. "$(dirname "$0")/debian-root.sh"
# shellcheck source=scripts/lib/kernel.sh
. "$(dirname "$0")/kernel.sh"

item=$1 work=$2 target=$3 log=$4

# How far apt and dpkg are: each package is unpacked and set up.
progress_packages() {
    step_log | awk '
        / newly installed, / { for (i = 1; i < NF; i++) if ($(i + 1) == "newly") total += $i }
        /^Get:[0-9]/ { got++ }
        /^Unpacking / { done++ }
        END { if (done) printf "%d of %d packages, ", done, (total > done ? total : done)
              else if (got) printf "%d files fetched, ", got }'
}

# How far kernel-build-dir is.
progress_metadata() {
    step_log | sed -n 's/^\[.*\] \([0-9]\/[0-9]\).*/\1, /p' | tail -n 1
}

# fail REASON: ends the item with one line.
fail() {
    tell "error: $item: $*"
    exit "$REPORTED"
}

# publish DIRECTORY: the finished thing becomes the item, in one rename, once it is on the disk.
publish() {
    end_step
    sync -f "$1"
    mv -T "$1" "$target"
}

# remove_tree DIRECTORY: refuses to go near anything that is mounted.
remove_tree() {
    [ -e "$1" ] || return 0
    ! grep -qF " $(realpath "$1")/" /proc/self/mountinfo || fail "something is mounted below $1: unmount it first"
    rm -rf --one-file-system -- "$1"
}

main() {
    trap end_step EXIT
    cd "$work"
    # shellcheck source=/dev/null
    . "$TREE/scripts/items/$item.sh"
    "make_${item//-/_}"
    end_step
    cd /
    remove_tree "$work"
}

# On one line: nothing of this file is read any more when it changes during a long run.
main; exit
