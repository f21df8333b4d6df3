// SPDX-License-Identifier: GPL-2.0

//! Tests: lists at the boundaries of their forms, read back as the device reads them.

use super::*;

/// What the first page address is; each next page is 4 KiB further.
const FIRST_PAGE: u64 = 0x12_3456_7000;

/// Pages that one chunk reaches.
const CHUNK_REACH: usize = 261_120;

fn page(index: usize) -> u64 {
    FIRST_PAGE + index as u64 * 4096
}

/// Memory whose piece number N is at address (N + 1) * 2^32.
struct TestMemory {
    pieces: KVVec<KVVec<u8>>,
    /// Longer pieces are not to be had.
    largest: usize,
}

impl TestMemory {
    fn new(largest: usize) -> Self {
        Self {
            pieces: KVVec::new(),
            largest,
        }
    }

    /// What the device reads at a buffer, which must be a whole piece.
    fn read(&self, buffer: Buffer) -> Result<&[u8]> {
        let number = (buffer.address >> 32).checked_sub(1).ok_or(EFAULT)?;
        let piece = self.pieces.get(number as usize).ok_or(EFAULT)?;
        if buffer.address & 0xffff_ffff != 0 || piece.len() != buffer.length as usize {
            return Err(EFAULT);
        }
        Ok(piece)
    }
}

impl Memory for TestMemory {
    fn add(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result) -> Result<u64> {
        if len > self.largest {
            return Err(ENOMEM);
        }
        let mut piece = KVVec::from_elem(0xff, len, GFP_KERNEL)?;
        fill(&mut piece)?;
        self.pieces.push(piece, GFP_KERNEL)?;
        Ok((self.pieces.len() as u64) << 32)
    }

    fn try_add(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result) -> Result<u64> {
        self.add(len, fill)
    }
}

/// The little endian number in the first bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Checks that `list` has the pages from `from` on; returns how many.
fn check_addresses(list: &[u8], from: usize) -> Result<usize> {
    if list.len() % 8 != 0 {
        return Err(EINVAL);
    }
    for (index, address) in list.chunks_exact(8).enumerate() {
        if number(address) != page(from + index) {
            return Err(EINVAL);
        }
    }
    Ok(list.len() / 8)
}

/// Walks chunks as the device does; returns the length of each, and the number of pages.
fn walk(memory: &TestMemory, first: Buffer, count: usize) -> Result<(KVVec<u32>, usize)> {
    let mut lengths = KVVec::new();
    let mut pages = 0;
    let mut chunk = first;
    while chunk.length != 0 {
        lengths.push(chunk.length, GFP_KERNEL)?;
        let bytes = memory.read(chunk)?;
        let (list, record) = bytes
            .split_at_checked(bytes.len().checked_sub(12).ok_or(EINVAL)?)
            .ok_or(EINVAL)?;
        for address in list.chunks_exact(8) {
            let here = (count - pages).min(512);
            let buffer = Buffer {
                address: number(address),
                length: here as u32 * 8,
            };
            pages += check_addresses(memory.read(buffer)?, pages)?;
        }
        let (length, address) = record.split_at_checked(4).ok_or(EINVAL)?;
        chunk = Buffer {
            length: number(length) as u32,
            address: number(address),
        };
    }
    Ok((lengths, pages))
}

/// Makes a list of what `addresses` has; it fails where these are too few.
fn build_from(
    addresses: &mut impl Iterator<Item = u64>,
    count: usize,
    indirect: bool,
    memory: &mut TestMemory,
) -> Result<PageList> {
    let fill = |list: &mut [u8]| {
        for place in list.chunks_exact_mut(ADDRESS_SIZE) {
            place.copy_from_slice(&addresses.next().ok_or(EINVAL)?.to_le_bytes());
        }
        Ok(())
    };
    build(fill, count, indirect, memory)
}

