# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Where set-up takes Debian's packages from: from where apt has them on this machine, with its proxy and its keys.
# Makers find archives below EFA_MIRROR, as debian and debian-security, which a person may give.

# Where what apt has is written down for the makers.
MIRROR=$EFA_CACHE/mirror

# archives: those of Debian that apt has here and that can be reached from anywhere, a line each: URI SUITE. apt reads
# its sources in all their forms; a third party's have other suites, or another component.
archives() {
    apt-get update --print-uris 2>/dev/null |
        sed -nE "s#^'((https?|mirror\+file):[^']*)/dists/([^']*)/main/binary-[^']*'.*#\1 \3#p" |
        awk '$2 ~ /^(bullseye|bookworm|trixie|forky|duke|sid|(oldold|old)?stable|testing|unstable)([-\/].*)?$/ && !seen[$0]++'
}

# archive_of KIND: the URI of the archive that has Debian's releases, or of the one that has their security updates.
# It has all suites, whichever of them is named here.
archive_of() {
    case $1 in
    debian) archives | awk '$2 ~ /-updates$/ { print $1; found = 1; exit } $2 !~ /security/ && !first { first = $1 } END { if (!found && first) print first }' ;;
    debian-security) archives | awk '$2 ~ /-security$|\/updates$/ { print $1; exit }' ;;
    esac
}

# write_list URI FILE: a list of mirrors for apt's method mirror+file; a machine's may be such a list already.
write_list() {
    case $1 in
    mirror+file:*) cat "${1#mirror+file:}" >"$2.new" ;;
    *) echo "$1" >"$2.new" ;;
    esac
    mv "$2.new" "$2"
}

# keys_of URI...: the files of keys with which apt checks these archives beside those that it trusts everywhere; a key that
# stands in the sources is printed itself.
keys_of() {
    local list parts
    eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
    URIS=$* perl -e '
        for my $file (@ARGV) {
            open my $in, "<", $file or next;
            local $/ = $file =~ /\.sources$/ ? "" : "\n";
            for my $source (<$in>) {
                $source =~ s/^#.*\n//mg;
                grep { index($source, $_) >= 0 } split / /, $ENV{URIS} or next;
                $source =~ /^Signed-By:((?:.*\n?)(?:[ \t].*\n?)*)/mi or $source =~ /\[[^]]*signed-by=([^] ]*)/i or next;
                my $keys = $1;
                if ($keys =~ /-----BEGIN/) {
                    $keys =~ s/^\s*//;
                    $keys =~ s/^ \.?//mg;
                    print $keys;
                } else {
                    print map { "$_\n" } grep { m{^/} } split /[\s,]+/, $keys;
                }
            }
        }' "$list" "$parts"/*.list "$parts"/*.sources
}

# add_key: from standard input, under a name that apt takes.
add_key() {
    local file=$MIRROR/keys.new/key end=gpg
    cat >"$file"
    ! head -c 5 "$file" | grep -q -e '^-----' || end=asc
    mv "$file" "$file-$(sha256sum <"$file" | cut -c1-12).$end"
}

# write_keys URI...: into a directory, and a configuration that lets apt trust them.
write_keys() {
    local trusted keys file
    eval "$(apt-config shell trusted Dir::Etc::trustedparts/d)"
    rm -rf "$MIRROR/keys.new"
    mkdir "$MIRROR/keys.new"
    keys=$(keys_of "$@")
    for file in "$trusted"/*.{gpg,asc} /usr/share/keyrings/debian-archive-keyring.* $(grep '^/' <<<"$keys"); do
        [ ! -f "$file" ] || add_key <"$file"
    done
    [[ $keys != *-----BEGIN* ]] || grep -v '^/' <<<"$keys" | add_key
    rm -rf "$MIRROR/keys"
    mv "$MIRROR/keys.new" "$MIRROR/keys"
    echo "Dir::Etc::TrustedParts \"$MIRROR/keys\";" >"$MIRROR/apt.conf"
    export APT_CONFIG=$MIRROR/apt.conf EFA_APT_CONFIG=$MIRROR/apt.conf
}

# proxy_of URI: what apt takes for it.
proxy_of() {
    local scheme=${1%%:*} host=${1#*://} own='' general='' auto=''
    host=${host%%[:/]*}
    eval "$(apt-config shell own "Acquire::$scheme::Proxy::$host" general "Acquire::$scheme::Proxy" auto "Acquire::$scheme::Proxy-Auto-Detect")"
    [[ -n $own || -z $auto ]] || own=$("$auto" "$1" 2>/dev/null) || true
    own=${own:-$general}
    [ "$own" = DIRECT ] || echo "$own"
}

# use_proxy URI...: by the environment, which comes first where it names one.
use_proxy() {
    local uri scheme proxy
    for uri; do
        scheme=${uri%%:*}
        [ -z "$(printenv "${scheme}_proxy" "${scheme^^}_PROXY")" ] || continue
        proxy=$(proxy_of "$uri")
        [ -z "$proxy" ] || export "${scheme}_proxy=$proxy"
    done
}

# mirror_uris: those that packages come from.
mirror_uris() {
    case $EFA_MIRROR in
    mirror+file:*) sed 's/[[:space:]].*//; /^#/d; /^$/d' "$MIRROR"/debian "$MIRROR"/debian-security | awk '!seen[$0]++' ;;
    *) echo "$EFA_MIRROR" ;;
    esac
}

# use_mirror: sets and exports what the makers go by. Each run writes it anew, since apt's may have changed.
use_mirror() {
    local debian security uris found=()
    mkdir -p "$MIRROR"
    if [ -z "$EFA_MIRROR" ]; then
        debian=$(archive_of debian)
        [ -n "$debian" ] ||
            die "apt has no archive of Debian's on this machine that set-up could use (http, https, mirror+file): give one with EFA_MIRROR=URL, below which are debian and debian-security"
        security=$(archive_of debian-security)
        # A mirror has both side by side.
        security=${security:-${debian%/*}/debian-security}
        write_list "$debian" "$MIRROR/debian"
        write_list "$security" "$MIRROR/debian-security"
        EFA_MIRROR=mirror+file:$MIRROR found=("$debian" "$security")
    fi
    mapfile -t uris < <(mirror_uris)
    use_proxy "${uris[@]}"
    write_keys "${found[@]}"
}
