#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A forced build or an upgrade that cannot build, or for which the disk is full, leaves the module that is there, and
# DKMS knows of it; what is loaded stays, and a line says so; and in the end the new module is there and nothing of the
# old one.

# shellcheck source=tests/package/lib/machine.sh
. "$(dirname "$0")/lib/machine.sh"

old=$(versions | head -1) new=$(versions | tail -1)
output=/mnt/output

module_sum() {
    on_machine sha256sum "$(of_module filename)"
}

# full PLACE: in 16 KiB, the machine sees no more room there from now on.
full() {
    mkdir -p /mnt/full
    mountpoint -q /mnt/full || mount -t tmpfs -o size=16k full /mnt/full
    lent[$1]=/mnt/full
}

before=$(module_sum)
other_rustc
! on_machine dkms build --force "efa-rs/$old" -k "$RELEASE" >$output 2>&1 || flunk "a forced build went well with another rustc"
[ "$(dkms_has)" = "$old $RELEASE installed" ] || flunk "after a forced build that failed DKMS has: $(dkms_has)"
[ "$(module_sum)" = "$before" ] || flunk "after a forced build that failed the module is not the one that worked"

dkms_forgets "$old" "$RELEASE"
full "/var/lib/dkms/efa-rs/$old/$RELEASE"
! on_machine "/usr/src/efa-rs-$old/scripts/dkms-heal" >$output 2>&1 || flunk "there was room for the module"
left=$(find /mnt/full -mindepth 1)
[ -z "$left" ] || flunk "of what has no room is left: $left"
unset "lent[/var/lib/dkms/efa-rs/$old/$RELEASE]"

full /var/lib/efa-rs
! install "$new" >$output 2>&1 || flunk "the upgrade went well without room for the old source"
one_error 'No space left on device' $output
# shellcheck disable=SC2016 # for dpkg-query
[ "$(on_machine dpkg-query -W -f '${Status} ${Version}' efa-rs-dkms)" = "install ok installed $old" ] ||
    flunk "dpkg has: $(on_machine dpkg-query -W efa-rs-dkms)"
[ "$(module_sum)" = "$before" ] || flunk "on a full disk the module is not the one that worked"
[ -d "$MACHINE/usr/src/efa-rs-$old" ] || flunk "the source is not that of $old"
unset 'lent[/var/lib/efa-rs]'

# What DKMS knew nothing of any more before the upgrade, it knows after it.
! install "$new" >$output 2>&1 || flunk "the upgrade went well with another rustc"
one_error 'built with rustc .* is rustc 1.2.3 \(another\)' $output
grep -q "no module of version $new for $RELEASE .*stays" $output || flunk "nothing says that the old module stays"
[ "$(module_sum)" = "$before" ] || flunk "the module is not the one that worked"
[ "$(dkms_has | grep installed)" = "$old $RELEASE installed" ] || flunk "DKMS has: $(dkms_has)"

# Of an older version the source is lost.
lost=/var/lib/dkms/efa-rs/0.0.1
mkdir -p "$MACHINE$lost/$RELEASE/x86_64/module"
ln -s /usr/src/efa-rs-0.0.1 "$MACHINE$lost/source"

# The kernel runs the old one, from which the new one differs in nothing but the version.
unset 'lent[/usr/bin/rustc]'
mkdir -p "$MACHINE/sys/module/efa"
for field in version srcversion; do
    of_module $field >"$MACHINE/sys/module/efa/$field"
done
on_machine dpkg --configure --pending >$output 2>&1 || flunk "the second try: $(tail -n 5 $output)"
grep -q 'the efa module that is loaded stays in use' $output || flunk "nothing says which module is in use"
rm -r "$MACHINE/sys/module"
[ "$(dkms_has)" = "$new $RELEASE installed" ] || flunk "DKMS has: $(dkms_has)"
[ "$(of_module version)" = "$new" ] || flunk "the module's version is $(of_module version)"
for left in "/usr/src/efa-rs-$old" /var/lib/efa-rs "/var/lib/dkms/efa-rs/$old" "$lost"; do
    [ ! -e "$MACHINE$left" ] || flunk "$left is left of an old version"
done
