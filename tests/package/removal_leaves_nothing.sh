#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# After removal the kernel's own efa is back, also where DKMS has forgotten ours, and after a purge no file is left.

# shellcheck source=tests/package/lib/machine.sh
. "$(dirname "$0")/lib/machine.sh"

# Another kernel, for which a forced build was killed.
other=7.3.0-other version=$(versions | tail -1)
modules=/lib/modules/$other
rival=${RIVAL/"$RELEASE"/"$other"}
dkms=$MACHINE/var/lib/dkms/efa-rs
mkdir -p "$MACHINE$modules/updates" "$dkms/original_module/$other"
cp -r "$MACHINE/lib/modules/$RELEASE/updates/dkms" "$MACHINE$modules/updates/"
cp -r "$dkms/original_module/$RELEASE/x86_64" "$dkms/original_module/$other/"
echo "$rival" >"$dkms/original_module/$other/x86_64/efa.ko.xz.origin"
ln -s "$version/$other/x86_64" "$dkms/kernel-$other-x86_64"
on_machine depmod "$other"

on_machine apt-get remove -y efa-rs-dkms
[ -z "$(dkms_has)" ] || flunk "DKMS has: $(dkms_has)"
[ "$(of_module filename)" = "$RIVAL" ] || flunk "modprobe would not take the kernel's own efa again: $(of_module filename)"
found=$(on_machine modinfo -k "$other" -F filename efa)
[ "$found" = "$rival" ] || flunk "where DKMS has forgotten ours modprobe would take $found"
on_machine sh -c "rm -r ${RIVAL%/*} ${modules:?} && depmod $RELEASE"

# Of its own, since the item cannot be removed from here.
metadata=/var/cache/efa-rs
unset "lent[$metadata]"
mkdir -p "$MACHINE$metadata/$RELEASE"
on_machine apt-get purge -y efa-rs-dkms

# What apt, DKMS and depmod keep for themselves.
keeps='var/lib/dpkg|var/lib/apt|var/log|var/cache/(apt|debconf|ldconfig|man)|var/lib/dkms/mok\.|etc/ld.so.cache|usr/lib/modules/[^/]*/modules\.|root/efa-rs-dkms_'
left=$(find /mnt/upper -type f -printf '%P\n' | { grep -vE "^($keeps)" || true; })
[ -z "$left" ] || flunk "left behind: $left"
[ ! -e "$MACHINE$metadata" ] || flunk "$metadata is left after a purge"
