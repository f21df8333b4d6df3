# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A toy kernel for the real scripts/kernel-build-dir: headers in $HEADERS, its source in the tarball $TARBALL. Sourced
# by the tests.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "${BASH_SOURCE[0]}")/toy.sh"

HEADERS=$TOY/headers TARBALL=$TOY/linux-source-7.3.tar.xz BUILD_DIRS=$TOY/build-dirs
# The real tool; what is given again after these counts.
# shellcheck disable=SC2034 # for the tests
BUILD_DIR=("$TREE/scripts/kernel-build-dir" --headers "$HEADERS" --source "$TARBALL" --cache "$BUILD_DIRS")

# make_tarball: with a file in each place that the tool takes something from, and one that it leaves.
make_tarball() {
    local source=$TOY/linux-source-7.3 place
    for place in arch/{arm/vdso,arm64,x86} drivers/{android,base,net} include kernel lib rust scripts security \
        tools/{arch/x86,arch/arm64,bpf/resolve_btfids,build,include,lib,objtool,scripts}; do
        mkdir -p "$source/$place"
        touch "$source/$place/toy.c"
    done
    touch "$source/Kbuild" "$source/drivers/net/Kconfig"
    tar -cJf "$TARBALL" -C "$TOY" linux-source-7.3
}

# stub_make: make in PATH waits while $TOY/hold is there, and fails while $TOY/broken is.
stub_make() {
    cat >"$TOY/bin/make" <<STUB
#!/bin/bash
touch '$TOY/make.started'
while [ -e '$TOY/hold' ]; do sleep 0.05; done
[ ! -e '$TOY/broken' ] || { echo 'the toy is broken'; exit 2; }
exec /usr/bin/make "\$@"
STUB
    chmod +x "$TOY/bin/make"
}

make_headers "$HEADERS"
make_tarball
