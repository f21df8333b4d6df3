#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Packages come from where apt has Debian's on the machine, in whichever form its sources stand, with its proxy and its
# keys, and from EFA_MIRROR where that is given; where there is none, one line says so.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

rm "$TOY/bin/apt-get"
hash -r
unset EFA_MIRROR http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
mkdir -p "$TOY/apt"/{parts,lists,trusted}
cat >"$TOY/apt.conf" <<CONF
Dir::Etc::sourcelist "$TOY/apt/sources.list";
Dir::Etc::sourceparts "$TOY/apt/parts";
Dir::Etc::trustedparts "$TOY/apt/trusted";
Dir::State::lists "$TOY/apt/lists";
CONF
export APT_CONFIG=$TOY/apt.conf

# sources: anew, from standard input; NAME is the file's.
sources() {
    rm -f "$TOY/apt/sources.list" "$TOY/apt/parts"/*
    cat >"$TOY/apt/$1"
}

# found: what set-up takes: a line each for debian and debian-security, then what the environment of the makers names.
found() {
    rm -rf "$EFA_CACHE"
    "$TREE/scripts/setup" build-root >"$TOY/log" 2>&1 || flunk "set-up failed: $(cat "$TOY/log")"
    [ "$(sed -n 's/^deb \([^ ]*\) .*/\1/p' "$TOY/mmdebstrap.sources" | sort -u | paste -sd' ')" = \
        "mirror+file:$EFA_CACHE/mirror/debian mirror+file:$EFA_CACHE/mirror/debian-security" ] || flunk "set-up took $(cat "$TOY/mmdebstrap.sources")"
    paste -sd' ' "$EFA_CACHE/mirror/debian"
    paste -sd' ' "$EFA_CACHE/mirror/debian-security"
    grep -E '^https?_proxy=' "$TOY/mmdebstrap.environment" || true
}

# expect WHAT LINE...
expect() {
    local what=$1 said
    shift
    said=$(found)
    [ "$said" = "$(printf '%s\n' "$@")" ] || flunk "of $what set-up takes: $(paste -sd'|' <<<"$said")"
}

# The release of the machine may be another one than the items'.
sources sources.list <<'LIST'
deb https://third.example/debian bookworm stable
deb http://vendor.example bookworm main
# deb http://old.example/debian bookworm main
deb [arch=amd64] http://one.example/pub/debian bookworm main contrib
deb http://one.example/pub/debian bookworm-updates main
deb http://secure.example/updates bookworm-security main
LIST
expect "one-line sources" http://one.example/pub/debian http://secure.example/updates

echo key >"$TOY/apt/trusted/machine.gpg"
echo another >"$TOY/signer.pgp"
sources parts/machine.sources <<SOURCES
Types: deb
URIs: https://off.example/debian
Suites: trixie trixie-updates
Components: main
Enabled: no

# Not http://comment.example/debian
Types: deb deb-src
URIs: https://two.example/debian/
Suites: trixie trixie-updates trixie-backports
Components: main
Signed-By: $TOY/signer.pgp

Types: deb
URIs: https://third.example/deb
Suites: stable
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 third
 -----END PGP PUBLIC KEY BLOCK-----
SOURCES
expect "deb822 sources without one for security" https://two.example/debian https://two.example/debian-security
grep -qx "Dir::Etc::TrustedParts \"$EFA_CACHE/mirror/keys\";" "$(sed -n 's/^APT_CONFIG=//p' "$TOY/mmdebstrap.environment")" ||
    flunk "mmdebstrap is not told of the keys"
grep -qsx key "$EFA_CACHE/mirror/keys"/*.gpg || flunk "what apt trusts everywhere is not trusted"
grep -qsx another "$EFA_CACHE/mirror/keys"/*.gpg || flunk "the key that the archive is signed by is not trusted"
! grep -qs third "$EFA_CACHE/mirror/keys"/* || flunk "the key of another archive is trusted"

sed -i "s|^Signed-By: .*|Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n inline\n -----END PGP PUBLIC KEY BLOCK-----|" "$TOY/apt/parts/machine.sources"
expect "a key in the sources" https://two.example/debian https://two.example/debian-security
printf -- '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\ninline\n-----END PGP PUBLIC KEY BLOCK-----\n' >"$TOY/inline"
grep -qxF "$(sha256sum <"$TOY/inline")" <(for file in "$EFA_CACHE/mirror/keys"/*.asc; do sha256sum <"$file"; done) ||
    flunk "the key in the sources is not trusted as it is: $(cat "$EFA_CACHE/mirror/keys"/*.asc)"

rm -rf "$EFA_CACHE"
EFA_MIRROR=http://given.example "$TREE/scripts/setup" build-root >"$TOY/log" 2>&1 || flunk "with EFA_MIRROR set-up failed: $(cat "$TOY/log")"
grep -q '^deb http://given.example/debian trixie main' "$TOY/mmdebstrap.sources" || flunk "EFA_MIRROR is not taken: $(cat "$TOY/mmdebstrap.sources")"
grep -qsx key "$EFA_CACHE/mirror/keys"/*.gpg || flunk "with EFA_MIRROR nothing is trusted that apt trusts"
! grep -qs inline "$EFA_CACHE/mirror/keys"/* || flunk "with EFA_MIRROR the key of some archive is trusted"

# What cloud images have.
printf 'http://three.example/debian\nhttp://four.example/debian\n' >"$TOY/mirrors"
sources parts/cloud.sources <<SOURCES
Types: deb
URIs: mirror+file:$TOY/mirrors
Suites: trixie trixie-updates
Components: main

Types: deb
URIs: http://five.example/security
Suites: trixie-security
Components: main
SOURCES
expect "a list of mirrors" "http://three.example/debian http://four.example/debian" http://five.example/security

cat >>"$TOY/apt.conf" <<'CONF'
Acquire::http::Proxy "http://proxy.example:3128";
Acquire::https::Proxy "http://general.example:3128";
Acquire::https::Proxy::six.example "http://own.example:3128";
CONF
echo 'deb http://six.example/debian trixie main' | sources sources.list
expect "a proxy" http://six.example/debian http://six.example/debian-security http_proxy=http://proxy.example:3128
http_proxy=http://mine.example:1 expect "a proxy in the environment" http://six.example/debian http://six.example/debian-security http_proxy=http://mine.example:1
echo 'deb https://six.example/debian trixie main' | sources sources.list
expect "a proxy for one host" https://six.example/debian https://six.example/debian-security https_proxy=http://own.example:3128

rm -rf "$EFA_CACHE"
printf 'deb http://seven.example/ubuntu noble main\ndeb cdrom:[disk]/ trixie main\n' | sources sources.list
expect_one_line 'apt has no archive of Debian.s .*: give one with EFA_MIRROR=URL' "$TREE/scripts/setup" build-root
[ -z "$(ls "$EFA_CACHE/partial")" ] || flunk "work was begun"
