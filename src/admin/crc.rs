// SPDX-License-Identifier: GPL-2.0

//! The checksum of admin queue entries: CRC16 with polynomial 0x8005, least significant bit
//! first, initial value 0xffff, inverted at the end (also known as CRC-16/USB).
//!
//! It covers the whole entry, with the entry's own checksum field as zero.

const INITIAL: u16 = 0xffff;
/// 0x8005 with its bits reversed.
const POLYNOMIAL: u16 = 0xa001;

/// Computes the checksum of `bytes`.
pub(crate) fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = INITIAL;
    for &byte in bytes {
        crc ^= u16::from(byte);
        for _ in 0..8 {
            let carry = crc & 1 != 0;
            crc >>= 1;
            if carry {
                crc ^= POLYNOMIAL;
            }
        }
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
