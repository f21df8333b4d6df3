#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# efa-report keeps what the kernel says of the driver and in alarms, and no name of a process, whatever that is; nothing
# else is taken in.

# shellcheck source=tests/package/lib/report.sh
. "$(dirname "$0")/lib/report.sh"
CORPUS=$(dirname "$0")/lib/kernel-log

# log TIME: the corpus, as a tool prints it, with $name for the names.
log() {
    grep -v '^# ' "$CORPUS" | sed "s/^[~!]//; s/^/$1/" | NAME=$name perl -pe 's/NAME/$ENV{NAME}/g'
}

# expected TIME: what is to be in the report.
expected() {
    grep -v -e '^# ' -e '^[~!]' "$CORPUS" | sed "s/^/$1/; s/NAME/<process>/g"
}

# compare TIME
compare() {
    log "$1" >"$TOY/log"
    diff <(expected "$1") <(reported | grep -v '(left out: lines') >"$TOY/diff" ||
        flunk "of a process called '$name': $(grep -m1 '^[<>]' "$TOY/diff")"
    ! grep -q secret "$TOY/report" || flunk "in the report: $(grep -m1 secret "$TOY/report")"
}

tool dmesg "cat '$TOY/log'"
time='[    2.000000] '
# A name may have anything in it, also what the kernel itself writes.
for name in secret 'secret 77' 'secret:1 blocked for' 'x state:secret' '[secret]' 'x Not tainted secret' 'by task secret/1' \
    ', .owner: secret' "secret's" 'secret) [x'; do
    compare "$time"
done

# A name with a line break in it leaves nothing that has a form. Other messages have several lines, too.
cat >"$TOY/log" <<LOG
${time}INFO: task x
               secret:77 blocked for more than 120 seconds.
$time
               but task is already holding lock:
LOG
expect "${time}INFO: (the rest is left out)
    (left out: lines of other forms, 2)
               but task is already holding lock:" "of messages with several lines"

tool dmesg 'exit 1'
tool journalctl "cat '$TOY/log'"
compare "${time}kernel: "
