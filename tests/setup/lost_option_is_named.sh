#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An option of the test kernel's fragment that its configuration drops fails set-up by name.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

echo CONFIG_KUNIT= >"$TOY/lost"
expect_one_line "kernel-test: these options did not survive .*: CONFIG_KUNIT=y" "$TREE/scripts/setup" kernel-test
