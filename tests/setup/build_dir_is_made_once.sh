#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kernel-build-dir makes what a kernel's headers lack once; what is no longer of use goes.

# shellcheck source=tests/setup/lib/build-dir.sh
. "$(dirname "$0")/lib/build-dir.sh"

made=$("${BUILD_DIR[@]}" 2>"$TOY/log") || flunk "it failed: $(cat "$TOY/log")"
[[ $made = "$BUILD_DIRS/$RELEASE/"*/build ]] || flunk "it said '$made'"
for file in rust/libkernel.rmeta Module.symvers vmlinux .config source/Makefile; do
    [ -f "$made/$file" ] || flunk "$file is missing"
done
make -s -C "$made" O="$TOY/elsewhere" makefile || flunk "the directory does not work where it is"
! grep -q partial "$made/Makefile" || flunk "its Makefile names where it was made"
[ ! -e "$made/source/drivers/net/toy.c" ] || flunk "a file that nobody needs was unpacked"
[ -e "$made/source/drivers/net/Kconfig" ] || flunk "a part of the configuration was not unpacked"

rm "$TARBALL"
again=$("${BUILD_DIR[@]}" 2>&1) || flunk "without the source it failed: $again"
[ "$again" = "$made" ] || flunk "the second time it said: $again"

make_tarball
echo other >"$HEADERS/Module.symvers"
other=$("${BUILD_DIR[@]}" 2>"$TOY/log") || flunk "for another build of the kernel it failed: $(cat "$TOY/log")"
[ "$other" != "$made" ] || flunk "what was made for another build of the kernel was taken"
[ ! -e "$made" ] || flunk "what was made for the build before is still there"

mv "$HEADERS" "$TOY/removed"
HEADERS=$TOY/newer RELEASE=7.3.9+deb13-amd64
make_headers "$HEADERS"
newer=$("${BUILD_DIR[@]}" --headers "$HEADERS" 2>"$TOY/log") || flunk "for another kernel it failed: $(cat "$TOY/log")"
[ -d "$newer" ] || flunk "there is no $newer"
[ ! -e "$other" ] || flunk "what was made for a kernel that was removed is still there"
[ -z "$(ls "$BUILD_DIRS/partial" 2>/dev/null)" ] || flunk "something half-made is left"

mkdir "$HEADERS/rust"
touch "$HEADERS/rust/libkernel.rmeta"
[ "$("${BUILD_DIR[@]}" --headers "$HEADERS")" = "$HEADERS" ] || flunk "headers that have Rust metadata were not taken"
