# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# What kernel-build-dir refuses, each in one line that says what to do. "headers", "release", "cache" and "source" are
# its own.

# What making takes, with room: at most 420 MiB of disk were measured, and 850 MiB for one job, which 1000 MiB of memory
# were enough for (Documentation/kernel-build-dir.md).
DISK_MIB=600
JOB_MIB=1000
# In a cache that this tool has made.
MARK=.kernel-build-dir

# check_headers: of every kernel, also of one that is in the cache.
check_headers() {
    [ -d "$headers" ] ||
        die "there is no $headers: install the kernel's headers (apt-get install linux-headers-${release:-RELEASE})"
    [[ -f $headers/Makefile && -f $headers/.config && -f $headers/include/config/auto.conf ]] ||
        die "$headers is not a configured kernel build directory: install the kernel's headers (apt-get install --reinstall linux-headers-${release:-RELEASE})"
    check_kernel "$headers"
    local found
    found=$(cat "$headers/include/config/kernel.release")
    [ "$found" = "${release:=$found}" ] || die "$headers is of Linux $found, not of $release: give the headers of $release"
    [[ $release =~ ^[A-Za-z0-9._+~-]+$ ]] || die "the kernel in $headers has a name that none has: '$release'"
    [ -s "$headers/Module.symvers" ] ||
        die "$headers has no symbol table (Module.symvers): install the kernel's headers again, or build the kernel it is of"
    check_rustc
}

check_rustc() {
    local wanted found
    wanted=$(kernel_rustc "$headers" | tr -d '"')
    found=$(rustc --version 2>/dev/null) ||
        die "there is no rustc, and the kernel was built with $wanted: apt-get install rustc rust-src"
    [ "$found" = "$wanted" ] ||
        die "the kernel was built with $wanted, and $(command -v rustc) is $found: put that version in PATH (Debian 13's own: apt-get install rustc/trixie rust-src/trixie)"
}

# check_machine: whether this machine can make the metadata.
check_machine() {
    [[ ! -f $headers/rust/kernel/lib.rs && ! -f $headers/source/rust/kernel/lib.rs ]] ||
        die "$headers is the kernel's own build directory, without Rust metadata: run make prepare modules_prepare in it"
    [ -n "$(kernel_arch)" ] || die "the kernel in $headers is for neither x86-64 nor arm64"
    [[ $(kernel_compiler) == *gcc* ]] ||
        die "the kernel in $headers was compiled by $(kernel_compiler), not gcc: use the kernel's own build directory"
    check_tools
    check_source
    check_cache
}

# libc_package: what programs for the kernel's machines are linked with. The kernel's configuration says that they can be.
libc_package() {
    case $(uname -m)/$(kernel_arch) in
    x86_64/x86 | aarch64/arm64) echo libc6-dev ;;
    */x86) echo libc6-dev-amd64-cross ;;
    */arm64) echo libc6-dev-arm64-cross ;;
    esac
}

# missing_packages: Debian's names of what is not here.
missing_packages() {
    local command prefix host
    host=$(host_compiler)
    for command in make flex bison bc bindgen openssl xz; do
        command -v "$command" >/dev/null || echo "${command/%xz/xz-utils}"
    done
    [ "$(kernel_config PAHOLE_VERSION)" = 0 ] || command -v pahole >/dev/null || echo pahole
    [ -f "$(rustc --print sysroot)/lib/rustlib/src/rust/library/core/src/lib.rs" ] || echo rust-src
    if ! command -v "$host" >/dev/null; then
        echo "$host"
    else
        echo '#include <libelf.h>' | "$host" -E - >/dev/null 2>&1 || echo libelf-dev
        echo '#include <openssl/opensslv.h>' | "$host" -E - >/dev/null 2>&1 || echo libssl-dev
    fi
    for prefix in $(cross_prefix) $(compat_prefix); do
        command -v "$prefix$host" >/dev/null || echo "$host-$(sed 's/_/-/g; s/-$//' <<<"$prefix")"
    done
    echo 'int main(void) { return 0; }' | "$(kernel_compiler)" -x c - -o /dev/null 2>/dev/null || libc_package
}

# check_temporary: compilers write there, and say something else where they cannot.
check_temporary() {
    local file
    if ! file=$(mktemp 2>/dev/null) || ! head -c 1M /dev/zero 2>/dev/null >"$file"; then
        rm -f "$file"
        die "cannot write to ${TMPDIR:-/tmp}: free some of it, or set TMPDIR to another directory"
    fi
    rm "$file"
}

check_tools() {
    local missing wanted found
    check_temporary
    missing=$(missing_packages | sort -u | paste -sd' ')
    [ -z "$missing" ] || die "to make Rust metadata for $release this machine lacks: $missing (apt-get install $missing)"
    wanted=$(kernel_config GCC_VERSION)
    found=$("$(kernel_compiler)" -dumpfullversion | awk -F. '{ print $1 * 10000 + $2 * 100 + $3 }')
    [ "$found" = "$wanted" ] || die "the kernel was built with $(kernel_config CC_VERSION_TEXT), and $(kernel_compiler) here is $("$(kernel_compiler)" -dumpfullversion): install that version"
    wanted=$(kernel_config BINDGEN_VERSION_TEXT) found=$(bindgen --version)
    [ "$found" = "$wanted" ] || die "the kernel was built with $wanted, and $(command -v bindgen) is $found: put that version in PATH (Debian 13's own: apt-get install bindgen/trixie)"
}

check_source() {
    local headers_version source_version
    headers_version=$(package_version "$headers/.config")
    source=$(source_of_headers)
    [ -n "$source" ] ||
        die "there is no /usr/src/linux-source-$SUPPORTED.tar.xz to make Rust metadata from: apt-get install linux-source-$SUPPORTED${headers_version:+=$headers_version}"
    [ -e "$source" ] || die "there is no $source: give linux-source's tarball with --source, or install linux-source-$SUPPORTED"
    source_version=$(package_version "$source")
    [[ -z $headers_version || -z $source_version || $headers_version = "$source_version" ]] ||
        die "$source is of linux $source_version, and the headers of $release are of $headers_version: apt-get install linux-source-$SUPPORTED=$headers_version, or upgrade the kernel and its headers to $source_version"
}

# check_cache: is a directory of this tool's own, which removes what is no longer of use there.
check_cache() {
    mkdir -p "$cache" 2>/dev/null || true
    [ -w "$cache" ] || die "cannot write to $cache: run as root, or give another directory with --cache"
    [[ -e $cache/$MARK || -z $(ls -A "$cache") ]] ||
        die "$cache has something else in it: give an empty directory with --cache, or one that this tool has made"
    : >"$cache/$MARK"
}

check_disk() {
    local free
    free=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$DISK_MIB" ] || die "$cache has $free MiB of free space, and Rust metadata for $release needs $DISK_MIB: free some, or give another directory with --cache"
}

# free_memory: in MiB, with swap.
free_memory() {
    awk '/^(MemAvailable|SwapFree):/ { sum += $2 } END { print int(sum / 1024) }' /proc/meminfo
}

check_memory() {
    local free
    free=$(free_memory)
    [ "$free" -ge "$JOB_MIB" ] || die "$free MiB of memory are free, and Rust metadata for $release needs $JOB_MIB: end other programs, or add swap"
}
