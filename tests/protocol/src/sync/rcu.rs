// SPDX-License-Identifier: GPL-2.0

//! Read sections.

use crate::machine;

/// The caller is in a read section.
pub struct Guard(usize);

pub fn read_lock() -> Guard {
    Guard(machine::enter_section())
}

impl Drop for Guard {
    fn drop(&mut self) {
        machine::leave_section(self.0);
    }
}
