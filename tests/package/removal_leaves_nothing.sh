#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# After removal the kernel's own efa is back, also where DKMS has forgotten ours, and after a purge no file is left. A
# removal that is killed leaves the package and its module.

# shellcheck source=tests/package/lib/machine.sh
. "$(dirname "$0")/lib/machine.sh"

version=$(versions | tail -1)
dkms=$MACHINE/var/lib/dkms/efa-rs wrapper=$MACHINE/usr/local/sbin/dkms
# shellcheck disable=SC2016 # for the wrapper
printf '#!/bin/sh\n/usr/sbin/dkms "$@" || exit\n[ "$1" != remove ] || kill $PPID\n' >"$wrapper"
chmod +x "$wrapper"
! on_machine dpkg --remove efa-rs-dkms || flunk "a removal that was killed went well"
rm "$wrapper"
[ "$(dkms_has)" = "$version $RELEASE installed" ] || flunk "after a removal that was killed DKMS has: $(dkms_has)"
[ "$(of_module version)" = "$version" ] || flunk "after a removal that was killed modprobe would take $(of_module filename)"

# Two more kernels, for which a forced build was killed; what is there for one is half a file.
for other in 7.3.0-other 7.3.0-half; do
    modules=$MACHINE/lib/modules/$other
    mkdir -p "$modules/updates" "$dkms/original_module/$other"
    cp -r "$MACHINE/lib/modules/$RELEASE/updates/dkms" "$modules/updates/"
    cp -r "$dkms/original_module/$RELEASE/x86_64" "$dkms/original_module/$other/"
    echo "${RIVAL/"$RELEASE"/"$other"}" >"$dkms/original_module/$other/x86_64/efa.ko.xz.origin"
    ln -s "$version/$other/x86_64" "$dkms/kernel-$other-x86_64"
    on_machine depmod "$other"
done
truncate -s 10000 "$modules"/updates/dkms/efa.ko*

on_machine apt-get remove -y efa-rs-dkms
[ -z "$(dkms_has)" ] || flunk "DKMS has: $(dkms_has)"
[ "$(of_module filename)" = "$RIVAL" ] || flunk "modprobe would not take the kernel's own efa again: $(of_module filename)"
for other in 7.3.0-other 7.3.0-half; do
    found=$(on_machine modinfo -k "$other" -F filename efa)
    [ "$found" = "${RIVAL/"$RELEASE"/"$other"}" ] || flunk "where DKMS has forgotten ours modprobe would take $found"
done
on_machine sh -c "rm -r ${RIVAL%/*} /lib/modules/7.3.0-* && depmod $RELEASE"

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