fn build_list(count: usize, indirect: bool, memory: &mut TestMemory) -> Result<PageList> {
    build_from(&mut (0..count).map(page), count, indirect, memory)
}

#[kernel::macros::kunit_tests(efa_page_list)]
mod cases {
    use super::*;

    #[test]
    fn up_to_four_pages_are_in_the_command() -> Result {
        for count in 1..=4 {
            let mut memory = TestMemory::new(usize::MAX);
            let PageList::Inline(list) = build_list(count, false, &mut memory)? else {
                return Err(EINVAL);
            };
            assert!(memory.pieces.is_empty());
            for (index, address) in list.into_iter().enumerate() {
                assert_eq!(address, if index < count { page(index) } else { 0 });
            }
        }
        Ok(())
    }

    #[test]
    fn more_pages_are_in_one_piece() -> Result {
        for count in [5, 512, 513, CHUNK_REACH, CHUNK_REACH + 1] {
            let mut memory = TestMemory::new(usize::MAX);
            let PageList::Direct(list) = build_list(count, false, &mut memory)? else {
                return Err(EINVAL);
            };
            assert_eq!(memory.pieces.len(), 1);
            assert_eq!(check_addresses(memory.read(list)?, 0), Ok(count));
        }
        Ok(())
    }

    #[test]
    fn an_indirect_list_is_found_by_walking_its_chunks() -> Result {
        // The number of pages, and the lengths of the chunks: 8 bytes for each list page and 12
        // for what comes next.
        let cases: [(usize, &[u32]); 10] = [
            (1, &[20]),
            (4, &[20]),
            (5, &[20]),
            (512, &[20]),
            (513, &[28]),
            (CHUNK_REACH - 512, &[4084]),
            (CHUNK_REACH - 1, &[4092]),
            (CHUNK_REACH, &[4092]),
            (CHUNK_REACH + 1, &[4092, 20]),
            (2 * CHUNK_REACH + 513, &[4092, 4092, 28]),
        ];
        for (count, chunks) in cases {
            let mut memory = TestMemory::new(4096);
            let PageList::Indirect(first) = build_list(count, true, &mut memory)? else {
                return Err(EINVAL);
            };
            let (lengths, pages) = walk(&memory, first, count)?;
            assert_eq!(pages, count);
            assert!(&*lengths == chunks);
            assert_eq!(memory.pieces.len(), count.div_ceil(512) + chunks.len());
        }
        Ok(())
    }

    #[test]
    fn a_list_is_indirect_where_there_is_no_large_piece() -> Result {
        for count in [513, CHUNK_REACH + 1] {
            let mut memory = TestMemory::new(4096);
            let PageList::Indirect(first) = build_list(count, false, &mut memory)? else {
                return Err(EINVAL);
            };
            assert_eq!(walk(&memory, first, count)?.1, count);
        }
        Ok(())
    }

    #[test]
    fn a_piece_too_large_for_any_allocator_is_not_asked_for() -> Result {
        let most = (4 << 20) / 8;
        for (count, direct) in [(most, true), (most + 1, false)] {
            let mut memory = TestMemory::new(usize::MAX);
            let list = build_list(count, false, &mut memory)?;
            assert_eq!(matches!(list, PageList::Direct(_)), direct);
        }
        Ok(())
    }

    #[test]
    fn addresses_that_are_missing_are_an_error_in_each_form() {
        for (count, indirect) in [(4, false), (5, false), (513, true)] {
            let mut memory = TestMemory::new(usize::MAX);
            let mut addresses = (0..count - 1).map(page);
            let list = build_from(&mut addresses, count, indirect, &mut memory);
            assert!(matches!(list, Err(EINVAL)));
        }
    }

    #[test]
    fn no_memory_is_an_error() {
        for count in [5, 513] {
            let mut memory = TestMemory::new(0);
            assert!(matches!(build_list(count, false, &mut memory), Err(ENOMEM)));
        }
    }
}
