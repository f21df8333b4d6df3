#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make-items.sh ITEM...: makes the items, in this order. Called by setup in a namespace of its own.

set -uo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=scripts/lib/mirror.sh
. "$(dirname "$0")/mirror.sh"
# shellcheck source=scripts/lib/items.sh
. "$(dirname "$0")/items.sh"

# Guest roots and the like need no other item and mostly wait for the network: they are made beside the others.
main() {
    local name root status=0
    local -A roots
    for name; do
        case $name in
        guest-root* | package-root | user-root)
            make_item "$name" &
            roots[$name]=$!
            continue
            ;;
        user-metadata | arm64-root) [ -z "${roots[user-root]:-}" ] || wait "${roots[user-root]}" || continue ;;
        esac
        make_item "$name" || { status=1; break; }
    done
    for root in "${roots[@]}"; do
        wait "$root" || status=1
    done
    return $status
}

main "$@"; exit
