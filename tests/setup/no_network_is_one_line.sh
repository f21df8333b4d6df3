#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Without a network the real mmdebstrap fails, and set-up says so in one line.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

rm "$TOY"/bin/*
hash -r
EFA_MIRROR=http://127.0.0.1:9 expect_one_line 'build-root: cannot reach http://127.0.0.1:9: check the network' \
    "$TREE/scripts/setup" build-root
