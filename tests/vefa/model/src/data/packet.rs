// SPDX-License-Identifier: GPL-2.0
//! What goes from one device to another.

use crate::gid::Gid;

/// A packet between two devices, or from a device to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// GID of the device that sent it.
    pub source: Gid,
    /// GID of the device that it is for.
    pub destination: Gid,
}
