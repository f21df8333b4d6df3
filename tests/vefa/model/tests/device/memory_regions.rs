// SPDX-License-Identifier: GPL-2.0
//! MRs: keys, lists of pages in their three forms, and what is wrong with them.

use serde_json::json;
use vefa_model::names::{Capability, Status};
use vefa_model::rules::Rule;
use vefa_model::{Config, GuestMemory};
use vefa_spec::commands::RegMrCmd;
use vefa_spec::entries::CtrlBuffInfo;

use crate::driver::{versions, Driver, BUFFER, MEMORY_BASE};
use crate::verbs::{address, mr_command, DIRECT, INDIRECT};

/// Where tests put lists of pages.
const LIST: u64 = MEMORY_BASE + 0x10_0000;
/// Where they put chunks.
const CHUNKS: u64 = MEMORY_BASE + 0x9_0000;
const ILLEGAL: Status = Status::IllegalParameter;

/// An MR of whole pages, at the start of one.
fn pages_command(pd: u16, pages: u64) -> RegMrCmd {
    RegMrCmd {
        mr_length: pages * 4096,
        ..mr_command(pd)
    }
}

/// Lays out an indirect list whose pages are all BUFFER; returns the first
/// chunk's length.
fn write_indirect(driver: &mut Driver, pages: usize) -> u32 {
    driver.write_list(LIST, &vec![BUFFER; pages]);
    let list_pages: Vec<u64> = (0..pages.div_ceil(512) as u64)
        .map(|page| LIST + page * 4096)
        .collect();
    let chunks: Vec<_> = list_pages.chunks(510).collect();
    let length = |chunk: &[u64]| chunk.len() as u32 * 8 + 12;
    for (i, chunk) in chunks.iter().enumerate() {
        let at = CHUNKS + i as u64 * 4096;
        driver.write_list(at, chunk);
        let next = chunks
            .get(i + 1)
            .map_or(CtrlBuffInfo::default(), |next| CtrlBuffInfo {
                length: length(next),
                address: address(at + 4096),
            });
        let at = at + chunk.len() as u64 * 8;
        driver.memory.write(at, &next.encode()).unwrap();
    }
    length(chunks[0])
}

#[test]
fn regions_come_and_go_in_every_version() {
    for config in versions() {
        let mut driver = Driver::up(config);
        let pd = driver.alloc_pd().unwrap();
        let mr = driver.reg_mr(&mr_command(pd)).unwrap();
        assert_ne!(mr.l_key, mr.r_key);
        assert_eq!(mr.validity, 7);
        let ids = (mr.recv_ic_id, mr.rdma_read_ic_id, mr.rdma_recv_ic_id);
        assert_eq!(ids, (1, 2, 3));
        assert_eq!(driver.live("mr"), 1);
        assert_eq!(driver.dealloc_pd(pd), Err(Status::ResourceBusy));
        assert_eq!(driver.broken(), [Rule::PdBusy]);
        driver.dereg_mr(mr.l_key).unwrap();
        assert_eq!(driver.dereg_mr(mr.l_key), Err(ILLEGAL));
        assert_eq!(driver.broken(), [Rule::MrUnknown]);
        driver.dealloc_pd(pd).unwrap();
        assert!(driver.model.leaks().is_empty());
    }
}

#[test]
fn interconnects_that_are_not_known_are_not_valid() {
    let mut driver = Driver::default_up();
    driver.control(json!({"op": "set", "recv_ic_id": null, "rdma_recv_ic_id": 9}));
    let pd = driver.alloc_pd().unwrap();
    let mr = driver.reg_mr(&mr_command(pd)).unwrap();
    assert_eq!((mr.validity, mr.recv_ic_id, mr.rdma_recv_ic_id), (6, 0, 9));
}

#[test]
fn a_list_in_the_command_has_up_to_four_pages() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    for pages in 1..=4 {
        let command = RegMrCmd {
            inline_pbl_array: [BUFFER; 4],
            ..pages_command(pd, pages)
        };
        driver.reg_mr(&command).unwrap();
    }
    // Four pages' bytes that start inside a page need a fifth.
    let command = RegMrCmd {
        inline_pbl_array: [BUFFER; 4],
        iova: 0x7f00_0000_0001,
        ..pages_command(pd, 4)
    };
    assert_eq!(driver.broken(), []);
    assert_eq!(driver.reg_mr(&command), Err(ILLEGAL));
    assert_eq!(driver.broken(), [Rule::MrPageList]);
}

