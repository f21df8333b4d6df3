#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A KDIR that the module cannot be built against is refused in one line that says which and what to do.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

unset KERNEL DRIVER T JSON V MAKEFLAGS
cd "$TREE"
kdir=$TOY/kdir
refused() {
    expect_one_line "$1" make KDIR="$kdir"
}

refused 'is not a directory: install .*linux-headers-RELEASE'
expect_one_line "KDIR=$TOY/no/such/build is not a directory" make KDIR="$TOY/no/such/build"
mkdir -p "$kdir/include/config" "$kdir/rust"
refused 'is not a configured kernel build directory'
touch "$kdir/Makefile" "$kdir/include/config/auto.conf"
refused 'is of Linux unknown; this driver supports 7.3'
echo 6.12.30 >"$kdir/include/config/kernel.release"
refused 'is of Linux 6.12.30; this driver supports 7.3'
echo 7.30.1 >"$kdir/include/config/kernel.release"
refused 'is of Linux 7.30.1; this driver supports 7.3'
echo 7.3.9 >"$kdir/include/config/kernel.release"
refused 'has no CONFIG_RUST'
echo 'CONFIG_RUST=y' >>"$kdir/include/config/auto.conf"
refused 'has no CONFIG_INFINIBAND'
echo 'CONFIG_INFINIBAND=m' >>"$kdir/include/config/auto.conf"
refused 'has no Rust metadata'
touch "$kdir/rust/libkernel.rmeta"
echo 'CONFIG_RUSTC_VERSION_TEXT=rustc 1.2.3 (toy)' >>"$kdir/include/config/auto.conf"
refused 'was built with rustc 1.2.3 \(toy\), and here is rustc'
[ ! -e "$EFA_CACHE" ] || flunk "something was made for KDIR"
