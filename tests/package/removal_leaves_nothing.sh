#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# After removal the kernel's own efa is back, and after a purge no file is left.

# shellcheck source=tests/package/lib/machine.sh
. "$(dirname "$0")/lib/machine.sh"

on_machine apt-get remove -y efa-rs-dkms
[ -z "$(dkms_has)" ] || flunk "DKMS has: $(dkms_has)"
[ "$(of_module filename)" = "$RIVAL" ] || flunk "modprobe would not take the kernel's own efa again: $(of_module filename)"
on_machine sh -c "rm -r ${RIVAL%/*} && depmod $RELEASE"

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
