#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Set-up killed at the start of each step leaves nothing that passes for a finished item, no process and no lock, and
# the next run goes on with what was finished.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

count=0
for item in "${ITEMS[@]}"; do
    mapfile -t numbers < <(sed -nE 's/^ *step ([0-9]+) .*/\1/p' "$TREE/scripts/items/$item.sh")
    for number in "${numbers[@]}"; do
        EFA_SETUP_STOP_AT=$item:$number start_setup "$TOY/log" "$item"
        wait_for "$TOY/log" "[$item] $number/"
        kill -KILL "$setup"
        wait "$setup" 2>/dev/null || true
        [ ! -e "$("$TREE/scripts/path" "$item")" ] || flunk "$item killed at step $number is taken for whole"
        flock -w 5 "$EFA_CACHE/lock/$item" true || flunk "$item killed at step $number still holds its lock"
        count=$((count + 1))
    done
    before=$(sort "$TOY/mmdebstrap.calls" | uniq -c)
    "$TREE/scripts/setup" "$item" >"$TOY/log" 2>&1 || flunk "$item does not resume: $(tail -1 "$TOY/log")"
done
[ "$count" -ge 12 ] || flunk "only $count steps were found to be killed at"
expect_whole
"$TREE/scripts/setup" "${ITEMS[@]}"
[ "$(sort "$TOY/mmdebstrap.calls" | uniq -c)" = "$before" ] || flunk "a finished root was made again"
