# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# user-metadata: what scripts/kernel-build-dir makes on the machine user-root for its kernel, as it lies in
# /var/cache/efa-rs there.

make_user_metadata() {
    local release
    release=$(basename "$(dirname "$(echo "$(item_dir user-root)"/usr/lib/modules/*/build)")")
    step 1 1 "Rust metadata for $release" progress_metadata
    mkdir -p cache
    "$TREE/scripts/in-root" --in user-root bash -c "mkdir -p /var/cache/efa-rs && mount --bind '$work/cache' /var/cache/efa-rs &&
        '$TREE/scripts/kernel-build-dir' --release '$release'"
    rm -f cache/{log,lock}
    publish cache
}
