#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apt builds the module for the machine's kernel and puts it where modprobe and udev find it, before any other efa.

# shellcheck source=tests/package/lib/machine.sh
. "$(dirname "$0")/lib/machine.sh"

# The kernel's package brings an efa of its own: any module serves, under that name.
rival_comes() {
    on_machine sh -c "mkdir -p ${RIVAL%/*} && cp /lib/modules/$RELEASE/kernel/drivers/infiniband/core/ib_core.ko* $RIVAL && depmod $RELEASE"
}

rival_comes
[ "$(of_module filename)" = "$RIVAL" ] || flunk "modprobe would not take the kernel's own efa: $(of_module filename)"
version=$(versions | head -1)
install "$version"

[ "$(dkms_has)" = "$version $RELEASE installed" ] || flunk "DKMS has: $(dkms_has)"
file=$(of_module filename)
[[ $file = /*lib/modules/$RELEASE/updates/dkms/efa.ko* ]] || flunk "modprobe would take $file"
[ "$(of_module version)" = "$version" ] || flunk "the module's version is $(of_module version)"
[ -n "$(of_module srcversion)" ] || flunk "the module has no srcversion"
[ -n "$(of_module signer)" ] || flunk "DKMS has not signed the module"
read -r built_for _ <<<"$(of_module vermagic)"
[ "$built_for" = "$RELEASE" ] || flunk "the module is for $built_for"

# What udev asks for when it sees the device.
alias=pci:v00001D0Fd0000EFA2sv00001D0Fsd0000EFA2bc02sc00i00
[ "$(on_machine modprobe --set-version "$RELEASE" --resolve-alias $alias)" = efa ] || flunk "the device's alias does not lead to efa"
# What the kernel asks for when libibverbs looks for the device.
[ "$(on_machine modprobe --set-version "$RELEASE" --resolve-alias rdma-client-uverbs)" = ib_uverbs ] || flunk "no program of libibverbs brings ib_uverbs"

# DKMS has put the kernel's own aside; the next version of the kernel's package brings it again.
[ ! -e "$MACHINE$RIVAL" ] || flunk "the kernel's own efa is still there"
rival_comes
[ "$(of_module filename)" = "$file" ] || flunk "beside an efa of the kernel modprobe would take $(of_module filename)"
on_machine sh -c "rm -r ${RIVAL%/*} && depmod $RELEASE"

on_machine efa-report | grep -q "^efa-rs/$version, $RELEASE, .*installed" || flunk "efa-report does not say what DKMS has"
