#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A kernel that is upgraded before linux-source is installed all the same, and a line says that its module waits; when the
# source follows, the module is built.

# shellcheck source=tests/package/lib/machine.sh
. "$(dirname "$0")/lib/machine.sh"

own_namespace
# shellcheck disable=SC2119 # without a layer
new_machine
NEW=${RELEASE/%+*/9+deb13-cloud-amd64} NEW_VERSION=99.1-1
output=/mnt/output

# pack PACKAGE: of what is in /mnt/content, with a postinst from standard input; it lies on the machine then.
pack() {
    mkdir -p /mnt/content/DEBIAN
    printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: test\nDescription: test\n' "$1" "$NEW_VERSION" >/mnt/content/DEBIAN/control
    cat >/mnt/content/DEBIAN/postinst
    chmod 755 /mnt/content/DEBIAN/postinst
    dpkg-deb --build -Znone /mnt/content "$MACHINE/root/$1.deb" >/dev/null
    rm -r /mnt/content
}

# postinst_of PACKAGE: Debian's own, for the new kernel.
postinst_of() {
    sed "s/${RELEASE//+/[+]}/$NEW/g" "$MACHINE/var/lib/dpkg/info/$1.postinst"
}

# The next kernel, with Debian's packages of this one.
mkdir -p "/mnt/content/usr/lib/modules/$NEW/kernel" /mnt/content/boot
touch "/mnt/content/boot/vmlinuz-$NEW"
cp "$MACHINE/usr/lib/modules/$RELEASE"/modules.{order,builtin} "/mnt/content/usr/lib/modules/$NEW/"
cp -r "$MACHINE/usr/lib/modules/$RELEASE/kernel/drivers/infiniband" "/mnt/content/usr/lib/modules/$NEW/kernel/"
postinst_of "linux-image-$RELEASE" | pack "linux-image-$NEW"
mkdir -p "/mnt/content/usr/src" "/mnt/content/usr/lib/modules/$NEW"
cp -r "$MACHINE/usr/src/linux-headers-$RELEASE" "/mnt/content/usr/src/linux-headers-$NEW"
echo "$NEW" >"/mnt/content/usr/src/linux-headers-$NEW/include/config/kernel.release"
ln -s "/usr/src/linux-headers-$NEW" "/mnt/content/usr/lib/modules/$NEW/build"
postinst_of "linux-headers-$RELEASE" | pack "linux-headers-$NEW"
tarball=$(basename -a "$MACHINE"/usr/src/linux-source-*.tar.xz) source=${tarball%.tar.xz}
mkdir -p /mnt/content/usr/src
touch "/mnt/content/usr/src/$tarball"
echo '#!/bin/sh' | pack "$source"
# The machine boots without.
rm -f "$MACHINE/usr/bin/dracut"

version=$(versions | head -1)
install "$version" >$output 2>&1 || flunk "the package was not installed: $(tail -n 3 $output)"

on_machine dpkg -i "/root/linux-image-$NEW.deb" "/root/linux-headers-$NEW.deb" >$output 2>&1 ||
    flunk "the new kernel was not installed: $(grep -m1 -i error $output)"
# shellcheck disable=SC2016 # for dpkg-query
states=$(on_machine dpkg-query -W -f '${Status}\n' "linux-image-$NEW" "linux-headers-$NEW" | sort -u)
[ "$states" = "install ok installed" ] || flunk "the new kernel's packages are: $states"
[ -z "$(on_machine dpkg --audit)" ] || flunk "dpkg complains: $(on_machine dpkg --audit)"
said=$(grep '^efa-rs: ' $output) || flunk "nothing says that the module waits: $(tail -n 3 $output)"
[ "$(wc -l <<<"$said")" = 1 ] || flunk "more than one line: $said"
[[ $said = *"module for $NEW is built when $source is of $NEW_VERSION,"* ]] || flunk "it says: $said"
! grep -qi '^error' $output || flunk "an error: $(grep -im1 '^error' $output)"
[ "$(dkms_has)" = "$version $RELEASE installed" ] || flunk "DKMS has: $(dkms_has)"

# Who asks for it is refused, as ever.
! on_machine dkms build "efa-rs/$version" -k "$NEW" >$output 2>&1 || flunk "built, though, without its source"
one_error "are of $NEW_VERSION: apt-get install $source=" $output

# To make metadata takes minutes: what there is for this kernel becomes that one's.
unset 'lent[/var/cache/efa-rs]'
lent[/var/cache/efa-rs/$RELEASE]=$EFA_USER_METADATA/$RELEASE
made=$(basename "$EFA_USER_METADATA/$RELEASE"/*)
build=$MACHINE/var/cache/efa-rs/$NEW/$made/build
mkdir -p "$build"
cp -r "$EFA_USER_METADATA/$RELEASE/$made/build/." "$build/"
ln -s "../../$RELEASE/$made/source" "${build%/build}/source"
sed -i "s/${RELEASE//+/[+]}/$NEW/g" "$build/Makefile" "$build/include/config/kernel.release" "$build/include/generated/utsrelease.h"
on_machine dpkg -i "/root/$source.deb" >$output 2>&1 || flunk "the new source was not installed: $(tail -n 3 $output)"
dkms_has | grep -qxF "$version $NEW installed" || flunk "when the source has followed, DKMS has: $(dkms_has)"
read -r built_for _ <<<"$(on_machine modinfo -F vermagic "/lib/modules/$NEW/updates/dkms/efa.ko.xz")"
[ "$built_for" = "$NEW" ] || flunk "the module is for $built_for"