#[test]
fn a_direct_list_has_eight_bytes_for_each_page() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    driver.write_list(LIST, &[BUFFER; 513]);
    for pages in [1, 4, 5, 512, 513] {
        let command = pages_command(pd, pages);
        let length = pages as u32 * 8;
        driver
            .reg_mr_by_list(DIRECT, length, LIST, &command)
            .unwrap();
        assert_eq!(driver.broken(), []);
        for wrong in [length - 8, length + 8, 0, u32::MAX] {
            let outcome = driver.reg_mr_by_list(DIRECT, wrong, LIST, &command);
            assert_eq!(outcome, Err(ILLEGAL));
            assert_eq!(driver.broken(), [Rule::MrPageList]);
        }
    }
    let outcome = driver.reg_mr_by_list(DIRECT, 40, 0x10, &pages_command(pd, 5));
    assert_eq!(
        (outcome, driver.broken()),
        (Err(ILLEGAL), vec![Rule::DmaFault])
    );
}

#[test]
fn an_indirect_list_is_followed_to_its_end() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    for pages in [1, 512, 513, 261_120, 261_121] {
        let length = write_indirect(&mut driver, pages);
        let command = pages_command(pd, pages as u64);
        driver
            .reg_mr_by_list(INDIRECT, length, CHUNKS, &command)
            .unwrap();
        assert_eq!(driver.broken(), [], "{pages}");
    }
    let detail = driver.control(json!({"op": "objects", "detail": true}));
    let last = detail["detail"].as_array().unwrap().last().unwrap();
    assert_eq!(last["pages"], 261_121);
}

#[test]
fn a_wrong_indirect_list_is_refused_wherever_it_is_wrong() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let pages = 261_121;
    let command = pages_command(pd, pages as u64);
    let next_chunk = CHUNKS + 510 * 8;
    let last_page = LIST + 261_120 * 8;
    let cases = [
        (next_chunk, 0_u64, Rule::MrPageList),
        (next_chunk + 4, 0x10, Rule::DmaFault),
        (CHUNKS + 8, LIST + 8, Rule::MrPageAddress),
        (CHUNKS + 4096, 0x1000, Rule::DmaFault),
        (last_page, BUFFER + 8, Rule::MrPageAddress),
        (last_page, 0x1000, Rule::DmaFault),
        (last_page, 1 << 60, Rule::DmaAddressWidth),
    ];
    for (at, wrong, rule) in cases {
        let length = write_indirect(&mut driver, pages);
        driver.memory.write(at, &wrong.to_le_bytes()).unwrap();
        let outcome = driver.reg_mr_by_list(INDIRECT, length, CHUNKS, &command);
        assert_eq!(outcome, Err(ILLEGAL), "{at:#x}");
        assert_eq!(driver.broken(), [rule], "{at:#x}");
    }
    let length = write_indirect(&mut driver, pages);
    let outcome = driver.reg_mr_by_list(INDIRECT, length - 8, CHUNKS, &command);
    assert_eq!(
        (outcome, driver.broken()),
        (Err(ILLEGAL), vec![Rule::MrPageList])
    );
    let outcome = driver.reg_mr_by_list(4, length, CHUNKS, &command);
    let malformed = Err(Status::MalformedRequest);
    assert_eq!(
        (outcome, driver.broken()),
        (malformed, vec![Rule::MrPageList])
    );
    assert_eq!(driver.live("mr"), 0);
}

