// SPDX-License-Identifier: GPL-2.0

//! Checks of what a process asks for, and how it can be seen why something was refused.
//!
//! A process is told an errno, which many causes share. Each refusal is also an event of the
//! tracepoint `efa_refused`, which names the verb, the field of the request, its value, and what
//! that would have to be. It is no line in the kernel log: any process can ask for what there is not.

use crate::{
    trace, //
    verbs::device::Device,
};
use kernel::prelude::*;
use rdma::{
    udata::Udata,
    wire::Wire, //
};

/// What a field of a request has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// This and nothing else.
    Exactly(u64),
    /// This or less.
    AtMost(u64),
    /// This or more.
    AtLeast(u64),
    /// Of these bits none, some or all.
    OnlyBitsOf(u64),
    /// All of these bits, and others perhaps.
    AllBitsOf(u64),
    /// A power of two.
    PowerOfTwo,
    /// A multiple of this.
    MultipleOf(u64),
    /// A state to which a queue pair can go from this one.
    StateAfter(u64),
    /// The length of memory that can be pinned.
    Pinnable,
    /// The offset of what there is to map, all of it, and for an access that is allowed.
    Mappable,
}

impl Rule {
    /// Says whether a field may have this value. None that is asked about has one that others judge.
    fn allows(self, value: u64) -> bool {
        match self {
            Self::Exactly(only) => value == only,
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
            Self::OnlyBitsOf(bits) => value & !bits == 0,
            Self::AllBitsOf(bits) => bits & !value == 0,
            Self::PowerOfTwo => value.is_power_of_two(),
            Self::MultipleOf(unit) => value.checked_rem(unit) == Some(0),
            Self::StateAfter(_) | Self::Pinnable | Self::Mappable => false,
        }
    }

    /// Its number, and what it compares with, in the tracepoint.
    fn numbers(self) -> (u8, u64) {
        match self {
            Self::Exactly(limit) => (0, limit),
            Self::AtMost(limit) => (1, limit),
            Self::AtLeast(limit) => (2, limit),
            Self::OnlyBitsOf(limit) => (3, limit),
            Self::AllBitsOf(limit) => (4, limit),
            Self::PowerOfTwo => (5, 0),
            Self::MultipleOf(limit) => (6, limit),
            Self::StateAfter(limit) => (7, limit),
            Self::Pinnable => (8, 0),
            Self::Mappable => (9, 0),
        }
    }
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What the process is told.
    pub(super) error: Error,
    field: &'static CStr,
    value: u64,
    rule: Rule,
}

impl Refusal {
    /// A request is refused with `error` since the value of a field breaks a rule.
    pub(super) fn new(
        error: Error,
        field: &'static CStr,
        value: impl Into<u64>,
        rule: Rule,
    ) -> Self {
        Self {
            error,
            field,
            value: value.into(),
            rule,
        }
    }
}

/// Checks a field of a request; else it is refused with `error`.
pub(super) fn check(
    error: Error,
    field: &'static CStr,
    value: impl Into<u64>,
    rule: Rule,
) -> Result<(), Refusal> {
    let value = value.into();
    if rule.allows(value) {
        Ok(())
    } else {
        Err(Refusal::new(error, field, value, rule))
    }
}

/// The bytes of a reserved field as a number, the least significant first.
pub(super) fn number(reserved: &[u8]) -> u64 {
    let shifted = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    reserved.iter().rev().fold(0, shifted)
}

/// Checks that there is no private request, or only zeroes; see [`Udata::expect_no_request`].
pub(super) fn expect_none(udata: &Udata<'_>) -> Result<(), Refusal> {
    udata
        .expect_no_request()
        .map_err(|error| refused_length(udata, error, Rule::Exactly(0)))
}

/// Reads a private request of at least `min_len` bytes; see [`Udata::read_request`].
pub(super) fn read<T: Wire>(udata: &Udata<'_>, min_len: usize) -> Result<T, Refusal> {
    udata.read_request(min_len).map_err(|error| {
        // CAST: A few bytes each.
        let rule = match error {
            EINVAL => Rule::AtLeast(min_len as u64),
            _ => Rule::AtMost(size_of::<T>() as u64),
        };
        refused_length(udata, error, rule)
    })
}

/// The private request has a length that it must not have, or says something where nothing is
/// known, or cannot be read (`EFAULT`).
fn refused_length(udata: &Udata<'_>, error: Error, rule: Rule) -> Refusal {
    // CAST: `usize` has at most 64 bits.
    Refusal::new(error, c"request_len", udata.request_len() as u64, rule)
}

impl Device<'_> {
    /// Lets it be seen why a request is refused. Returns what the process is told.
    #[cold]
    pub(super) fn refuse(&self, verb: &'static CStr, refusal: Refusal) -> Error {
        let Refusal {
            error,
            field,
            value,
            rule,
        } = refusal;
        let (rule, limit) = rule.numbers();
        let errno = error.to_errno();
        trace::efa_refused(self.pdev.as_ref(), verb, field, value, rule, limit, errno);
        error
    }
}

#[kernel::macros::kunit_tests(efa_request)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_allows_what_it_says() {
        for (rule, allowed, refused) in [
            (Rule::Exactly(7), [7, 7], [6, 8]),
            (Rule::AtMost(7), [0, 7], [8, u64::MAX]),
            (Rule::AtLeast(7), [7, u64::MAX], [0, 6]),
            (Rule::OnlyBitsOf(5), [0, 5], [2, 7]),
            (Rule::AllBitsOf(5), [5, 7], [0, 4]),
            (Rule::PowerOfTwo, [1, 1 << 63], [0, 3]),
            (Rule::MultipleOf(8), [0, 16], [1, 15]),
        ] {
            for value in allowed {
                assert_eq!(check(EINVAL, c"field", value, rule), Ok(()));
            }
            for value in refused {
                let refusal = Refusal::new(EINVAL, c"field", value, rule);
                assert_eq!(check(EINVAL, c"field", value, rule), Err(refusal));
            }
        }
    }
}
