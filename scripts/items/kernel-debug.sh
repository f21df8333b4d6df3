# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# kernel-debug: the test kernel with the kernel's checkers in it. Only clang can build KASAN and Rust into one kernel.

KERNEL_COMPILER=LLVM=1
# Lines make prints for the whole build; only for the progress.
DEBUG_LINES=2900

progress_debug() {
    echo "$(step_log | wc -l) of about $DEBUG_LINES lines of make, "
}

make_kernel_debug() {
    step 1 3 "configuration of the debug kernel"
    configure_small "$TREE/scripts/kernel-test.config" "$TREE/scripts/kernel-debug.config"
    step 2 3 "compilation of the debug kernel" progress_debug
    kernel_make bzImage modules
    step 3 3 "installation of its modules"
    install_kernel
    publish item
}
