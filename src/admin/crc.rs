// SPDX-License-Identifier: GPL-2.0

//! The checksum of admin queue entries: CRC16 with polynomial 0x8005, least significant bit
//! first, initial value 0xffff, inverted at the end (also known as CRC-16/USB).
//!
//! It covers the whole entry, with the entry's own checksum field as zero.

const INITIAL: u16 = 0xffff;
/// 0x8005 with its bits reversed.
const POLYNOMIAL: u16 = 0xa001;

/// How many bytes are taken at once.
const STEP: usize = 4;

/// `TABLES[n][byte]` is what a byte that `n` others follow does to a checksum.
const TABLES: [[u16; 256]; STEP] = {
    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u16;
        let mut followers = 0;
        while followers < STEP {
            remainder = divide(remainder);
            tables[followers][byte] = remainder;
            followers += 1;
        }
        byte += 1;
    }
    tables
};

/// The remainder after one more byte, which is zero.
const fn divide(mut remainder: u16) -> u16 {
    let mut bit = 0;
    while bit < 8 {
        let carry = remainder & 1 != 0;
        remainder >>= 1;
        if carry {
            remainder ^= POLYNOMIAL;
        }
        bit += 1;
    }
    remainder
}

/// Computes the checksum of `bytes`.
pub(crate) fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = INITIAL;
    let mut rest = bytes;
    while let [first, second, third, fourth, others @ ..] = rest {
        let [low, high] = crc.to_le_bytes();
        crc = effect::<3>(low ^ first)
            ^ effect::<2>(high ^ second)
            ^ effect::<1>(*third)
            ^ effect::<0>(*fourth);
        rest = others;
    }
    for byte in rest {
        let [low, high] = crc.to_le_bytes();
        crc = u16::from(high) ^ effect::<0>(low ^ byte);
    }
    !crc
}

/// What a byte with so many after it does to a checksum.
fn effect<const FOLLOWERS: usize>(byte: u8) -> u16 {
    let table = const { &TABLES[FOLLOWERS] };
    // The table has an entry for each byte there is.
    table[usize::from(byte)]
}

#[kernel::macros::kunit_tests(efa_admin_crc)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors_hold() {
        assert_eq!(crc16(b"123456789"), 0xb4c8);
        assert_eq!(crc16(b""), 0x0000);
        assert_eq!(crc16(&[0x00]), 0xbf40);
        assert_eq!(crc16(&[0xff, 0xff]), 0xffff);
    }

    #[test]
    fn bytes_count_the_same_four_at_once_and_one_by_one() {
        let bytes: [u8; 64] = core::array::from_fn(|place| (place * 73 + 5) as u8);
        for len in 0..=bytes.len() {
            let (part, _) = bytes.split_at(len);
            let mut crc = INITIAL;
            for byte in part {
                crc = (crc >> 8) ^ divide(crc & 0xff ^ u16::from(*byte));
            }
            assert_eq!(crc16(part), !crc);
        }
    }

    #[test]
    fn each_bit_of_an_entry_counts() {
        let entry = [0x5a_u8; 64];
        let sum = crc16(&entry);
        for bit in 0..entry.len() * 8 {
            let mut changed = entry;
            if let Some(byte) = changed.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
            assert!(crc16(&changed) != sum);
        }
    }
}
