#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# While a run uses the tree, another one there is refused in one line, before any work.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

unset KERNEL DRIVER T JSON KDIR SOAK V MAKEFLAGS
cd "$TREE"
mkdir -p build
# Where make test has started this test, it holds the lock already.
exec 7>build/lock
flock -n 7 || true
for command in 'make' 'make run' 'make test' 'make test-full' 'make test-debug' 'make soak'; do
    # shellcheck disable=SC2086 # a command and its argument
    expect_one_line 'another run uses this tree' $command
done
[ ! -e "$EFA_CACHE" ] || flunk "work was begun"
