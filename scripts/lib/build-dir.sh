# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# What kernel-build-dir knows of a kernel from its headers. "headers", "release", "cache" and "source" are its own.

# kernel_config OPTION: its value, without quotes; nothing where it is not set.
kernel_config() {
    sed -n "s/^CONFIG_$1=//p" "$headers/.config" | tr -d '"'
}

# kernel_compiler: the name of the compiler the kernel was built with, as x86_64-linux-gnu-gcc-14.
kernel_compiler() {
    local text
    text=$(kernel_config CC_VERSION_TEXT)
    echo "${text%% *}"
}

# cross_prefix: what the names of the kernel's compiler and binutils start with. Debian's kernels are built with the
# full names, so the same names serve on a machine of the kernel's kind and on another.
cross_prefix() {
    local compiler
    compiler=$(kernel_compiler)
    echo "${compiler%gcc*}"
}

# host_compiler: of the same version, for what runs on this machine.
host_compiler() {
    local compiler
    compiler=$(kernel_compiler)
    echo "${compiler#"$(cross_prefix)"}"
}

# compat_prefix: what the names of the compiler and binutils for the vDSO of 32-bit programs start with, where an arm64
# kernel has that; Debian's name.
compat_prefix() {
    [ "$(kernel_config COMPAT_VDSO)" != y ] || echo arm-linux-gnueabihf-
}

# kernel_arch: as in the kernel's arch/.
kernel_arch() {
    if [ "$(kernel_config X86_64)" = y ]; then
        echo x86
    elif [ "$(kernel_config ARM64)" = y ]; then
        echo arm64
    fi
}

# package_version FILE: of the Debian package the file is from; nothing where it is from none.
package_version() {
    local owner
    owner=$(dpkg-query -S "$(realpath -- "$1")" 2>/dev/null) || return 0
    dpkg-query -W -f '${Version}' "${owner%%[,:]*}"
}

# source_of_headers: the tarball of linux-source that a person gave or the one there is. Of several, the one of the
# headers' version.
source_of_headers() {
    local tarball found
    if [ -n "$source" ]; then
        realpath -m -- "$source"
        return
    fi
    for tarball in "/usr/src/linux-source-$SUPPORTED"*.tar.xz; do
        [ -f "$tarball" ] || continue
        found=$tarball
        [ "$(package_version "$tarball")" != "$(package_version "$headers/.config")" ] || break
    done
    echo "${found:-}"
}

# build_dir: where what is made for this kernel is kept. The name changes with the kernel's build and with how it is
# made. The version of a packaged source is that of the headers (check_source), which utsversion.h has; of another one
# nothing is known but where it is.
build_dir() {
    local key
    key=$({
        [[ -z $source || -n $(package_version "$source") ]] || realpath -m -- "$source"
        cat "$headers/.config" "$headers/Module.symvers" "$headers/include/generated/utsversion.h"
        sed -e '/^[[:space:]]*#/d' "$TREE"/scripts/lib/build-dir{,-maker}.sh
    } | sha256sum | cut -c1-12)
    echo "$cache/$release/$key"
}
