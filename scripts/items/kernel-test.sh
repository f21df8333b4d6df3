# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# kernel-test: a small kernel from the same source with KUnit and the in-tree C driver as a module.

# Lines make prints for the whole build; only for the progress.
TEST_LINES=2850

progress_test() {
    echo "$(step_log | wc -l) of about $TEST_LINES lines of make, "
}

make_kernel_test() {
    step 1 3 "configuration of the test kernel"
    configure_small "$TREE/scripts/kernel-test.config"
    step 2 3 "compilation of the test kernel" progress_test
    kernel_make bzImage modules
    step 3 3 "installation of its modules"
    install_kernel
    publish item
}