#[test]
fn larger_pages_need_fewer_entries_and_their_whole_length() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    // One page of 64 KiB; its second half ends where the guest's memory does.
    let end = MEMORY_BASE + 0x40_0000;
    let command = RegMrCmd {
        inline_pbl_array: [end - 0x1_0000, 0, 0, 0],
        mr_length: 0x8000,
        flags: 16,
        iova: 0x7f00_0000_8000,
        ..mr_command(pd)
    };
    driver.reg_mr(&command).unwrap();
    assert_eq!(driver.broken(), []);
    let beyond = RegMrCmd {
        inline_pbl_array: [end, 0, 0, 0],
        ..command
    };
    // A page of 8 MiB that ends beyond the memory, which has 4 MiB.
    let half = RegMrCmd {
        inline_pbl_array: [0, 0, 0, 0],
        mr_length: end - MEMORY_BASE + 1,
        flags: 23,
        iova: 0x7f00_0000_0000 + MEMORY_BASE,
        ..command
    };
    for command in [beyond, half] {
        assert_eq!(driver.reg_mr(&command), Err(ILLEGAL));
    }
    assert_eq!(driver.broken(), [Rule::DmaFault, Rule::DmaFault]);
}

#[test]
fn a_page_size_that_the_device_lacks_is_refused() {
    let mut driver = Driver::up(Config {
        page_size_cap: (1 << 12) | (1 << 33),
        ..Config::default()
    });
    let pd = driver.alloc_pd().unwrap();
    for shift in [0, 11, 13, 32, 63] {
        let command = RegMrCmd {
            flags: shift,
            ..mr_command(pd)
        };
        assert_eq!(driver.reg_mr(&command), Err(ILLEGAL));
        assert_eq!(driver.broken(), [Rule::MrPageSize]);
    }
    let command = RegMrCmd {
        flags: 33,
        inline_pbl_array: [0; 4],
        iova: MEMORY_BASE,
        ..mr_command(pd)
    };
    driver.reg_mr(&command).unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn impossible_regions_are_refused() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let good = mr_command(pd);
    let cases = [
        (RegMrCmd { pd: pd + 1, ..good }, Rule::PdUnknown),
        (
            RegMrCmd {
                mr_length: 0,
                ..good
            },
            Rule::MrLength,
        ),
        (
            RegMrCmd {
                page_num: 2,
                ..good
            },
            Rule::MrPageList,
        ),
        (
            RegMrCmd {
                flags: 12 | 0x80,
                ..good
            },
            Rule::MrPhysical,
        ),
    ];
    for (command, rule) in cases {
        assert_eq!(driver.reg_mr(&command), Err(ILLEGAL));
        assert_eq!(driver.broken(), [rule]);
    }
    for command in [
        RegMrCmd {
            flags: 12 | 0x40,
            ..good
        },
        RegMrCmd {
            permissions: 8,
            ..good
        },
        RegMrCmd {
            reserved16_w1: 1,
            ..good
        },
        RegMrCmd {
            reserved16_w5: 1,
            ..good
        },
    ] {
        assert_eq!(driver.reg_mr(&command), Err(Status::MalformedRequest));
        assert_eq!(driver.broken(), [Rule::CommandReserved]);
    }
    driver
        .reg_mr(&RegMrCmd {
            page_num: 1,
            ..good
        })
        .unwrap();
}

#[test]
fn what_a_program_chooses_is_refused_without_a_violation() {
    let mut driver = Driver::up(Config {
        max_mr: 1,
        max_mr_pages: 4,
        ..Config::default()
    });
    let pd = driver.alloc_pd().unwrap();
    let wraps = RegMrCmd {
        iova: u64::MAX - 0x10,
        ..mr_command(pd)
    };
    assert_eq!(driver.reg_mr(&wraps), Err(ILLEGAL));
    let exhausted = Err(Status::ResourceAllocationFailure);
    assert_eq!(driver.reg_mr(&pages_command(pd, 5)), exhausted);
    driver.reg_mr(&mr_command(pd)).unwrap();
    assert_eq!(driver.reg_mr(&mr_command(pd)), exhausted);
    assert_eq!(driver.broken(), []);
}

#[test]
fn remote_access_needs_its_capability() {
    let mut driver = Driver::up(Config {
        caps: Some(vec![Capability::RdmaWrite]),
        ..Config::default()
    });
    let pd = driver.alloc_pd().unwrap();
    for (permissions, allowed) in [(1, true), (3, true), (4, false)] {
        let command = RegMrCmd {
            permissions,
            ..mr_command(pd)
        };
        assert_eq!(driver.reg_mr(&command).is_ok(), allowed);
    }
    assert_eq!(driver.broken(), [Rule::CapabilityAbsent]);
}
