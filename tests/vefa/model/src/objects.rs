// SPDX-License-Identifier: GPL-2.0
//! The device's live resources, and who owns them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::gid::Gid;

/// Not 0, which looks like "none handed out".
const FIRST_AH: u16 = 1;
/// Not 0xffff, which stands for "unknown" in completions.
const LAST_AH: u16 = 0xfffe;

/// A live protection domain.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pd {
    /// AHs it owns.
    pub ahs: u32,
}

/// A live address handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ah {
    pub pd: u16,
    pub gid: Gid,
}

/// A live event queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventQueue {
    pub vector: u16,
    pub depth: u16,
    pub base: u64,
    pub armed: bool,
}

impl EventQueue {
    pub fn new(vector: u16, depth: u16, base: u64) -> Self {
        Self {
            vector,
            depth,
            base,
            armed: false,
        }
    }
}

/// One live object, as the control socket lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectDetail {
    /// `pd`, `ah`, `uar` or `eq`.
    pub kind: String,
    /// Its number.
    pub id: u32,
    /// The PD that owns an AH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pd: Option<u16>,
    /// The destination of an AH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gid: Option<Gid>,
    /// The vector of an event queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<u16>,
    /// The depth of an event queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u16>,
    /// The ring address of an event queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<u64>,
    /// Whether an event queue is armed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub armed: Option<bool>,
}

impl ObjectDetail {
    fn new(kind: &str, id: u16) -> Self {
        Self {
            kind: kind.to_owned(),
            id: u32::from(id),
            pd: None,
            gid: None,
            vector: None,
            depth: None,
            base: None,
            armed: None,
        }
    }
}

/// All live objects.
///
/// PD, UAR and EQ numbers are reused at once, lowest first; AH numbers go
/// round, so that a stale one is not mistaken for a new one.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub pds: BTreeMap<u16, Pd>,
    pub uars: BTreeSet<u16>,
    pub eqs: BTreeMap<u16, EventQueue>,
    ahs: BTreeMap<u16, Ah>,
    ah_by_key: HashMap<(u16, Gid), u16>,
    last_ah: u16,
}

impl Objects {
    /// A new PD; `None` at the limit.
    pub fn alloc_pd(&mut self, max: u32) -> Option<u16> {
        let pd = lowest_free(self.pds.keys(), max)?;
        self.pds.insert(pd, Pd::default());
        Some(pd)
    }

    /// A new UAR; `None` at the limit.
    pub fn alloc_uar(&mut self, max: u32) -> Option<u16> {
        let uar = lowest_free(self.uars.iter(), max)?;
        self.uars.insert(uar);
        Some(uar)
    }

    /// A new event queue; `None` at the limit.
    pub fn create_eq(&mut self, max: u32, eq: EventQueue) -> Option<u16> {
        let eqn = lowest_free(self.eqs.keys(), max)?;
        self.eqs.insert(eqn, eq);
        Some(eqn)
    }

    pub fn ah(&self, number: u16) -> Option<Ah> {
        self.ahs.get(&number).copied()
    }

    /// The live AH for this key.
    pub fn find_ah(&self, ah: Ah) -> Option<u16> {
        self.ah_by_key.get(&(ah.pd, ah.gid)).copied()
    }

    /// A new AH; `None` at the limit, or where PD or key forbid it.
    pub fn create_ah(&mut self, max: u32, ah: Ah) -> Option<u16> {
        if self.ahs.len() as u64 >= u64::from(max) || self.find_ah(ah).is_some() {
            return None;
        }
        let number = (self.last_ah + 1..=LAST_AH)
            .chain(FIRST_AH..=self.last_ah)
            .find(|number| !self.ahs.contains_key(number))?;
        self.pds.get_mut(&ah.pd)?.ahs += 1;
        self.ahs.insert(number, ah);
        self.ah_by_key.insert((ah.pd, ah.gid), number);
        self.last_ah = number;
        Some(number)
    }

