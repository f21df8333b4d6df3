#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A package the archive does not have is named in one line; so is a supported kernel that is gone from backports,
# with the kernels there are.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

echo 'E: Unable to locate package virtiofsd' >"$TOY/mmdebstrap.fail"
expect_one_line 'build-root: .* has no package virtiofsd' "$TREE/scripts/setup" build-root
rm "$TOY/mmdebstrap.fail"

for version in 7.2 7.10; do
    mv "$TOY/archive/linux-source-7.3_7.3.9-1_all.deb" "$TOY/gone.deb" 2>/dev/null || true
    cp "$TOY/gone.deb" "$TOY/archive/linux-source-${version}_$version-1_all.deb"
done
expect_one_line 'kernel-source: .* no linux-source-7.3 \(it has: 7.2 7.10\).*make KDIR=' "$TREE/scripts/setup" kernel-source
