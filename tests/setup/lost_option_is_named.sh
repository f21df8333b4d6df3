#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An option that a kernel's fragment asks for and its configuration drops fails set-up by name.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

echo CONFIG_KUNIT= >"$TOY/lost"
expect_one_line "kernel-test: these options did not survive .*: CONFIG_KUNIT=y" "$TREE/scripts/setup" kernel-test

# The debug kernel has the options of both fragments, and checks both.
expect_one_line "kernel-debug: these options did not survive .*: CONFIG_KUNIT=y" "$TREE/scripts/setup" kernel-debug
echo CONFIG_KASAN= >"$TOY/lost"
expect_one_line "kernel-debug: these options did not survive .*: CONFIG_KASAN=y" "$TREE/scripts/setup" kernel-debug
