#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make-items.sh ITEM...: makes the items, in this order. Called by setup in a namespace of its own.

set -uo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=scripts/lib/items.sh
. "$(dirname "$0")/items.sh"

# The guest roots need no other item and mostly wait for the network: they are made beside the others.
main() {
    local name guest guests=() status=0
    for name; do
        case $name in
        guest-root*)
            make_item "$name" &
            guests+=($!)
            ;;
        *)
            make_item "$name" || status=1
            [ "$status" = 0 ] || break
            ;;
        esac
    done
    for guest in "${guests[@]}"; do
        wait "$guest" || status=1
    done
    return $status
}

main "$@"; exit
