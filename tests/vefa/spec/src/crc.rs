// SPDX-License-Identifier: GPL-2.0
//! The checksum of admin entries: CRC-16 with polynomial 0x8005 (bit-reversed:
//! 0xA001), initial value 0xFFFF, inverted at the end.

const POLYNOMIAL: u16 = 0xa001;
const INITIAL: u16 = 0xffff;

/// What each value of the low byte does to the checksum.
const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < table.len() {
        let mut crc = i as u16;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

/// The checksum of `entry` with the two bytes at `checksum_offset` taken as zero.
pub fn checksum(entry: &[u8], checksum_offset: usize) -> u16 {
    let own = checksum_offset..checksum_offset.saturating_add(2);
    let crc = entry.iter().enumerate().fold(INITIAL, |crc, (i, byte)| {
        let byte = if own.contains(&i) { 0 } else { *byte };
        (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)]
    });
    crc ^ INITIAL
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of this CRC-16 variant (known as CRC-16/USB).
    #[test]
    fn crc_of_the_digits_is_the_published_check_value() {
        assert_eq!(checksum(b"123456789", 9), 0xb4c8);
    }

    #[test]
    fn crc_takes_its_own_field_as_zero() {
        let mut entry = [0x5a; 64];
        entry[4..6].fill(0);
        let expected = checksum(&entry, 4);
        entry[4..6].copy_from_slice(&expected.to_le_bytes());
        assert_eq!(checksum(&entry, 4), expected);
    }
}
