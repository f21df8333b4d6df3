#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A machine that cannot build the module is told why in one line, by the dkms that a person runs or that apt runs for
# a new kernel; where a service runs dkms, its log says it. A kernel that is none for the driver is passed over.

# shellcheck source=tests/package/lib/machine.sh
. "$(dirname "$0")/lib/machine.sh"

own_namespace
# shellcheck disable=SC2119 # without a layer
new_machine
version=$(versions | head -1)
dpkg-deb -x "$EFA_DEBS/efa-rs-dkms_${version}_all.deb" "$MACHINE"
# What is there cannot be executed.
mkdir /mnt/dkms
mount -t tmpfs -o noexec dkms /mnt/dkms
lent[/var/lib/dkms]=/mnt/dkms
on_machine dkms add "efa-rs/$version"
output=/mnt/output headers=$MACHINE/usr/src/linux-headers-$RELEASE

build() {
    on_machine dkms build "efa-rs/$version" -k "$RELEASE" >$output 2>&1
}

refused() {
    local status=0
    build || status=$?
    [ $status != 0 ] || flunk "built, though: $1"
    one_error "$1" $output
    [ -z "$(dkms_has)" ] || flunk "DKMS has: $(dkms_has)"
}

mv "$MACHINE/usr/bin/bindgen" /mnt/
refused 'does not build: .*bindgen.* not found'
mv /mnt/bindgen "$MACHINE/usr/bin/"

# No line of this is an error's. A service has a socket for its errors, which dkms-build cannot open.
mv "$MACHINE/usr/bin/realpath" /mnt/
refused 'no Rust metadata for .*realpath: command not found \(status 127\)'
# shellcheck disable=SC2016 # for perl
! on_machine perl -MSocket -e 'socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die;
    open STDERR, ">&", $theirs or die; exit system(@ARGV) >> 8' dkms build "efa-rs/$version" -k "$RELEASE" >$output ||
    flunk "built without realpath"
one_error 'realpath: command not found' "/mnt/dkms/efa-rs/$version/build/make.log"
mv /mnt/realpath "$MACHINE/usr/bin/"

# From here on there is no metadata yet.
mkdir /mnt/metadata
lent[/var/cache/efa-rs]=/mnt/metadata

mv "$MACHINE"/usr/src/linux-source-*.tar.xz /mnt/
refused 'no /usr/src/linux-source-.*apt-get install linux-source'
mv /mnt/linux-source-*.tar.xz "$MACHINE/usr/src/"

printf 'MemAvailable: 102400 kB\nSwapFree: 0 kB\n' >/mnt/meminfo
lent[/proc/meminfo]=/mnt/meminfo
refused '100 MiB of memory are free'
unset 'lent[/proc/meminfo]'

mount -t tmpfs -o size=64m small /mnt/metadata
refused '64 MiB of free space'
umount /mnt/metadata

other_rustc
refused 'built with rustc .* is rustc 1.2.3 \(another\)'
unset 'lent[/usr/bin/rustc]'

for file in .config include/config/auto.conf; do
    sed -i '/^CONFIG_RUST=/d' "$headers/$file"
done
status=0
build || status=$?
[ $status = 77 ] || flunk "DKMS does not pass over a kernel without Rust: $(cat $output)"
