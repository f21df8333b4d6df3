# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# How an item is made: under a lock, in a directory of its own below partial/ that the next run goes on with when
# this one is interrupted, and renamed into place when it is whole. A failure ends in one line for the person.

# explain_failure: one line for what a person can put right; else the end of the log.
explain_failure() {
    local package suite free mirror
    mirror=$(mirror_uris | paste -sd' ')
    suite=$(sed -nE "s/.*The repository '[^' ]* ([^' ]+) (In)?Release' does not have a Release file.*/\1/p" "$log" | head -1)
    free=$(df -Pm "$EFA_CACHE" | awk 'NR == 2 { print $4 }')
    package=$(sed -nE "s/.*Unable to locate package ([^ ]+).*/\1/p; s/.*Package '?([^ ']+)'? has no installation candidate.*/\1/p" "$log" | head -1)
    # On a full disk not even the log can say so.
    if [ "$free" -lt 8 ] || grep -q 'No space left on device' "$log"; then
        say "error: $item: no space left in $EFA_CACHE: free some, or set EFA_CACHE to a larger disk, and run the same command again"
    elif [ -n "$package" ]; then
        say "error: $item: $mirror has no package $package: check EFA_MIRROR, or take it out of scripts/items (log: $log)"
    elif [ -n "$suite" ]; then
        say "error: $item: $mirror has no suite $suite: give another mirror with EFA_MIRROR"
    elif grep -qE 'NO_PUBKEY|is not signed|Missing key' "$log"; then
        say "error: $item: $mirror is signed with a key that apt does not trust here: add it to /etc/apt/trusted.gpg.d, or give another mirror with EFA_MIRROR"
    elif grep -qE 'Temporary failure resolving|Could not resolve|Could not connect|Connection (failed|timed out|refused)|Network is unreachable|Unable to connect' "$log"; then
        say "error: $item: cannot reach $mirror: check the network (http_proxy, EFA_MIRROR) and run the same command again; it goes on where it stopped"
    else
        say "error: $item could not be made; the end of $log:"
        tail -n 15 "$log" | sed 's/^/    /' >&2
    fi
}

# drop_older_parts NAME WORK: what was begun of the item with another key.
drop_older_parts() {
    local part
    for part in "$EFA_CACHE/partial/$1"-????????????; do
        [ "$part" = "$2" ] || rm -rf --one-file-system -- "$part"
    done
}

# make_item NAME: makes it if it is not there, and waits if someone else is making it.
make_item() {
    local item=$1 target work log started=$SECONDS status=0
    target=$(item_dir "$item")
    [ ! -d "$target" ] || return 0
    work=$EFA_CACHE/partial/$(basename "$target") log=$EFA_CACHE/log/$item.log

    exec 9>"$EFA_CACHE/lock/$item"
    flock -n 9 || { say "[$item] waiting for another set-up, which holds $EFA_CACHE/lock/$item"; flock 9; }
    if [ ! -d "$target" ]; then
        drop_older_parts "$item" "$work"
        mkdir -p "$work"
        : >"$log"
        # shellcheck disable=SC2094 # the maker reads its own log to see how far it is
        "$BASH" "$TREE/scripts/lib/maker.sh" "$item" "$work" "$target" "$log" 3>&2 >>"$log" 2>&1 </dev/null || status=$?
        case $status in
        0) say "[$item] made in $(elapsed $((SECONDS - started)))" ;;
        "$REPORTED") ;;
        *) explain_failure ;;
        esac
    fi
    exec 9>&-
    return "$status"
}
