// SPDX-License-Identifier: GPL-2.0
//! Which number a new object gets.

/// The lowest number that is not among `taken`, which ascends; `None` where
/// there are `max` already.
pub(super) fn lowest_free<'a>(
    taken: impl ExactSizeIterator<Item = &'a u16>,
    max: u32,
) -> Option<u16> {
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

/// The first number after `last` for which `is_free` holds; after `range`'s
/// end comes its start.
pub(super) fn next_free(
    range: std::ops::RangeInclusive<u32>,
    last: u32,
    is_free: impl Fn(u32) -> bool,
) -> Option<u32> {
    let (first, end) = (*range.start(), *range.end());
    let after = last.saturating_add(1).max(first);
    (after..=end)
        .chain(first..=last.min(end))
        .find(|number| is_free(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_round_and_skip_those_in_use() {
        let free = |number| number != 3;
        assert_eq!(next_free(1..=4, 0, free), Some(1));
        assert_eq!(next_free(1..=4, 2, free), Some(4));
        assert_eq!(next_free(1..=4, 4, free), Some(1));
        assert_eq!(next_free(1..=4, 9, free), Some(1));
        assert_eq!(next_free(1..=4, 2, |_| false), None);
    }

    #[test]
    fn the_lowest_number_that_is_not_taken_is_reused_first() {
        assert_eq!(lowest_free([0, 1, 3].iter(), 9), Some(2));
        assert_eq!(lowest_free([0, 1, 2].iter(), 3), None);
        assert_eq!(lowest_free([].iter(), 1), Some(0));
    }
}
