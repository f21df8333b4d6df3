#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two clones that set up at once: one makes each item, the other says that it waits, and both end well.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

mkdir "$TOY/clone"
cp -a "$TREE/scripts" "$TOY/clone/"
touch "$TOY/mmdebstrap.hold" "$TOY/mmdebstrap.calls"
start_setup "$TOY/first" "${ITEMS[@]}"
first=$setup
wait_for "$TOY/mmdebstrap.calls" trixie
TREE=$TOY/clone start_setup "$TOY/second" "${ITEMS[@]}"
second=$setup
wait_for "$TOY/second" "[build-root] waiting for another set-up"
rm "$TOY/mmdebstrap.hold"
wait "$first" || flunk "the first failed: $(tail -1 "$TOY/first")"
wait "$second" || flunk "the second failed: $(tail -1 "$TOY/second")"
[ "$(sort "$TOY/mmdebstrap.calls" | paste -sd' ')" = "forky trixie trixie" ] || flunk "roots were made more than once: $(paste -sd' ' "$TOY/mmdebstrap.calls")"
[ "$(cat "$TOY/first" "$TOY/second" | grep -c 'made in')" = ${#ITEMS[@]} ] || flunk "not every item was made exactly once"
expect_whole
