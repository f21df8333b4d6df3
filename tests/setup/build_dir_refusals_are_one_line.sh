#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What kernel-build-dir cannot work with is refused in one line that says what to do, before any work.

# shellcheck source=tests/setup/lib/build-dir.sh
. "$(dirname "$0")/lib/build-dir.sh"

refused() {
    expect_one_line "$@" "${BUILD_DIR[@]}"
}

# with PATTERN FILE EXPRESSION: refused with PATTERN after sed has changed FILE of the headers.
with() {
    sed -i.kept "$3" "$HEADERS/$2"
    refused "$1"
    mv "$HEADERS/$2.kept" "$HEADERS/$2"
}

# tool NAME SCRIPT: stands in for a tool.
tool() {
    printf '#!/bin/bash\n%s\n' "$2" >"$TOY/bin/$1"
    chmod +x "$TOY/bin/$1"
    hash -r
}

# without FILE PATTERN: refused with PATTERN where the headers lack FILE.
without() {
    mv "$HEADERS/$1" "$TOY/kept"
    refused "$2"
    mv "$TOY/kept" "$HEADERS/$1"
}

auto=include/config/auto.conf
expect_one_line 'usage: scripts/kernel-build-dir' "${BUILD_DIR[@]}" --nosuch
expect_one_line 'there is no /.*: install .*linux-headers-7.3.1' "$TREE/scripts/kernel-build-dir" --release 7.3.1
expect_one_line 'is of Linux 7.3.9.*, not of 7.3.1' "${BUILD_DIR[@]}" --release 7.3.1
without .config 'not a configured kernel build directory'
with 'is of Linux 6.12.9; this driver supports 7.3' include/config/kernel.release 's/.*/6.12.9/'
with 'has no CONFIG_RUST: ' $auto /CONFIG_RUST=/d
with 'has no CONFIG_INFINIBAND: ' $auto /CONFIG_INFINIBAND/d
without Module.symvers 'has no symbol table'
with 'was built with rustc 1.2.3, and .*/rustc is rustc .*: put that version in PATH' $auto 's/"rustc .*/"rustc 1.2.3"/'
with 'is for neither x86-64 nor arm64' .config /X86_64/d
with 'was compiled by clang-19, not gcc' .config 's/"x86_64.*/"clang-19"/'
with 'was built with .*, and x86_64-linux-gnu-gcc-14 here is' .config 's/GCC_VERSION=.*/GCC_VERSION=130000/'
with 'was built with bindgen 0.1, and .*/bindgen is bindgen' .config 's/"bindgen .*/"bindgen 0.1"/'
with 'lacks: gcc-9 gcc-9-aarch64-linux-gnu libc6-dev \(apt-get install ' .config 's/"x86_64.*/"aarch64-linux-gnu-gcc-9 (Debian)"/'

mkdir -p "$HEADERS/rust/kernel"
touch "$HEADERS/rust/kernel/lib.rs"
refused 'the kernel.s own build directory, without Rust metadata: run make prepare'
rm -r "$HEADERS/rust"

tool rustc 'exit 127'
refused 'there is no rustc, .*apt-get install rustc rust-src'
tool rustc "[ \$1 != --print ] || { echo $TOY; exit; }; exec /usr/bin/rustc \"\$@\""
refused 'lacks: rust-src \(apt-get install rust-src\)'
rm "$TOY/bin/rustc"
tool gcc-14 'exit 1'
refused 'lacks: libelf-dev libssl-dev \(apt-get install libelf-dev libssl-dev\)'
rm "$TOY/bin/gcc-14"
mkdir "$TOY/few"
cp -s /usr/bin/* "$TOY/few"
rm "$TOY/few"/{bc,bindgen,bison,flex,openssl,pahole}
PATH=$TOY/few refused 'lacks: bc bindgen bison flex openssl pahole \(apt-get install bc '

expect_one_line 'there is no /nonexistent.tar.xz: ' "${BUILD_DIR[@]}" --source /nonexistent.tar.xz
[ -e /usr/src/linux-source-7.3.tar.xz ] ||
    expect_one_line 'apt-get install linux-source-7.3' "$TREE/scripts/kernel-build-dir" --headers "$HEADERS" --cache "$BUILD_DIRS"
# shellcheck disable=SC2016 # the stub's own
tool dpkg-query 'case "$1 $2" in
"-S "*/headers/.config) echo "linux-headers: $2" ;;
"-S "*.tar.xz) echo "linux-source: $2" ;;
esac
[ "${*: -1}" != linux-headers ] || printf 7.3.9-1
[ "${*: -1}" != linux-source ] || printf 7.3.9-2'
refused 'is of linux 7.3.9-2, and the headers of .* are of 7.3.9-1: apt-get install linux-source-7.3=7.3.9-1, or upgrade'
rm "$TOY/bin/dpkg-query"
hash -r

mkdir "$BUILD_DIRS"
mount -t tmpfs -o size=8m small "$BUILD_DIRS"
trap 'umount "$BUILD_DIRS" || true; clean_up' EXIT
refused 'has [0-9]+ MiB of free space, and Rust metadata .* needs [0-9]+: free some'
umount "$BUILD_DIRS"
trap clean_up EXIT
printf 'MemAvailable: 2048 kB\nSwapFree: 1024 kB\n' >"$TOY/meminfo"
mount --bind "$TOY/meminfo" /proc/meminfo
trap 'umount /proc/meminfo; clean_up' EXIT
refused '3 MiB of memory are free, and .* needs [0-9]+: '
umount /proc/meminfo
trap clean_up EXIT
[ -z "$(find "$BUILD_DIRS" -mindepth 1 -type d)" ] || flunk "work was begun: $(ls -A "$BUILD_DIRS")"

with 'do not take its configuration as it is \(CONFIG_LOST=n ' .config "\$aCONFIG_LOST=n"
sed -i 's/^SUBLEVEL = 9/SUBLEVEL = 8/' "$TOY/linux-source-7.3/Makefile"
make_tarball
refused 'is of Linux 7.3.8, not of 7.3.9'