    pub fn destroy_ah(&mut self, number: u16) {
        if let Some(ah) = self.ahs.remove(&number) {
            self.ah_by_key.remove(&(ah.pd, ah.gid));
            if let Some(pd) = self.pds.get_mut(&ah.pd) {
                pd.ahs = pd.ahs.saturating_sub(1);
            }
        }
    }

    /// Live counts by kind; kinds of the data path are there, and zero.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([
            ("pd", self.pds.len() as u64),
            ("ah", self.ahs.len() as u64),
            ("uar", self.uars.len() as u64),
            ("eq", self.eqs.len() as u64),
            ("cq", 0),
            ("qp", 0),
            ("mr", 0),
        ])
    }

    /// Live counts without the kinds that have none.
    pub fn live(&self) -> BTreeMap<String, u64> {
        self.counts()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| (kind.to_owned(), count))
            .collect()
    }

    pub fn detail(&self) -> Vec<ObjectDetail> {
        let pds = self.pds.keys().map(|pd| ObjectDetail::new("pd", *pd));
        let uars = self.uars.iter().map(|uar| ObjectDetail::new("uar", *uar));
        let ahs = self.ahs.iter().map(|(number, ah)| ObjectDetail {
            pd: Some(ah.pd),
            gid: Some(ah.gid),
            ..ObjectDetail::new("ah", *number)
        });
        let eqs = self.eqs.iter().map(|(eqn, eq)| ObjectDetail {
            vector: Some(eq.vector),
            depth: Some(eq.depth),
            base: Some(eq.base),
            armed: Some(eq.armed),
            ..ObjectDetail::new("eq", *eqn)
        });
        pds.chain(uars).chain(ahs).chain(eqs).collect()
    }

    /// Destroys everything; AH numbers go on where they were.
    pub fn clear(&mut self) {
        *self = Self {
            last_ah: self.last_ah,
            ..Self::default()
        };
    }
}

/// The lowest number that is not among `taken`, which ascends; `None` where
/// there are `max` already.
fn lowest_free<'a>(taken: impl ExactSizeIterator<Item = &'a u16>, max: u32) -> Option<u16> {
    if taken.len() as u64 >= u64::from(max) {
        return None;
    }
    let mut free = 0;
    for number in taken {
        if u32::from(*number) != free {
            break;
        }
        free += 1;
    }
    u16::try_from(free).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ah(pd: u16, n: u32) -> Ah {
        let mut gid = [0; 16];
        gid[12..].copy_from_slice(&n.to_be_bytes());
        Ah { pd, gid: Gid(gid) }
    }

    #[test]
    fn ah_numbers_go_round_without_ever_being_reserved_ones() {
        let mut objects = Objects::default();
        let pd = objects.alloc_pd(1).unwrap();
        let kept = objects.create_ah(10, ah(pd, u32::MAX)).unwrap();
        let mut last = 0;
        for n in 0..140_000 {
            let number = objects.create_ah(10, ah(pd, n)).unwrap();
            assert!(number != 0 && number != 0xffff && number != kept);
            assert_ne!(number, last);
            objects.destroy_ah(number);
            last = number;
        }
        assert_eq!(objects.counts()["ah"], 1);
    }

    #[test]
    fn a_key_has_one_ah_and_needs_its_pd() {
        let mut objects = Objects::default();
        let pd = objects.alloc_pd(1).unwrap();
        assert!(objects.create_ah(10, ah(pd, 1)).is_some());
        assert_eq!(objects.create_ah(10, ah(pd, 1)), None);
        assert_eq!(objects.create_ah(10, ah(pd + 1, 1)), None);
        assert_eq!(objects.counts()["ah"], 1);
    }

    #[test]
    fn as_many_ahs_as_there_are_numbers_can_live() {
        let mut objects = Objects::default();
        let pd = objects.alloc_pd(1).unwrap();
        for n in 0..0xfffe {
            assert!(objects.create_ah(u32::MAX, ah(pd, n)).is_some());
        }
        assert_eq!(objects.create_ah(u32::MAX, ah(pd, 0xfffe)), None);
    }
}
