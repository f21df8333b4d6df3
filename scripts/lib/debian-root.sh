# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Makes a Debian root with mmdebstrap.

# debian_root DIRECTORY SUITE PACKAGE_LIST OPTION...: sources on standard input. Downloaded packages are kept in
# ./packages until the item is complete, so that an interrupted download goes on where it stopped.
# Signatures are checked; how old a mirror's index is, is not, since mirrors and snapshots may lag for weeks.
debian_root() {
    local directory=$1 suite=$2 list=$3
    shift 3
    remove_tree "$directory"
    mkdir -p packages/partial
    local archives=var/cache/apt/archives
    # shellcheck disable=SC2016 # $1 is the hook's: the root's directory
    without_descriptors mmdebstrap --mode=root --format=directory --variant=minbase --verbose \
        --include="$(sed -e '/^#/d' -e '/^$/d' "$list" | paste -sd,)" \
        --aptopt='Acquire::Retries "3"' --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Sandbox::User "root"' \
        --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
        --skip=download/empty,essential/unlink,cleanup/apt/cache \
        --setup-hook="mkdir -p \"\$1/$archives\" && mount --bind '$PWD/packages' \"\$1/$archives\"" \
        --customize-hook="umount \"\$1/$archives\"" \
        --customize-hook='touch "$1/etc/resolv.conf"' \
        "$@" "$suite" "$directory" -
}

# without_descriptors COMMAND...: with standard input, output and error alone. mmdebstrap has a shell write to a pipe
# of its own by number, and Debian's shell knows descriptors up to 9 only.
without_descriptors() (
    for descriptor in /proc/self/fd/*; do
        descriptor=${descriptor##*/}
        [ "$descriptor" -le 2 ] || eval "exec $descriptor>&-"
    done
    exec "$@"
)
