# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A Debian 13 machine as people have it: the item user-root under a layer of its own, in memory. Sourced by the tests
# of the packages, which the runner starts in the build root: EFA_USER_ROOT, EFA_USER_METADATA and EFA_ARM64_ROOT are
# the items, EFA_DEBS has the packages.

set -euo pipefail
# shellcheck source=scripts/lib/layers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/lib/layers.sh"
MACHINE=/mnt/root
RELEASE=$(basename "$(dirname "$(echo "$EFA_USER_ROOT"/usr/lib/modules/*/build)")")
# An efa that the kernel's package could bring; Debian's does not.
# shellcheck disable=SC2034 # used by those who source this
RIVAL=/lib/modules/$RELEASE/kernel/drivers/infiniband/hw/efa/efa.ko.xz
# What the machine sees in place of its own: PLACE=FILE_OR_DIRECTORY.
declare -A lent=([/var/cache/efa-rs]=$EFA_USER_METADATA)

flunk() {
    printf '%s\n' "$*"
    exit 1
}

# own_namespace: starts the test again in a mount namespace of its own, since another machine may be up.
own_namespace() {
    [ -n "${OWN_NAMESPACE:-}" ] || OWN_NAMESPACE=1 exec unshare --mount --propagation private "$0"
}

# new_machine LAYER...: in this mount namespace, where no other is, with LAYER over user-root. Goes with the namespace.
new_machine() {
    mount_layers /mnt "$@" "$EFA_USER_ROOT"
    cp "$EFA_DEBS"/efa-rs-dkms_*.deb "$MACHINE/root/"
}

drop_machine() {
    umount --recursive /mnt
}

# on_machine COMMAND...: as its root user. The machine's own /sys is empty, so no module is loaded there. The item is
# shown read-only: a purge would empty it for all.
on_machine() {
    local place places=()
    for place in "${!lent[@]}"; do
        places+=("${lent[$place]}" "$MACHINE$place")
    done
    # shellcheck disable=SC2016 # for the shell in the namespace
    unshare --mount --propagation private bash -c '
        machine=$1
        shift
        mount --rbind /proc "$machine/proc"
        mount --rbind /dev "$machine/dev"
        mount -t tmpfs run "$machine/run"
        while [ "$1" != -- ]; do
            [ ! -d "$1" ] || mkdir -p "$2"
            mount --bind "$1" "$2"
            [[ $1/ != "$EFA_USER_METADATA"/* ]] || mount -o remount,bind,ro "$2"
            shift 2
        done
        shift
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive chroot "$machine" "$@"
    ' - "$MACHINE" "${places[@]}" -- "$@"
}

# other_rustc: the machine has one from now on.
other_rustc() {
    printf '#!/bin/sh\necho "rustc 1.2.3 (another)"\n' >/mnt/rustc
    chmod +x /mnt/rustc
    lent[/usr/bin/rustc]=/mnt/rustc
}

# versions: of the packages there are, oldest first.
versions() {
    basename -a "$EFA_DEBS"/efa-rs-dkms_*.deb | cut -d_ -f2 | sort -V
}

# install VERSION: as a person does; all that it needs is there: no network is asked.
install() {
    on_machine apt-get install -y "/root/efa-rs-dkms_$1_all.deb"
}

# dkms_has: what DKMS says of our module, a line each: VERSION KERNEL STATE.
dkms_has() {
    on_machine dkms status | sed -n 's|^efa-rs/\([^,]*\), \([^,]*\), [^:]*: \([a-z]*\).*|\1 \2 \3|p'
}

# dkms_forgets VERSION KERNEL: that it has built this module, which is what remains of a forced build that is killed.
dkms_forgets() {
    rm -r "$MACHINE/var/lib/dkms/efa-rs/$1/$2"
}

# of_module FIELD: as modinfo says it of the module that modprobe would load.
of_module() {
    on_machine modinfo -k "$RELEASE" -F "$1" efa
}

# one_error WHAT FILE: the output in FILE has one line of an error, and says WHAT in it.
one_error() {
    local errors
    errors=$(grep '^error: ' "$2") || flunk "no line says what is wrong: $(tail -n 3 "$2")"
    [ "$(wc -l <<<"$errors")" = 1 ] || flunk "more than one line: $errors"
    grep -qE -- "$1" <<<"$errors" || flunk "expected '$1': $errors"
}
