// SPDX-License-Identifier: GPL-2.0

//! What the hardware looks like: registers and wire layouts, declarations only.
//!
//! Structures and constants are named after the C ones in the kernel source's
//! `drivers/infiniband/hw/efa/*_defs.h`, so that both can be compared by a program. The C name of
//! a structure is `efa_` and the Rust name in snake case, where an underscore goes before each
//! capital letter, and before a digit that follows a small letter: `AdminCreateAhCmd` is
//! `efa_admin_create_ah_cmd`, `AdminFeatureQueueAttrDesc1` is
//! `efa_admin_feature_queue_attr_desc_1`, `AdminAqEntryV2` is `efa_admin_aq_entry_v2`. Fields have
//! the same names, and a C union `u` is a field `u` of bytes. The C name of a constant is `EFA_`
//! and the Rust name.
//!
//! Only what the driver uses is declared.

pub(crate) mod admin;
pub(crate) mod aenq;
pub(crate) mod cq;
pub(crate) mod event_counter;
pub(crate) mod mr;
pub(crate) mod qp;
pub(crate) mod regs;
pub(crate) mod stats;
