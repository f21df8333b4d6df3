#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# enter-root.sh ROOT DIRECTORY COMMAND...: makes ROOT the root of this mount namespace and runs COMMAND in it, in
# DIRECTORY. Called by in-root in a namespace of its own: what is mounted here is gone when this process ends.

set -euo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/common.sh"

# show PATH...: the same path inside and outside. A mount below one of them is not carried along.
show() {
    local path
    for path; do
        [ -e "$path" ] || continue
        mkdir -p "$root$path"
        mount --bind "$path" "$root$path"
    done
}

# lend HOST_FILE FILE: the host's file in place of the root's, where both exist.
lend() {
    [ -s "$1" ] || return 0
    mkdir -p "$root$(dirname "$2")"
    [ -e "$root$2" ] || touch "$root$2"
    mount --bind "$1" "$root$2"
}

environment() {
    local name
    echo PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin
    echo HOME=/root LC_ALL=C.UTF-8 "TERM=${TERM:-dumb}" | tr ' ' '\n'
    echo "CARGO_HOME=$EFA_CACHE/cargo"
    echo "CARGO_TARGET_DIR=$(cargo_target)"
    echo CARGO_HTTP_CAINFO=$bundle SSL_CERT_FILE=$bundle | tr ' ' '\n'
    [ -z "${EFA_APT_CONFIG:-}" ] || echo "APT_CONFIG=$EFA_APT_CONFIG"
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ${!EFA_*}; do
        [ -z "${!name+set}" ] || echo "$name=${!name}"
    done
}

main() {
    root=$1
    local directory=$2 bundle=/etc/ssl/certs/ca-certificates.crt path
    shift 2

    mount --bind "$root" "$root"
    for path in /proc /sys /dev; do
        mount --rbind "$path" "$root$path"
    done
    mount -t tmpfs -o mode=1777 tmp "$root/tmp"
    # shellcheck disable=SC2086 # EFA_SHOW is a list of paths
    show "$TREE" "$EFA_CACHE" ${EFA_SHOW:-}
    lend /etc/resolv.conf /etc/resolv.conf
    lend $bundle $bundle

    local variables
    mapfile -t variables < <(environment)
    cd "$root"
    pivot_root . mnt
    umount -l /mnt
    cd "$directory" 2>/dev/null || cd "$TREE"
    # Not exec: this shell is process 1 of its namespace, so it must stay to reap what COMMAND leaves behind.
    env -i "${variables[@]}" "$@"
}

# On one line: nothing of this file is read any more when it changes during a long run.
main "$@"; exit
