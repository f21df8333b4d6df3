#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Who may not read the kernel log is told so by efa-report, whatever the tools say that read it; an empty log is another
# thing.

# shellcheck source=tests/package/lib/report.sh
. "$(dirname "$0")/lib/report.sh"

line='[    2.000000] kernel: efa 0000:01:00.0: a line'
tool dmesg 'exit 1'
tool journalctl 'exit 1'
expect "(only root can read it)" "with neither dmesg nor journalctl"
tool journalctl 'echo "-- No entries --"; echo "Hint: You are currently not seeing messages of the system." >&2'
expect "(only root can read it)" "of a journal that shows nothing of the kernel"
tool journalctl "echo '$line'"
expect "$line" "of the journal"
tool dmesg true
expect "(none)" "of a kernel that has said nothing"
