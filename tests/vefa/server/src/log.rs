// SPDX-License-Identifier: GPL-2.0
//! Messages for the person who runs the program.

use std::fmt::Display;
use std::io::Write;

/// Writes one line to stderr, in one piece: others may write there, too. That stderr may be closed is no
/// reason to stop a device.
pub fn note(message: impl Display) {
    let _ = std::io::stderr().write_all(format!("vefa: {message}\n").as_bytes());
}
