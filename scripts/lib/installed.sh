# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Where make install puts the module, and how modprobe is told of it.

# Below the root of the installation.
# shellcheck disable=SC2034 # used by those who source this
DEPMOD_RULE=/etc/depmod.d/efa-rs.conf

# check_kmod: depmod tells modprobe what is there, and modinfo whose it is. A plain su leaves them out of PATH.
check_kmod() {
    PATH+=:/usr/sbin:/sbin
    local command
    for command in depmod modinfo; do
        command -v "$command" >/dev/null || die "there is no $command in PATH: apt-get install kmod"
    done
}

# install_root: INSTALL_MOD_PATH, as an absolute path without a slash at its end; nothing for this machine.
install_root() {
    [ -z "${INSTALL_MOD_PATH:-}" ] || realpath -m -- "$INSTALL_MOD_PATH" | sed 's|/$||'
}

# The kernel may have an efa of its own: this one wins, for every kernel that has it.
depmod_rule() {
    echo '# Installed by make install of efa-rs.'
    echo 'override efa * updates'
}

# run_depmod RELEASE: with the rules of the installation's root.
run_depmod() {
    local release=$1 rules=()
    [ -z "$root" ] || rules=(-b "$root" -C "$root/etc/depmod.d")
    depmod "${rules[@]}" "$release" || die "depmod failed for $release: see its message above"
}

# put_module FILE RELEASE: in one rename, so that there always is a whole one.
put_module() {
    local place=$root/lib/modules/$2/updates
    mkdir -p "$place" "$root/etc/depmod.d"
    cp "$1" "$place/efa.ko.new" || { rm -f "$place/efa.ko.new"; die "cannot write to $place: see above; nothing has changed"; }
    mv "$place/efa.ko.new" "$place/efa.ko"
    depmod_rule >"$root$DEPMOD_RULE"
    run_depmod "$2"
}

# is_ours FILE: whether a module is built from this project.
is_ours() {
    [ "$(modinfo -F author "$1" 2>/dev/null)" = "The efa-rs authors" ]
}
