// SPDX-License-Identifier: GPL-2.0
//! The three forms in which a driver lists a region's pages.

use vefa_spec::entries::CtrlBuffInfo;
use vefa_spec::Wire;

use super::Refusal;
use crate::command::PageList;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::objects::Mr;
use crate::ring::address;
use crate::rules::Rule;
use crate::EfaModel;

/// Bytes of an address in a list.
const ADDRESS_SIZE: usize = size_of::<u64>();
/// The unit of an indirect list, whatever the driver's page size.
const LIST_PAGE_SIZE: usize = 4096;
/// Addresses in a page of the list.
const ADDRESSES_PER_PAGE: usize = LIST_PAGE_SIZE / ADDRESS_SIZE;
/// Addresses of list pages in a chunk; the next chunk's address follows.
const ADDRESSES_PER_CHUNK: usize = (LIST_PAGE_SIZE - CtrlBuffInfo::SIZE) / ADDRESS_SIZE;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// The addresses of a region's `count` pages.
    pub(super) fn page_list(&self, list: PageList, count: u32) -> Result<Vec<u64>, Refusal> {
        let count = count as usize;
        match list {
            PageList::Inline(pages) => match pages.get(..count) {
                Some(pages) => Ok(pages.to_vec()),
                None => Err(wrong(format!(
                    "{count} pages do not fit a list in the command"
                ))),
            },
            PageList::Direct { length, address } => {
                check_length("list", length, count * ADDRESS_SIZE)?;
                self.addresses(address, count)
            }
            PageList::Indirect { length, address } => self.indirect(length, address, count),
        }
    }

    /// Follows the chain of chunks.
    fn indirect(&self, length: u32, start: u64, count: usize) -> Result<Vec<u64>, Refusal> {
        let mut pages = Vec::new();
        let mut chunk = (length, start);
        loop {
            let list_pages = (count - pages.len()).div_ceil(ADDRESSES_PER_PAGE);
            let here = list_pages.min(ADDRESSES_PER_CHUNK);
            let (length, start) = chunk;
            check_length("chunk", length, here * ADDRESS_SIZE + CtrlBuffInfo::SIZE)?;
            for list_page in self.addresses(start, here)? {
                check_aligned("page of the list", list_page, LIST_PAGE_SIZE as u64)?;
                let left = (count - pages.len()).min(ADDRESSES_PER_PAGE);
                pages.extend(self.addresses(list_page, left)?);
            }
            if pages.len() == count {
                return Ok(pages);
            }
            chunk = self.next_chunk(start.wrapping_add((here * ADDRESS_SIZE) as u64))?;
        }
    }

    fn next_chunk(&self, at: u64) -> Result<(u32, u64), Refusal> {
        let mut bytes = [0; CtrlBuffInfo::SIZE];
        self.bus.read(self.config.dma_addr_width, at, &mut bytes)?;
        let next = CtrlBuffInfo::parse(&bytes).unwrap_or_default();
        Ok((next.length, address(next.address)))
    }

    /// The `count` addresses at `at`.
    fn addresses(&self, at: u64, count: usize) -> Result<Vec<u64>, Refusal> {
        let mut bytes = vec![0; count * ADDRESS_SIZE];
        self.bus.read(self.config.dma_addr_width, at, &mut bytes)?;
        let addresses = bytes.chunks_exact(ADDRESS_SIZE);
        Ok(addresses.filter_map(|bytes| u64::get(bytes, 0)).collect())
    }

    /// Every page is aligned, and the region's part of it can be reached: a
    /// device would find out only when it is used.
    pub(super) fn check_pages(&self, mr: &Mr) -> Result<(), Refusal> {
        let page_size = 1_u64 << mr.page_shift;
        for page in &mr.pages {
            check_aligned("page", *page, page_size)?;
        }
        let width = self.config.dma_addr_width;
        for (address, len) in mr.page_parts() {
            self.bus.read(width, address, &mut [0])?;
            // A bus has no smaller pages: the rest of one is there, too.
            if len > LIST_PAGE_SIZE as u64 {
                let last = address.wrapping_add(len - 1);
                self.bus.read(width, last, &mut [0])?;
            }
        }
        Ok(())
    }
}

fn check_length(what: &str, length: u32, expected: usize) -> Result<(), Refusal> {
    if length as usize == expected {
        return Ok(());
    }
    Err(wrong(format!(
        "{what} of {length} bytes instead of {expected}"
    )))
}

fn check_aligned(what: &str, address: u64, size: u64) -> Result<(), Refusal> {
    if address % size == 0 {
        return Ok(());
    }
    let text = format!("reg_mr: {what} at {address:#x} is not aligned to {size:#x}");
    Err(Refusal::illegal(Rule::MrPageAddress, text))
}

fn wrong(text: String) -> Refusal {
    Refusal::illegal(Rule::MrPageList, format!("reg_mr: {text}"))
}
