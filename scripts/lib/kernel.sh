# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# What the makers of kernels share. "target" and "work" are the maker's (maker.sh).

# kernel_source_file FILE: of the kernel-source item.
kernel_source_file() {
    echo "$(item_dir kernel-source)/$1"
}

# kernel_make TARGET...: in the source, with objects in ./item/build, in the build root.
kernel_make() {
    "$TREE/scripts/in-root" make -C "$(kernel_source_file src)" O="$PWD/item/build" \
        CC=gcc-14 -j"$(nproc)" "$@"
}

# check_options FRAGMENT CONFIG: every option the fragment sets must have that value in CONFIG. Options that
# depend on something absent are dropped by the kernel's configuration without a word.
check_options() {
    local line lost=
    while read -r line; do
        case $line in
        CONFIG_*=n) ! grep -q "^${line%=n}=" "$2" || lost+=" $line" ;;
        CONFIG_*) grep -qxF -- "$line" "$2" || lost+=" $line" ;;
        esac
    done <"$1"
    [ -z "$lost" ] || fail "these options did not survive the kernel's configuration:$lost"
}

# finish_build: build/ must work from where the item goes, and needs no objects: modules are built against headers,
# tools, Rust metadata and the symbol table.
finish_build() {
    sed -i "s|^export KBUILD_OUTPUT = .*|export KBUILD_OUTPUT = $target/build|" item/build/Makefile
    find item/build -name '*.a' -delete
    find item/build \( -path item/build/scripts -o -path item/build/tools \) -prune -o \
        \( -name '*.o' -o -name '*.ko' -o -name '*.mod.c' -o -name '*.o.cmd' -o -name '*.ko.cmd' \) ! -name module.lds -type f -exec rm {} +
}
