#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Too little disk is refused before the work; a disk that fills up during it is told in one line too.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

mkdir -p "$EFA_CACHE"
mount -t tmpfs -o size=8m small "$EFA_CACHE"
trap 'umount "$EFA_CACHE"; clean_up' EXIT
EFA_SETUP_DISK_MIB='' expect_one_line 'has [0-9]+ MiB of free space and set-up needs [0-9]+' "$TREE/scripts/setup" build-root

cat >"$TOY/bin/mmdebstrap" <<'STUB'
#!/bin/bash
dd if=/dev/zero of="${*: -2:1}.data" bs=1M count=16
STUB
expect_one_line 'build-root: no space left in .*: free some' "$TREE/scripts/setup" build-root
