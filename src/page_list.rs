// SPDX-License-Identifier: GPL-2.0

//! Page lists: how the device is told where the memory of a region is.
//!
//! A list has a page address (8 bytes, least significant first) for each page, in one of three
//! forms:
//!
//! ```text
//! inline     up to 4 addresses in the command itself
//!
//! direct     the command --> [ address, address, ... ]                  one piece of memory
//!
//! indirect   the command --> chunk: [ list page, ... 510 of them, | next chunk: length, address ]
//!                                       |                              |
//!                                       v                              v
//!                            [ 512 addresses ]        chunk: [ list page, ..., | no next chunk ]
//! ```
//!
//! A list page and a chunk have 4 KiB, whatever the kernel's page size. All list pages but the
//! last are full, and all chunks but the last. The record of the next chunk comes right after the
//! last list page's address; the length of a chunk counts it, also where it is zero. So one chunk
//! reaches 510 * 512 pages.
//!
//! Direct lists need large pieces of memory, which a machine that is up for long may not have;
//! indirect ones never need more than 4 KiB at once. A large piece is taken where one is free, and
//! not waited for.

pub(crate) mod dma;

use kernel::prelude::*;

/// Page addresses that fit in a command.
pub(crate) const INLINE_PAGES: usize = 4;

/// Bytes of a list page, and of a full chunk.
const LIST_PAGE_SIZE: usize = 4096;

/// Bytes of an address.
const ADDRESS_SIZE: usize = size_of::<u64>();

/// Addresses in a list page.
const PAGES_PER_LIST_PAGE: usize = LIST_PAGE_SIZE / ADDRESS_SIZE;

/// Bytes of the record of the next chunk: its length (4 bytes), then its address.
const NEXT_CHUNK_SIZE: usize = size_of::<u32>() + ADDRESS_SIZE;

/// List pages that a chunk can name.
const LIST_PAGES_PER_CHUNK: usize = (LIST_PAGE_SIZE - NEXT_CHUNK_SIZE) / ADDRESS_SIZE;

/// The longest direct list in bytes that is tried: what page allocators have in one piece.
const MAX_DIRECT_SIZE: usize = 4 << 20;

/// Memory that the device can read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Buffer {
    /// Where it is for the device.
    pub(crate) address: u64,
    /// Its length in bytes.
    pub(crate) length: u32,
}

/// A page list as a command has it.
pub(crate) enum PageList {
    /// The addresses, and zeroes after them.
    Inline([u64; INLINE_PAGES]),
    /// Where the addresses are.
    Direct(Buffer),
    /// Where the first chunk is.
    Indirect(Buffer),
}

/// How a person sees it.
impl kernel::fmt::Display for PageList {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        f.write_str(match self {
            Self::Inline(_) => "inline",
            Self::Direct(_) => "direct",
            Self::Indirect(_) => "indirect",
        })
    }
}

/// What keeps the memory of lists.
pub(crate) trait Memory {
    /// Adds `len` bytes that `fill` writes; returns where they are for the device.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no piece of this length. What `fill` fails with.
    fn add(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result) -> Result<u64>;

    /// The same, where a failure is expected and another way is known: of memory that is free now.
    fn try_add(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result) -> Result<u64>;
}

/// Makes the list of `count` pages; what is not in the result is in `memory`.
///
/// `fill` fills what it is given with the next addresses.
///
/// # Errors
///
/// - `ENOMEM`: there is no memory.
/// - `EINVAL`: there are so many pages that no command can tell it. What `fill` fails with.
pub(crate) fn build(
    mut fill: impl FnMut(&mut [u8]) -> Result,
    count: usize,
    force_indirect: bool,
    memory: &mut impl Memory,
) -> Result<PageList> {
    if count <= INLINE_PAGES && !force_indirect {
        let mut list = [0; INLINE_PAGES];
        for place in list.iter_mut().take(count) {
            let mut address = [0; ADDRESS_SIZE];
            fill(&mut address)?;
            *place = u64::from_le_bytes(address);
        }
        return Ok(PageList::Inline(list));
    }
    let size = count.checked_mul(ADDRESS_SIZE).ok_or(EINVAL)?;
    // No address is taken where there is no memory.
    if size <= MAX_DIRECT_SIZE && !force_indirect {
        match memory.try_add(size, &mut fill) {
            Ok(address) => {
                let length = size.try_into()?;
                return Ok(PageList::Direct(Buffer { address, length }));
            }
            Err(ENOMEM) => {}
            Err(error) => return Err(error),
        }
    }
    let list_pages = list_pages(fill, count, memory)?;
    chunks(&list_pages, memory).map(PageList::Indirect)
}

/// Makes the list pages; returns their addresses.
fn list_pages(
    mut fill: impl FnMut(&mut [u8]) -> Result,
    count: usize,
    memory: &mut impl Memory,
) -> Result<KVVec<u64>> {
    let mut list_pages = KVVec::with_capacity(count.div_ceil(PAGES_PER_LIST_PAGE), GFP_KERNEL)?;
    let mut left = count;
    while left != 0 {
        let here = left.min(PAGES_PER_LIST_PAGE);
        left -= here;
        let address = memory.add(here * ADDRESS_SIZE, &mut fill)?;
        list_pages.push(address, GFP_KERNEL)?;
    }
    Ok(list_pages)
}

/// Makes the chunks, the last one first: each has to know the next one. Returns the first.
fn chunks(list_pages: &[u64], memory: &mut impl Memory) -> Result<Buffer> {
    let mut next = Buffer {
        address: 0,
        length: 0,
    };
    for named in list_pages.chunks(LIST_PAGES_PER_CHUNK).rev() {
        let named_size = size_of_val(named);
        let size = named_size + NEXT_CHUNK_SIZE;
        let address = memory.add(size, |bytes| {
            let (list, record) = bytes.split_at_mut_checked(named_size).ok_or(EINVAL)?;
            for (place, address) in list.chunks_exact_mut(ADDRESS_SIZE).zip(named) {
                place.copy_from_slice(&address.to_le_bytes());
            }
            let (length, address) = record
                .split_at_mut_checked(size_of::<u32>())
                .ok_or(EINVAL)?;
            length.copy_from_slice(&next.length.to_le_bytes());
            address.copy_from_slice(&next.address.to_le_bytes());
            Ok(())
        })?;
        next = Buffer {
            address,
            length: size.try_into()?,
        };
    }
    Ok(next)
}

#[cfg(CONFIG_KUNIT = "y")]
mod tests;
