#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Whatever is open where make is called, mmdebstrap gets none of it: it would run out of the descriptors that its shell
# can name.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

exec 8</dev/null 9</dev/null 10</dev/null 11</dev/null 12</dev/null
"$TREE/scripts/setup" build-root >"$TOY/log" 2>&1 || flunk "set-up failed: $(cat "$TOY/log")"
[ -e "$TOY/mmdebstrap.descriptors" ] || flunk "mmdebstrap did not run"
[ ! -s "$TOY/mmdebstrap.descriptors" ] || flunk "mmdebstrap had descriptors $(cat "$TOY/mmdebstrap.descriptors")"
