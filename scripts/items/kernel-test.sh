# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# kernel-test: a small kernel from the same source with KUnit and the in-tree C driver as a module.

# Lines make prints for the whole build; only for the progress.
TEST_LINES=2750

progress_test() {
    echo "$(step_log | wc -l) of about $TEST_LINES lines of make, "
}

configure() {
    kernel_make tinyconfig
    cat "$TREE/scripts/kernel-test.config" >>item/build/.config
    kernel_make olddefconfig
    check_options "$TREE/scripts/kernel-test.config" item/build/.config
}

make_kernel_test() {
    step 1 3 "configuration of the test kernel"
    mkdir -p item/build
    configure
    step 2 3 "compilation of the test kernel" progress_test
    kernel_make bzImage modules
    step 3 3 "installation of its modules"
    remove_tree item/modules
    kernel_make INSTALL_MOD_PATH="$PWD/item/modules" modules_install
    cp item/build/arch/x86/boot/bzImage item/image
    cp item/build/include/config/kernel.release item/release
    rm -f item/modules/lib/modules/*/{build,source}
    finish_build
    publish item
}
