// SPDX-License-Identifier: GPL-2.0

//! The generated RDMA bindings, on top of the kernel crate's.
//!
//! bindgen runs without recursion (Kbuild), so that `device`, `pci_dev`, `mutex`
//! and so on stay the kernel crate's types; a second copy would be incompatible.

#![allow(
    clippy::all,
    clippy::cast_lossless,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_imports,
    dead_code,
    improper_ctypes,
    reason = "generated code"
)]
#![allow(clippy::undocumented_unsafe_blocks, reason = "generated code")]

pub(crate) use kernel::bindings::*;

use kernel::ffi;
use pin_init::MaybeZeroable;

include!(env!("RDMA_BINDINGS"));

/// The members of a `struct uverbs_attr_bundle` but for its array, under the name they have in C.
pub(crate) type uverbs_attr_bundle_hdr = uverbs_attr_bundle__bindgen_ty_1_uverbs_attr_bundle_hdr;

// SAFETY: A bitfield unit is an array of plain integers, for which all zeroes is a valid value.
unsafe impl<Storage: pin_init::Zeroable> pin_init::Zeroable for __BindgenBitfieldUnit<Storage> {}
