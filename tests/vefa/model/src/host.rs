// SPDX-License-Identifier: GPL-2.0
//! What the device needs from its host: memory it can reach, its own LLQ
//! memory, and interrupts.

/// An access to guest memory that could not be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no guest memory for {len} bytes at {iova:#x}")]
pub struct DmaError {
    /// Bus address of the access.
    pub iova: u64,
    /// Its length in bytes.
    pub len: usize,
}

/// Guest memory as the device sees it, by bus address.
pub trait GuestMemory {
    /// Fills `buf` from `iova`.
    ///
    /// # Errors
    /// Where any byte is not mapped, or must not be read; `buf` is then unspecified.
    fn read(&self, iova: u64, buf: &mut [u8]) -> Result<(), DmaError>;

    /// Writes `buf` to `iova`. Eight aligned bytes must reach the guest as one
    /// store: they hold the phase bit, or the request id, that a driver polls.
    ///
    /// # Errors
    /// Where any byte is not mapped, or must not be written.
    fn write(&self, iova: u64, buf: &[u8]) -> Result<(), DmaError>;
}

/// The LLQ memory of BAR 2, into which the guest writes work requests without
/// the device taking notice.
pub trait LlqMemory {
    /// Fills `buf` from `offset` in the BAR; with zeroes beyond the end of it.
    fn read(&self, offset: u64, buf: &mut [u8]);
}

/// Where the device's MSI-X messages go.
pub trait IrqSink {
    /// Sends the message of `vector`.
    fn raise(&self, vector: u16);
}
