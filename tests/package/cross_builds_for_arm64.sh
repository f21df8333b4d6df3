#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# On an amd64 machine the package's source builds a module for the arm64 cloud kernel of backports that this kernel can
# load, as far as can be told from the file: it is not loaded.

# shellcheck source=tests/package/lib/machine.sh
. "$(dirname "$0")/lib/machine.sh"

# of_file FIELD: as modinfo says it of the module.
of_file() {
    modinfo -F "$1" "$module"
}

own_namespace
new_machine "$EFA_ARM64_ROOT"
unset 'lent[/var/cache/efa-rs]'
release=$(basename "$(dirname "$(echo "$EFA_ARM64_ROOT"/usr/lib/modules/*/build)")")
version=$(versions | head -1) output=/mnt/output
headers=$MACHINE/usr/src/linux-headers-$release source=/usr/src/efa-rs-$version
[ -d "${headers/cloud-arm64/common}" ] || flunk "the item arm64-root belongs to another user-root: scripts/remove arm64-root"
dpkg-deb -x "$EFA_DEBS/efa-rs-dkms_${version}_all.deb" "$MACHINE"

directory=$(on_machine "$source/scripts/kernel-build-dir" --release "$release" 2>$output) || flunk "no build directory: $(tail -n 1 $output)"
[ -d "$EFA_ARM64_ROOT$directory" ] || flunk "the Rust metadata was not there, but made anew: $directory"
on_machine make -C "$directory" M="$source" -j"$(nproc)" modules >$output 2>&1 || flunk "make: $(grep -m1 -E 'error|\*\*\*' $output)"

module=$MACHINE$source/efa.ko
elf_header=$(readelf -h "$module")
grep -qE '^ *Type: +REL ' <<<"$elf_header" || flunk "not a relocatable file"
grep -qE '^ *Machine: +AArch64$' <<<"$elf_header" || flunk "not of AArch64"

# The kernel compares this to the letter with its own.
magic="$release SMP preempt mod_unload aarch64"
[ "$(of_file vermagic | sed 's/ *$//')" = "$magic" ] || flunk "vermagic: $(of_file vermagic)"
[ "$(of_file version)" = "$version" ] || flunk "the module's version is $(of_file version)"
of_file alias | grep -qx 'pci:v00001D0Fd0000EFA2sv\*sd\*bc\*sc\*i\*' || flunk "no alias for the device"
[ "$(of_file depends)" = ib_core ] || flunk "it depends on: $(of_file depends)"
# modprobe -r would remove what is loaded for that reason, too, and fail while others use it.
[ -z "$(of_file softdep)" ] || flunk "it is loaded after: $(of_file softdep)"

# What the module takes from others, the kernel or a module of it exports.
missing=$(comm -23 <(readelf -sW "$module" | awk '$7 == "UND" && $8 { print $8 }' | sort -u) \
    <(cut -f2 "$headers/Module.symvers" | sort -u) | paste -sd' ')
[ -z "$missing" ] || flunk "$release does not export: $missing"

# The loader of arm64 knows neither of these two kinds.
refused=$(readelf -rW "$module" | grep -oE 'R_AARCH64_[A-Z0-9_]*(GOT|TLS)[A-Z0-9_]*' | sort -u | paste -sd' ') || true
[ -z "$refused" ] || flunk "relocations that no kernel takes: $refused"
