// SPDX-License-Identifier: GPL-2.0
//! The device's side of the bus: DMA and interrupts, both only as bus master.

use std::cell::Cell;

use serde::Serialize;

use crate::host::{GuestMemory, IrqSink};
use crate::rules::{Breach, Rule};

/// Bytes of a block in which data lands in order.
const POLLED_BLOCK: u64 = 128;

/// What the device did by itself, but for answers to register reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Activity {
    pub dma_reads: u64,
    pub dma_writes: u64,
    pub interrupts: u64,
}

/// Guest memory and interrupts behind the bus master bit and the address width.
pub(crate) struct Bus<M, I> {
    memory: M,
    irq: I,
    pub master: bool,
    activity: Cell<Activity>,
}

impl<M: GuestMemory, I: IrqSink> Bus<M, I> {
    pub fn new(memory: M, irq: I) -> Self {
        Self {
            memory,
            irq,
            master: false,
            activity: Cell::default(),
        }
    }

    /// What the device did since the last call.
    pub fn take_activity(&self) -> Activity {
        self.activity.take()
    }

    fn note(&self, what: impl FnOnce(&mut Activity)) {
        let mut activity = self.activity.get();
        what(&mut activity);
        self.activity.set(activity);
    }

    /// Fills `buf` from `address`; `width` is the device's address width in bits.
    pub fn read(&self, width: u8, address: u64, buf: &mut [u8]) -> Result<(), Breach> {
        self.check(width, address, buf.len() as u64)?;
        self.note(|activity| activity.dma_reads += 1);
        self.memory
            .read(address, buf)
            .map_err(|error| Breach::new(Rule::DmaFault, format!("read: {error}")))
    }

    /// Fills `buf` from `address` for somebody who looks at the memory; this is no DMA. Whether
    /// there is memory.
    pub fn look(&self, address: u64, buf: &mut [u8]) -> bool {
        self.memory.read(address, buf).is_ok()
    }

    /// Writes `data` to `address`.
    pub fn write(&self, width: u8, address: u64, data: &[u8]) -> Result<(), Breach> {
        self.note(|activity| activity.dma_writes += 1);
        self.answer(width, address, data)
    }

    /// Writes the answer to a register read, which the driver waits for.
    pub fn answer(&self, width: u8, address: u64, data: &[u8]) -> Result<(), Breach> {
        self.check(width, address, data.len() as u64)?;
        self.memory
            .write(address, data)
            .map_err(|error| Breach::new(Rule::DmaFault, format!("write: {error}")))
    }

    /// Writes a queue entry so that the guest never sees its phase bit, which
    /// is in the first 8 bytes, before the rest.
    pub fn write_entry(&self, width: u8, address: u64, entry: &[u8]) -> Result<(), Breach> {
        let (head, rest) = entry.split_at(entry.len().min(8));
        self.write(width, address.wrapping_add(8), rest)?;
        self.write(width, address, head)
    }

    /// Writes `data` to `address` so that the guest sees no end of an aligned
    /// block of 128 bytes before the rest of the block: data polling.
    pub fn write_in_order(&self, width: u8, address: u64, data: &[u8]) -> Result<(), Breach> {
        self.check(width, address, data.len() as u64)?;
        let mut address = address;
        let mut rest = data;
        while !rest.is_empty() {
            let to_end = POLLED_BLOCK - address % POLLED_BLOCK;
            // Its last 8 bytes are a store of their own.
            let len = if to_end > 8 { to_end - 8 } else { to_end };
            let (now, later) = rest.split_at(rest.len().min(len as usize));
            self.write(width, address, now)?;
            address = address.wrapping_add(now.len() as u64);
            rest = later;
        }
        Ok(())
    }

    /// Sends the message of `vector`; whether it was sent.
    pub fn raise(&self, vector: u16) -> bool {
        if self.master {
            self.note(|activity| activity.interrupts += 1);
            self.irq.raise(vector);
        }
        self.master
    }

    /// Whether `len` bytes at `address` are within what the device may address now.
    pub fn check(&self, width: u8, address: u64, len: u64) -> Result<(), Breach> {
        if !self.master {
            let text = format!("DMA of {len} bytes at {address:#x} while not bus master");
            return Err(Breach::new(Rule::BusMasterOff, text));
        }
        let end = u128::from(address) + u128::from(len);
        if end > 1 << u32::from(width) {
            let text = format!("{len} bytes at {address:#x} do not fit {width} bits");
            return Err(Breach::new(Rule::DmaAddressWidth, text));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::DmaError;
    use std::cell::RefCell;

    /// Notes the writes that it gets.
    #[derive(Default)]
    struct Writes(RefCell<Vec<(u64, Vec<u8>)>>);

    impl GuestMemory for &Writes {
        fn read(&self, iova: u64, buf: &mut [u8]) -> Result<(), DmaError> {
            let len = buf.len();
            Err(DmaError { iova, len })
        }

        fn write(&self, iova: u64, buf: &[u8]) -> Result<(), DmaError> {
            self.0.borrow_mut().push((iova, buf.to_vec()));
            Ok(())
        }
    }

    struct NoIrq;

    impl IrqSink for NoIrq {
        fn raise(&self, _vector: u16) {}
    }

    #[test]
    fn the_end_of_a_polled_block_is_written_after_the_rest_of_it() {
        for (start, len) in [(0, 400), (0x1005, 300), (127, 2), (120, 8), (64, 0)] {
            let writes = Writes::default();
            let mut bus = Bus::new(&writes, NoIrq);
            bus.master = true;
            let data: Vec<u8> = (0..len).map(|i| i as u8).collect();
            bus.write_in_order(48, start, &data).unwrap();
            let writes = writes.0.into_inner();
            let mut next = start;
            for (address, bytes) in &writes {
                assert_eq!(*address, next, "not in order");
                next += bytes.len() as u64;
                // A write that holds a block's end holds no more than 8 bytes of it.
                let end = next.next_multiple_of(POLLED_BLOCK);
                assert!(
                    next < end || bytes.len() <= 8,
                    "{address:#x}: {}",
                    bytes.len()
                );
            }
            let written: Vec<u8> = writes.into_iter().flat_map(|(_, bytes)| bytes).collect();
            assert_eq!(written, data);
        }
    }
}
