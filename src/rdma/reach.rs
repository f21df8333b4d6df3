// SPDX-License-Identifier: GPL-2.0

//! Which memory a device and processes can share.
//!
//! Both use a queue or a memory region whenever they like, and neither says when it looks. So the
//! device has to reach the memory itself: there is no moment at which somebody could copy between
//! it and a bounce buffer. Where a machine, or a place in memory, does not allow that, the types
//! here say why.

use crate::{
    bindings,
    pci::dev_as_raw, //
};
use kernel::{
    device::{
        self,
        Bound, //
    },
    fmt,
    prelude::*, //
};

/// Why a device and a process cannot share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotShared {
    /// The machine copies what the device transfers through bounce buffers.
    BounceBuffers,
    /// The device does not see what is in the caches of processors.
    NotCoherent,
    /// Some of the memory is beyond the addresses that the device has.
    OutOfReach {
        /// How many bits these have.
        bits: u32,
    },
    /// The exporter of a dma-buf gives it to none but who lets go of it at once when asked.
    OnlyRevocable,
    /// It was not allocated, pinned or mapped.
    Failed(Error),
}

impl From<Error> for NotShared {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<NotShared> for Error {
    /// What is in the way is there to stay: `EOPNOTSUPP`.
    fn from(reason: NotShared) -> Self {
        match reason {
            NotShared::Failed(error) => error,
            _ => EOPNOTSUPP,
        }
    }
}

/// What is in the way, as a part of a sentence.
impl fmt::Display for NotShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BounceBuffers => f.write_str(
                "this machine copies through bounce buffers what devices transfer \
                 (swiotlb=force, or a confidential guest)",
            ),
            Self::NotCoherent => {
                f.write_str("the device does not see what is in the processors' caches")
            }
            Self::OutOfReach { bits } => {
                write!(f, "the device has {bits} bits of address, and it is beyond")
            }
            Self::OnlyRevocable => f.write_str(
                "the dma-buf's exporter wants importers that let go when it asks (revocation), \
                 which the device does not while the region is registered",
            ),
            Self::Failed(error) => write!(f, "{error:?}"),
        }
    }
}

/// What a device reaches, on a machine on which it can share memory.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    /// The last address that the device has.
    last: u64,
    /// Whether the DMA layer maps nothing beyond by itself.
    is_enforced: bool,
}

impl Reach {
    /// What a device reaches.
    ///
    /// # Errors
    ///
    /// [`NotShared::BounceBuffers`], [`NotShared::NotCoherent`]: nothing that it could share.
    pub(crate) fn of(dev: &device::Device<Bound>) -> Result<Self, NotShared> {
        // SAFETY: The device is valid, and a bound one has limits of DMA.
        unsafe { Self::of_raw(dev_as_raw(dev)) }
    }

    /// The same of a device of which there is a pointer.
    ///
    /// # Errors
    ///
    /// See [`Reach::of`].
    ///
    /// # Safety
    ///
    /// `dev` is a valid device whose limits of DMA are set.
    pub(crate) unsafe fn of_raw(dev: *mut bindings::device) -> Result<Self, NotShared> {
        // SAFETY: The device is valid by the safety requirements, and with its limits it has got a
        // place for the mask.
        let (bounces, is_coherent, last, mapped) = unsafe {
            (
                bindings::rdma_shim_dma_bounces(dev),
                bindings::rdma_shim_dma_is_coherent(dev),
                (*dev).coherent_dma_mask,
                *(*dev).dma_mask,
            )
        };
        if bounces {
            return Err(NotShared::BounceBuffers);
        }
        if !is_coherent {
            return Err(NotShared::NotCoherent);
        }
        Ok(Self {
            last,
            is_enforced: mapped <= last,
        })
    }

    /// Whether what is mapped is in reach: then it need not be looked at.
    pub(crate) fn is_enforced(&self) -> bool {
        self.is_enforced
    }

    /// Checks that `len` bytes from the device's address `start` on are in reach.
    ///
    /// # Errors
    ///
    /// [`NotShared::OutOfReach`]: they are not.
    pub(crate) fn check(&self, start: u64, len: u64) -> Result<(), NotShared> {
        match start.checked_add(len.saturating_sub(1)) {
            Some(last) if last <= self.last => Ok(()),
            _ => Err(NotShared::OutOfReach {
                bits: u64::BITS - self.last.leading_zeros(),
            }),
        }
    }
}

#[kernel::macros::kunit_tests(rdma_reach)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_decides_what_is_in_reach() {
        let reach = Reach {
            last: u32::MAX.into(),
            is_enforced: false,
        };
        let end = 1 << 32;
        for (start, len, in_reach) in [
            (0, 1, true),
            (0, end, true),
            (end - 4096, 4096, true),
            (end - 4096, 4097, false),
            (end, 0, false),
            (end, 1, false),
            (u64::MAX, 2, false),
        ] {
            let expected = match in_reach {
                true => Ok(()),
                false => Err(NotShared::OutOfReach { bits: 32 }),
            };
            assert_eq!(reach.check(start, len), expected);
        }
    }

    #[test]
    fn what_is_in_the_way_is_not_supported() {
        for reason in [
            NotShared::BounceBuffers,
            NotShared::NotCoherent,
            NotShared::OutOfReach { bits: 32 },
            NotShared::OnlyRevocable,
        ] {
            assert_eq!(Error::from(reason), EOPNOTSUPP);
        }
        assert_eq!(Error::from(NotShared::Failed(EFAULT)), EFAULT);
    }
}
