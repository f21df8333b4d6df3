#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make install puts the module where modprobe takes it and not the kernel's own efa, refuses in one line what cannot
# work, and make uninstall brings back what was there.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

unset KERNEL DRIVER T JSON V MAKEFLAGS
# A tree of its own: where make test has started this test, it holds the lock of this one.
mkdir "$TOY/tree"
cp -r "$TREE/Makefile" "$TREE/scripts" "$TOY/tree"
cd "$TOY/tree"

# toy_module FILE AUTHOR: a module that modinfo and depmod read.
toy_module() {
    mkdir -p "$(dirname "$1")"
    printf 'static const char m[] __attribute__((section(".modinfo"), used)) = "author=%s\\0name=efa\\0license=GPL";' "$2" |
        gcc-14 -x c -c - -o "$1"
}

kdir=$TOY/kdir
make_headers "$kdir"
sed -i 's/=".*"$/\n&/; s/\n="\(.*\)"/=\1/' "$kdir/include/config/auto.conf"
mkdir "$kdir/rust"
touch "$kdir/rust/libkernel.rmeta"
toy_module "$kdir/built.ko" 'The efa-rs authors'
printf 'modules:\n\tcp built.ko %s/efa.ko\n' "\$(MO)" >"$kdir/Makefile"

root=$TOY/target
modules=$root/lib/modules/$RELEASE
in_tree=$modules/kernel/drivers/infiniband/hw/efa/efa.ko
install() {
    make --no-print-directory install KDIR="$kdir" INSTALL_MOD_PATH="$root"
}
taken() {
    realpath "$(modinfo -b "$root/" -k "$RELEASE" -F filename efa)"
}

# A machine without kmod.
mount -t tmpfs nothing /usr/sbin
trap 'umount /usr/sbin; clean_up' EXIT
expect_one_line 'no depmod in PATH: apt-get install kmod' install
expect_one_line 'no depmod in PATH' make --no-print-directory uninstall INSTALL_MOD_PATH="$root"
umount /usr/sbin
trap clean_up EXIT

expect_one_line 'make install takes KDIR=DIRECTORY' make --no-print-directory install INSTALL_MOD_PATH="$root"
expect_one_line "KDIR=$TOY/none is not a directory" make --no-print-directory install KDIR="$TOY/none" INSTALL_MOD_PATH="$root"
echo CONFIG_INFINIBAND_EFA=y >>"$kdir/include/config/auto.conf"
expect_one_line 'has an efa built in' install
sed -i s/EFA=y/EFA=m/ "$kdir/include/config/auto.conf"
expect_one_line 'there is no .*/lib/modules/7.3.9.*: .* not installed there' install
toy_module "$in_tree" 'Amazon.com, Inc. or its affiliates'
toy_module "$modules/updates/efa.ko" 'somebody else'
expect_one_line 'updates/efa.ko is another driver: move it' install
mv "$modules/updates/efa.ko" "$modules/updates/efa.ko.zst"
expect_one_line 'updates/efa.ko.zst is another driver: move it' install
mv "$modules/updates/efa.ko.zst" "$modules/updates/efa.ko"
mkdir "$modules/updates/dkms"
mv "$modules/updates/efa.ko" "$modules/updates/dkms/"
expect_one_line 'DKMS has installed .*/updates/dkms/efa.ko: ' install
rm -r "$modules/updates"
[ ! -e build/stock ] || flunk "it was built before it was refused"

# Also where a rule of the machine prefers the kernel's own modules.
mkdir -p "$root/etc/depmod.d"
echo 'search built-in updates' >"$root/etc/depmod.d/machine.conf"
depmod -b "$root" -C "$root/etc/depmod.d" "$RELEASE" 2>/dev/null
[ "$(taken)" = "$in_tree" ] || flunk "the kernel's own efa is not taken before: $(taken)"
install >"$TOY/log" 2>&1 || flunk "make install failed: $(cat "$TOY/log")"
grep -q "^installed: $modules/updates/efa.ko" "$TOY/log" || flunk "it does not say what it did: $(cat "$TOY/log")"
cmp "$kdir/built.ko" "$modules/updates/efa.ko" || flunk "what was built is not what is installed"
[ "$(taken)" = "$modules/updates/efa.ko" ] || flunk "modprobe takes $(taken)"
install >"$TOY/log" 2>&1 || flunk "make install over itself failed: $(cat "$TOY/log")"

# A plain su leaves /usr/sbin out.
PATH=${PATH//\/usr\/sbin:/} make uninstall INSTALL_MOD_PATH="$root" >"$TOY/log" 2>&1 || flunk "make uninstall failed: $(cat "$TOY/log")"
[ "$(taken)" = "$in_tree" ] || flunk "after make uninstall modprobe takes $(taken)"
[ -z "$(find "$root" -path '*updates*' -type f -o -name efa-rs.conf)" ] || flunk "make uninstall left $(find "$root" -path '*updates*' -type f)"
