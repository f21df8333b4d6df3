#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What cargo built for a tree that is gone is dropped; what it builds for one that is there stays.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"
for part in common project; do
    # shellcheck source=/dev/null
    . "$TREE/scripts/lib/$part.sh"
done

gone=$EFA_CACHE/target/gone new=$EFA_CACHE/target/new
mkdir -p "$gone" "$new"
echo "$TOY/no/such/tree" >"$gone/tree"
claim_cargo_target
drop_orphans
[ ! -e "$gone" ] || flunk "the target of a tree that is gone is still there"
[ -d "$new" ] || flunk "a target that is being made was dropped"
[ -d "$(cargo_target)" ] || flunk "the target of this tree was dropped"
