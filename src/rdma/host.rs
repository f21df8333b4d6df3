// SPDX-License-Identifier: GPL-2.0

//! Facts about the running kernel and machine.

use crate::bindings;
use kernel::prelude::*;

/// The kernel's release, as `uname -r` has it in the initial namespace.
pub fn kernel_release() -> &'static CStr {
    // SAFETY: The text is zero terminated; it belongs to the kernel and does not change.
    unsafe { CStr::from_char_ptr(bindings::rdma_shim_kernel_release()) }
}

/// The kernel's version text, as `uname -v` has it in the initial namespace.
pub fn kernel_version() -> &'static CStr {
    // SAFETY: The text is zero terminated; it belongs to the kernel and does not change.
    unsafe { CStr::from_char_ptr(bindings::rdma_shim_kernel_version()) }
}

/// The kernel's version as a number, `LINUX_VERSION_CODE`.
pub fn kernel_version_code() -> u32 {
    bindings::RDMA_SHIM_KERNEL_VERSION_CODE
}

/// The first CPU that is on now.
pub fn first_online_cpu() -> u32 {
    // SAFETY: Reads a mask.
    unsafe { bindings::rdma_shim_first_online_cpu() }
}

/// The number of CPUs that are on now.
pub fn num_online_cpus() -> u32 {
    // SAFETY: Reads one number.
    unsafe { bindings::rdma_shim_num_online_cpus() }
}
