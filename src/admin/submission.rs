// SPDX-License-Identifier: GPL-2.0

//! The ring of submission entries, in the two forms it has had.

use super::{
    crc::crc16,
    reset::ApiVersion,
    ring::Cursor,
    slots::DEPTH, //
};
use crate::hw::admin::*;
use core::mem::offset_of;
use kernel::{
    device::{
        Bound,
        Device, //
    },
    dma::Coherent,
    io::{
        io_project,
        Io, //
    },
    prelude::*,
    transmute, //
};
use rdma::dma::{
    DmaGeneration,
    Lent,
    UntilReset, //
};
use zerocopy::Immutable;

/// The largest payload of a command that fits in both forms, in bytes.
pub(crate) const MAX_PAYLOAD: usize = size_of::<AdminAqEntry>() - size_of::<AdminAqCommonDesc>();

/// A submission entry of either form.
pub(crate) trait Entry:
    FromBytes + IntoBytes + Immutable + transmute::AsBytes + transmute::FromBytes
{
    /// Makes an entry of zeroes one with this header and payload, which is at most [`MAX_PAYLOAD`]
    /// long.
    fn fill(&mut self, header: AdminAqCommonDesc, payload: &[u8]);
}

/// Copies a payload to the start of an entry's words.
fn copy(words: &mut [u32], payload: &[u8]) {
    if let Some((start, _)) = words.as_mut_bytes().split_at_mut_checked(payload.len()) {
        start.copy_from_slice(payload);
    }
}

impl Entry for AdminAqEntry {
    fn fill(&mut self, header: AdminAqCommonDesc, payload: &[u8]) {
        self.aq_common_descriptor = header;
        copy(&mut self.request_payload, payload);
    }
}

impl Entry for AdminAqEntryV2 {
    fn fill(&mut self, header: AdminAqCommonDesc, payload: &[u8]) {
        self.aq_common_descriptor.common = header;
        copy(&mut self.request_payload, payload);
        let used = offset_of!(Self, request_payload).saturating_add(payload.len());
        self.aq_common_descriptor.checksum = crc16(self, used);
    }
}

enum Ring {
    Short(Lent<Coherent<[AdminAqEntry]>, UntilReset>),
    Long(Lent<Coherent<[AdminAqEntryV2]>, UntilReset>),
}

/// The producer of the submission queue.
pub(crate) struct Submissions {
    ring: Ring,
    cursor: Cursor,
}

impl Submissions {
    /// Allocates the ring in the form that the device understands.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: no DMA memory.
    pub(crate) fn new(
        dev: &Device<Bound>,
        version: ApiVersion,
        dma: &DmaGeneration,
    ) -> Result<Self> {
        let depth = DEPTH.into();
        let ring = if version.has_long_entries() {
            let entries = Coherent::zeroed_slice(dev, depth, GFP_KERNEL)?;
            Ring::Long(Lent::new(entries, dma))
        } else {
            let entries = Coherent::zeroed_slice(dev, depth, GFP_KERNEL)?;
            Ring::Short(Lent::new(entries, dma))
        };
        Ok(Self {
            ring,
            cursor: Cursor::new(DEPTH),
        })
    }

    /// Where the ring is.
    pub(crate) fn dma_address(&self) -> u64 {
        match &self.ring {
            Ring::Short(ring) => ring.dma_address(),
            Ring::Long(ring) => ring.dma_address(),
        }
    }

    /// Size of an entry in bytes.
    pub(crate) fn entry_size(&self) -> u16 {
        // CAST: 64 or 128.
        match &self.ring {
            Ring::Short(_) => size_of::<AdminAqEntry>() as u16,
            Ring::Long(_) => size_of::<AdminAqEntryV2>() as u16,
        }
    }

    /// Entries written so far, as the doorbell wants it.
    pub(crate) fn count(&self) -> u16 {
        // CAST: The doorbell counts modulo 2^16.
        self.cursor.count() as u16
    }

    /// Writes the next entry. The doorbell must follow.
    ///
    /// # Errors
    ///
    /// None in practice: the position is always in the ring.
    pub(crate) fn push(&mut self, id: u16, opcode: u8, flags: u8, payload: &[u8]) -> Result {
        let phase = if self.cursor.phase() {
            ADMIN_AQ_COMMON_DESC_PHASE_MASK
        } else {
            0
        };
        let header = AdminAqCommonDesc {
            command_id: id,
            opcode,
            flags: flags | phase,
        };
        match &self.ring {
            Ring::Short(ring) => write(ring, self.cursor, header, payload)?,
            Ring::Long(ring) => write(ring, self.cursor, header, payload)?,
        }
        self.cursor.advance();
        Ok(())
    }
}

fn write<E: Entry>(
    ring: &Coherent<[E]>,
    at: Cursor,
    header: AdminAqCommonDesc,
    payload: &[u8],
) -> Result {
    let mut entry = E::new_zeroed();
    entry.fill(header, payload);
    io_project!(ring, [try: at.index()]).copy_write(entry);
    Ok(())
}

#[kernel::macros::kunit_tests(efa_admin_submission)]
mod tests {
    use super::*;

    const HEADER: AdminAqCommonDesc = AdminAqCommonDesc {
        command_id: 0x0123,
        opcode: 5,
        flags: 1,
    };

    fn filled<E: Entry>(payload: &[u8]) -> E {
        let mut entry = E::new_zeroed();
        entry.fill(HEADER, payload);
        entry
    }

    #[test]
    fn a_short_entry_is_header_and_payload() {
        let entry = filled::<AdminAqEntry>(&[1, 2, 3, 4, 5]);
        let mut expected = [0_u8; 64];
        for (to, from) in expected.iter_mut().zip([0x23, 0x01, 5, 1, 1, 2, 3, 4, 5]) {
            *to = from;
        }
        assert!(entry.as_bytes() == expected);
    }

    #[test]
    fn a_long_entry_has_its_payload_at_12_and_a_checksum_over_all() {
        let entry = filled::<AdminAqEntryV2>(&[1, 2, 3, 4, 5]);
        let mut expected = [0_u8; 128];
        for (to, from) in expected
            .iter_mut()
            .zip([0x23, 0x01, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5])
        {
            *to = from;
        }
        let checksum = crc16(&expected, expected.len());
        assert_eq!(entry.aq_common_descriptor.checksum, checksum);
        for (to, from) in expected.iter_mut().skip(4).zip(checksum.to_le_bytes()) {
            *to = from;
        }
        assert!(entry.as_bytes() == expected);
    }

    #[test]
    fn the_largest_payload_fits_in_both_forms() {
        let payload = [0xff_u8; MAX_PAYLOAD];
        let short = filled::<AdminAqEntry>(&payload);
        assert!(short.as_bytes().ends_with(&payload));
        let long = filled::<AdminAqEntryV2>(&payload);
        assert_eq!(
            long.as_bytes()
                .iter()
                .skip(12)
                .filter(|b| **b == 0xff)
                .count(),
            MAX_PAYLOAD
        );
    }
}
