// SPDX-License-Identifier: GPL-2.0

//! The checksum of admin queue entries: CRC16 with polynomial 0x8005, least significant bit
//! first, initial value 0xffff, inverted at the end (also known as CRC-16/USB).
//!
//! It covers the whole entry, with the entry's own checksum field as zero.
//!
//! It is the remainder of the entry, as a polynomial over GF(2), by
//! P = x^16 + x^15 + x^2 + 1 = (x + 1) Q with Q = x^15 + x + 1. The remainder by x + 1 is the parity
//! of the entry, and that by Q comes at a low price: x^15 is x + 1 there, and by squaring that again
//! and again x^30 is x^2 + 1, and x^60 is x^4 + 1. So eight bytes are taken at once, without a table.
//!
//! In the numbers here the least significant bit has the highest power of x.

use zerocopy::{
    Immutable,
    IntoBytes, //
};

const INITIAL: u16 = 0xffff;

/// Q as 16 bits: x^15, x and 1.
const Q: u16 = 1 << 0 | 1 << 14 | 1 << 15;

/// What of 64 bits is at `power` of x or above comes down by that: x^(15 squared) is x^squared + 1.
const fn fold(bits: u64, squared: u32) -> u64 {
    let power = 15 * squared;
    let high = bits & (u64::MAX >> power);
    bits ^ high ^ high << power ^ high << (power - squared)
}

/// `bits` by x^64, which is x^4 by x^4 + 1, and so x^8 + x^4.
const fn after_64(bits: u64) -> u64 {
    // What the shifts to the right lose is at x^64 again, and comes down in the same way.
    let bits = bits ^ bits << 56 ^ bits << 60;
    bits >> 8 ^ bits >> 4
}

/// `bits` below x^30, as far as Q goes.
const fn below_30(bits: u64) -> u64 {
    fold(fold(bits, 2), 2)
}

/// `bits` by x^512, which is x^32 by x^32 + 1, and so x^32 + x^8 + x^4.
const fn after_512(bits: u64) -> u64 {
    let bits = below_30(bits); // so that the shifts lose nothing
    bits >> 32 ^ bits >> 8 ^ bits >> 4
}

/// The remainder by P of what is `by_q` as far as Q goes, has the parity of `sum`, and is by x^16.
fn remainder(by_q: u64, sum: u64) -> u16 {
    // Below x^36 now, so that there is room for x^16.
    let bits = fold(by_q, 2) >> 16;
    let bits = fold(fold(fold(bits, 2), 1), 1);
    // CAST: Below x^15, which is in the upper 16 bits.
    let by_q = (bits >> 48) as u16;
    // Q itself is odd.
    let is_as_odd = (sum ^ u64::from(by_q)).count_ones() % 2 == 0;
    if is_as_odd {
        by_q
    } else {
        by_q ^ Q
    }
}

/// Computes the checksum of an entry, whose size is a multiple of eight bytes. From byte `used` on
/// there are only zeroes in it.
pub(crate) fn crc16<T: IntoBytes + Immutable>(entry: &T, used: usize) -> u16 {
    const { assert!(size_of::<T>() != 0 && size_of::<T>() % 8 == 0) };
    let mut bytes = entry.as_bytes();
    let zeroes = bytes
        .split_last_chunk::<64>()
        .filter(|(start, _)| used <= start.len());
    if let Some((start, _)) = zeroes {
        bytes = start;
    }
    let (mut by_q, mut sum, mut before) = (0, 0, u64::from(INITIAL));
    while let Some((group, others)) = bytes.split_first_chunk() {
        let bits = u64::from_le_bytes(*group) ^ before;
        by_q = after_64(by_q) ^ bits;
        sum ^= bits;
        before = 0;
        bytes = others;
    }
    if zeroes.is_some() {
        by_q = after_512(by_q);
    }
    !remainder(by_q, sum)
}

#[kernel::macros::kunit_tests(efa_admin_crc)]
mod tests {
    use super::*;

    /// The definition, bit by bit.
    fn expected(bytes: &[u8]) -> u16 {
        let mut crc = INITIAL;
        for byte in bytes {
            crc ^= u16::from(*byte);
            for _ in 0..8 {
                let carry = crc & 1 != 0;
                crc >>= 1;
                if carry {
                    crc ^= 0xa001; // 0x8005 with its bits reversed
                }
            }
        }
        !crc
    }

    #[test]
    fn published_vectors_hold() {
        assert_eq!(expected(b"123456789"), 0xb4c8);
        assert_eq!(expected(b""), 0x0000);
        assert_eq!(expected(&[0x00]), 0xbf40);
        assert_eq!(expected(&[0xff, 0xff]), 0xffff);
    }

    #[test]
    fn each_bit_of_an_entry_counts_as_defined() {
        // The checksum is linear: what holds for each bit alone holds for all entries.
        for bit in 0..128 * 8 {
            let mut entry = [0_u8; 128];
            if let Some(byte) = entry.get_mut(bit / 8) {
                *byte = 1 << (bit % 8);
            }
            let used = bit / 8 + 1;
            assert_eq!(crc16(&entry, used), expected(&entry));
            assert_eq!(crc16(&entry, entry.len()), expected(&entry));
        }
    }

    #[test]
    fn any_number_of_groups_counts_as_defined() {
        let bytes: [u8; 64] = core::array::from_fn(|place| (place * 73 + 5) as u8);
        let [first, second, ..] = bytes;
        let pair = [first, second];
        assert_eq!(crc16(&[pair; 4], 8), expected([pair; 4].as_bytes()));
        assert_eq!(crc16(&[pair; 12], 24), expected([pair; 12].as_bytes()));
        assert_eq!(crc16(&bytes, bytes.len()), expected(&bytes));
    }
}
