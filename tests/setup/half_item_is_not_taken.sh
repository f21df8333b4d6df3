#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What an interrupted run, another version of the tree or a crash left behind is never used as the item.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

root=$("$TREE/scripts/path" guest-root)
half=$EFA_CACHE/partial/$(basename "$root")
mkdir -p "$half/root/usr/share/doc" "$EFA_CACHE/guest-root-000000000000" "$EFA_CACHE/partial/guest-root-000000000000"
touch "$half/root/stale" "$EFA_CACHE/guest-root-000000000000/stale"
"$TREE/scripts/setup" guest-root >"$TOY/log" 2>&1 || flunk "set-up failed: $(tail -1 "$TOY/log")"
[ -d "$root/usr/share/doc/rdma-core/tests" ] || flunk "the item was not made"
[ ! -e "$root/stale" ] || flunk "the stale half became part of the item"
[ -e "$EFA_CACHE/guest-root-000000000000/stale" ] || flunk "the item of another version was touched"
[ -z "$(ls "$EFA_CACHE/partial")" ] || flunk "the half of another version is left"
