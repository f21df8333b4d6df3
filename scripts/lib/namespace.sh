# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A mount and process namespace of our own, and what must be on the host to get it.

BOOTSTRAP_COMMANDS="mmdebstrap unshare setpriv flock"

# ensure_bootstrap: as root on Debian installs what the host lacks; else says what to do.
ensure_bootstrap() {
    local command missing=
    for command in $BOOTSTRAP_COMMANDS; do
        command -v "$command" >/dev/null || missing+=" $command"
    done
    [ "$(id -u)" = 0 ] || command -v newuidmap >/dev/null || missing+=" newuidmap"
    [ -n "$missing" ] || return 0

    local packages=(mmdebstrap uidmap util-linux ca-certificates debian-archive-keyring)
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        die "missing on this host:$missing; as root: apt-get install ${packages[*]}"
    fi
    say "installing what the host lacks (${packages[*]})"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"; } >/dev/null ||
        die "could not install ${packages[*]}: see apt-get's message above, then run the same command again"
}

# in_own_namespace COMMAND...: runs it as root of its own mount and process namespaces. Mounts made in there are
# seen by nobody else, so removing the cache can never reach them; and when this shell dies, even by SIGKILL,
# everything in there dies with it. An ordinary user becomes root of a user namespace.
in_own_namespace() {
    local own=(unshare --mount --propagation private --pid --fork --kill-child --mount-proc)
    local advice="root cannot make namespaces here: a container needs CAP_SYS_ADMIN for it (docker run --privileged)"
    if [ "$(id -u)" != 0 ]; then
        own+=(--user --map-root-user --map-auto)
        advice="this user cannot make user namespaces: run as root, or have root install uidmap, give $(id -un) a range in /etc/subuid and /etc/subgid, and allow unprivileged user namespaces"
    fi
    "${own[@]}" true 2>/dev/null || die "$advice"
    # A job in the background, so that a signal is acted on at once; it keeps the terminal as its input.
    setpriv --pdeathsig KILL -- "${own[@]}" -- "$@" <&0 &
    local child=$! status=0
    trap 'kill -KILL $child 2>/dev/null; exit 130' INT
    trap 'kill -KILL $child 2>/dev/null; exit 143' TERM HUP
    wait $child || status=$?
    trap - INT TERM HUP
    return $status
}
