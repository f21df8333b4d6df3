#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# With every item there, set-up starts no tool, so it cannot touch the network, and says nothing.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

"$TREE/scripts/setup" "${ITEMS[@]}" >"$TOY/log" 2>&1 || flunk "set-up failed: $(tail -1 "$TOY/log")"
before=$(cat "$TOY/mmdebstrap.calls" "$TOY/apt.calls")
said=$("$TREE/scripts/setup" "${ITEMS[@]}" 2>&1) || flunk "the warm run failed: $said"
[ -z "$said" ] || flunk "the warm run said: $said"
[ "$(cat "$TOY/mmdebstrap.calls" "$TOY/apt.calls")" = "$before" ] || flunk "the warm run called mmdebstrap or apt"
