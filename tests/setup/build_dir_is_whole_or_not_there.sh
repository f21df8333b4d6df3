#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kernel-build-dir that fails, is killed, or runs twice at once leaves nothing half-made, and what worked before.

# shellcheck source=tests/setup/lib/build-dir.sh
. "$(dirname "$0")/lib/build-dir.sh"
stub_make

# start LOG: in the background, up to where make runs; its process is $tool.
start() {
    rm -f "$TOY/make.started"
    "${BUILD_DIR[@]}" >"$1.out" 2>"$1" &
    tool=$!
}

wait_for_make() {
    local try
    for try in $(seq 400); do
        [ ! -e "$TOY/make.started" ] || return 0
        sleep 0.05
    done
    flunk "make was not started after $((try / 20)) s: $(cat "$1")"
}

nothing_made() {
    [ -z "$(ls -d "$BUILD_DIRS/$RELEASE"/* 2>/dev/null)" ] || flunk "$1 left $(ls -d "$BUILD_DIRS/$RELEASE"/*)"
    flock -w 5 "$BUILD_DIRS/lock" true || flunk "$1 still holds the lock"
}

touch "$TOY/hold"
for signal in TERM KILL; do
    start "$TOY/log"
    wait_for_make "$TOY/log"
    kill -$signal "$tool"
    ! wait "$tool" 2>/dev/null || flunk "SIG$signal did not end it"
    nothing_made "SIG$signal"
done

start "$TOY/first"
first=$tool
wait_for_make "$TOY/first"
start "$TOY/second"
second=$tool
wait_for "$TOY/second" "waiting for another run"
rm "$TOY/hold"
wait "$first" || flunk "after a kill it failed: $(cat "$TOY/first")"
wait "$second" || flunk "the second of two failed: $(cat "$TOY/second")"
cmp "$TOY/first.out" "$TOY/second.out" || flunk "two at once do not say the same"
[ "$(cat "$TOY/first" "$TOY/second" | grep -c 'made in')" = 1 ] || flunk "two at once did not make it once"

before=$(cat "$TOY/first.out")
echo other >"$HEADERS/Module.symvers"
touch "$TOY/broken"
! "${BUILD_DIR[@]}" >"$TOY/out" 2>"$TOY/log" || flunk "a broken make passed for a good one"
[ ! -s "$TOY/out" ] || flunk "a failed run printed $(cat "$TOY/out")"
grep -q '^error: .*; from .*/log:' "$TOY/log" || flunk "a broken make was told as: $(cat "$TOY/log")"
grep -q '^    the toy is broken' "$TOY/log" || flunk "what make said is not told: $(cat "$TOY/log")"
[ ! -e "$BUILD_DIRS/partial" ] || flunk "a failed run left its half"
[ -f "$before/rust/libkernel.rmeta" ] || flunk "a failed run took away what worked before"
