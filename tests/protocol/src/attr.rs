// SPDX-License-Identifier: GPL-2.0

//! What the cache knows of addresses.

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gid(pub [u8; 16]);
