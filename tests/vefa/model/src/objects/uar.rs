// SPDX-License-Identifier: GPL-2.0
//! UARs: a page of doorbells each.

use crate::data::doorbell::{Doorbell, Page};

/// A live UAR.
#[derive(Debug, Default)]
pub(crate) struct Uar {
    pub page: Page,
}

impl Uar {
    /// Places for all of `doorbells`, in their order; `None`, and none taken,
    /// where they do not all fit.
    pub fn add(&mut self, doorbells: &[Doorbell]) -> Option<Vec<u64>> {
        let offsets: Option<_> = doorbells.iter().map(|new| self.page.add(*new)).collect();
        if offsets.is_none() {
            doorbells.iter().for_each(|new| self.page.remove(*new));
        }
        offsets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doorbells_that_do_not_all_fit_take_no_place() {
        let mut uar = Uar::default();
        for cq in 0..1023 {
            assert!(uar.add(&[Doorbell::Completion(cq)]).is_some());
        }
        assert_eq!(uar.add(&[Doorbell::Send(1), Doorbell::Receive(1)]), None);
        assert_eq!(uar.add(&[Doorbell::Send(1)]), Some(vec![1023 * 4]));
    }
}
