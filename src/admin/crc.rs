// SPDX-License-Identifier: GPL-2.0

//! The checksum of admin queue entries: CRC16 with polynomial 0x8005, least significant bit
//! first, initial value 0xffff, inverted at the end (also known as CRC-16/USB).
//!
//! It covers the whole entry, with the entry's own checksum field as zero.

const INITIAL: u16 = 0xffff;
/// 0x8005 with its bits reversed.
const POLYNOMIAL: u16 = 0xa001;

/// What each byte does to a checksum.
const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = divide(byte as u16);
        byte += 1;
    }
    table
};

/// The remainder of one byte.
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
    for &byte in bytes {
        let [low, high] = crc.to_le_bytes();
        // The table has an entry for each byte there is.
        crc = u16::from(high) ^ TABLE[usize::from(low ^ byte)];
    }
    !crc
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
