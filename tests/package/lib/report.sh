# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What efa-report makes of the kernel log. Sourced by its tests: the tools that read the log are stand-ins in $TOY.

set -euo pipefail
REPORT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../scripts" && pwd -P)/efa-report
TOY=$(mktemp -d)
trap 'rm -rf "$TOY"' EXIT
PATH=$TOY:$PATH

flunk() {
    echo "$*"
    exit 1
}

# tool NAME SCRIPT: stands in for a tool.
tool() {
    printf '#!/bin/sh\n%s\n' "$2" >"$TOY/$1"
    chmod +x "$TOY/$1"
}

# reported: what the report has of the kernel log. All of it is in $TOY/report.
reported() {
    "$REPORT" 2>/dev/null >"$TOY/report" || flunk "efa-report failed"
    sed -n '/^== kernel log/,/^== end/p' "$TOY/report" | sed '1d;$d' | grep .
}

# expect TEXT WHEN
expect() {
    local found
    found=$(reported)
    [ "$found" = "$1" ] || flunk "$2 it says: $found"
}
