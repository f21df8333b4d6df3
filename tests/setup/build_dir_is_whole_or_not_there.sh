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

# A cache is the tool's own, or it is not touched.
foreign=$TOY/foreign
mkdir -p "$foreign/partial" "$foreign/project/http" "$foreign/project/000000000000"
echo mine | tee "$foreign/log" "$foreign/partial/data" "$foreign/project/http/headers" >"$foreign/project/000000000000/headers"
expect_one_line "$foreign has something else in it: give an empty directory" "${BUILD_DIR[@]}" --cache "$foreign"
[ "$(cat "$foreign/log" "$foreign/partial/data" "$foreign/project/http/headers" "$foreign/project/000000000000/headers" | sort | uniq -c | xargs)" = "4 mine" ] ||
    flunk "what else was there is not what it was"
expect_one_line "give another one than '$TOY/a'b'" "${BUILD_DIR[@]}" --cache "$TOY/a'b"

# What a killed run left is no reason to refuse: it goes before the space is looked at.
rm "$TOY/broken"
mkdir "$BUILD_DIRS/partial"
touch "$BUILD_DIRS/partial/left"
CDPATH=. "${BUILD_DIR[@]}" >"$TOY/out" 2>"$TOY/log" || flunk "beside what a killed run left it failed: $(cat "$TOY/log")"
[ ! -e "$BUILD_DIRS/partial" ] || flunk "what a killed run left is still there"

# A source that no package brought is not taken for one that was brought.
other=$TOY/other.tar.xz
cp "$TARBALL" "$other"
[ "$("${BUILD_DIR[@]}" --source "$other" 2>"$TOY/log")" != "$(cat "$TOY/out")" ] || flunk "what was made of another source was taken"

expect_one_line 'cannot write to /nonexistent' env TMPDIR=/nonexistent "${BUILD_DIR[@]}" --source "$TARBALL" --cache "$TOY/empty"
