#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Packages that were downloaded when set-up was killed are not downloaded again.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

touch "$TOY/mmdebstrap.hold" "$TOY/downloads"
start_setup "$TOY/log" guest-root
wait_for "$TOY/downloads" "forky three"
kill -KILL "$setup"
wait "$setup" 2>/dev/null || true
rm "$TOY/mmdebstrap.hold"
"$TREE/scripts/setup" guest-root >"$TOY/log" 2>&1 || flunk "guest-root does not resume: $(tail -1 "$TOY/log")"
[ "$(wc -l <"$TOY/downloads")" = 3 ] || flunk "packages were downloaded twice: $(paste -sd' ' "$TOY/downloads")"
[ -d "$("$TREE/scripts/path" guest-root)" ] || flunk "there is no guest-root"
