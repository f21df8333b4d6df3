// SPDX-License-Identifier: GPL-2.0
//! Which memory a client can give to the device, and how it takes it away.

mod common;

use common::*;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::os::fd::{AsFd, AsRawFd};
use vefa_model::Config;
use vefa_server::vfio_user::Command;

#[test]
fn dma_windows_may_not_overlap() {
    let server = start(Config::default());
    let mut client = server.client();
    let memory = guest_memory(0x10000);
    let fd = [memory.as_fd()];
    client.ok_with(
        Command::DmaMap,
        &dma_map(READ | WRITE, 0, 0x4000, 0x4000),
        &fd,
    );
    for (iova, size) in [
        (0x4000, 0x4000),
        (0x3000, 0x2000),
        (0x7000, 0x1000),
        (0, 0x10000),
    ] {
        let errno = client.errno(Command::DmaMap, &dma_map(READ, 0, iova, size), &fd);
        assert_eq!(errno, Errno::EXIST.raw_os_error(), "{iova:#x} {size:#x}");
    }
    client.ok_with(Command::DmaMap, &dma_map(READ, 0, 0x8000, 0x1000), &fd);
    client.ok_with(Command::DmaMap, &dma_map(READ, 0, 0x3000, 0x1000), &fd);
    server.stop();
}

#[test]
fn a_dma_window_that_cannot_be_is_refused() {
    let server = start(Config::default());
    let mut client = server.client();
    let memory = guest_memory(0x2000);
    let two = [memory.as_fd(), memory.as_fd()];
    let (stream, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let refused = [
        (dma_map(READ, 0, 0, 0), &two[..1]),
        (dma_map(READ, 0, u64::MAX, 2), &two[..1]),
        (dma_map(READ, 0x1000, 0, 0x2000), &two[..1]),
        (dma_map(READ, u64::MAX, 0, 0x1000), &two[..1]),
        (dma_map(READ, 1, 0, 0x1000), &two[..1]),
        (dma_map(READ, 0, 0, 0x1000), &two),
        (dma_map(READ, 0, 0, 0x1000), &[stream.as_fd()]),
        (dma_map(8, 0, 0, 0x1000), &two[..1]),
    ];
    for (payload, fds) in refused {
        let errno = client.errno(Command::DmaMap, &payload, fds);
        assert_eq!(errno, Errno::INVAL.raw_os_error(), "{payload:?}");
    }
    server.stop();
}

#[test]
fn memory_that_the_device_reaches_cannot_be_shortened() {
    let server = start(Config::default());
    let mut client = server.client();
    let sealable = guest_memory(0x1000);
    let window = dma_map(READ | WRITE, 0, 0, 0x1000);
    client.ok_with(Command::DmaMap, &window, &[sealable.as_fd()]);
    assert_eq!(rustix::fs::ftruncate(&sealable, 0), Err(Errno::PERM));

    let unsealable = rustix::fs::memfd_create("guest", MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&unsealable, 0x1000).unwrap();
    let on_disk = tempfile::tempfile().unwrap();
    on_disk.set_len(0x1000).unwrap();
    for refused in [unsealable.as_fd(), on_disk.as_fd()] {
        let window = dma_map(READ | WRITE, 0, 0x1000, 0x1000);
        let errno = client.errno(Command::DmaMap, &window, &[refused]);
        assert_eq!(errno, Errno::PERM.raw_os_error());
    }
    server.stop();
}

#[test]
fn sealed_memory_may_come_by_a_descriptor_that_cannot_write() {
    let server = start(Config::default());
    let memory = guest_memory(0x1000);
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    let read_only = std::fs::File::open(path).unwrap();
    let window = dma_map(READ, 0, 0, 0x1000);
    let mut client = server.client();
    let errno = client.errno(Command::DmaMap, &window, &[read_only.as_fd()]);
    assert_eq!(errno, Errno::PERM.raw_os_error(), "not sealed");
    rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK).unwrap();
    client.ok_with(Command::DmaMap, &window, &[read_only.as_fd()]);
    server.stop();
}

#[test]
fn a_dma_window_without_an_fd_is_accepted_and_remembered() {
    let server = start(Config::default());
    let mut client = server.client();
    client.ok(Command::DmaMap, &dma_map(READ, 0, 0xfe00_0000, 0x1000));
    let errno = client.errno(Command::DmaMap, &dma_map(READ, 0, 0xfe00_0000, 0x1000), &[]);
    assert_eq!(errno, Errno::EXIST.raw_os_error());
    client.ok(Command::DmaUnmap, &dma_unmap(0, 0xfe00_0000, 0x1000));
    client.ok(Command::DmaMap, &dma_map(READ, 0, 0xfe00_0000, 0x1000));
    server.stop();
}

#[test]
fn an_unmap_closes_what_is_within_and_cuts_nothing() {
    let server = start(Config::default());
    let mut client = server.client();
    client.ok(Command::DmaMap, &dma_map(READ, 0, 0x1000, 0x1000));
    client.ok(Command::DmaMap, &dma_map(READ, 0, 0x2000, 0x1000));
    client.ok(Command::DmaMap, &dma_map(READ, 0, 0x3000, 0x2000));
    let errno = client.errno(Command::DmaUnmap, &dma_unmap(0, 0x1000, 0x3000), &[]);
    assert_eq!(errno, Errno::INVAL.raw_os_error());
    let request = dma_unmap(0, 0, 0x3000);
    assert_eq!(client.ok(Command::DmaUnmap, &request), request);
    client.ok(Command::DmaMap, &dma_map(READ, 0, 0x1000, 0x2000));
    client.ok(Command::DmaUnmap, &dma_unmap(2, 0, 0));
    client.ok(Command::DmaMap, &dma_map(READ, 0, 0, 0x10000));
    server.stop();
}

#[test]
fn an_unmap_of_what_was_never_mapped_succeeds() {
    let server = start(Config::default());
    server
        .client()
        .ok(Command::DmaUnmap, &dma_unmap(0, 0x1000, 0x1000));
    server.stop();
}

/// With an IOMMU in the guest each page of memory is a window, and its descriptor comes with it.
#[test]
fn there_may_be_more_windows_than_file_descriptors() {
    const PAGE: u64 = 0x1000;
    const LIMIT: u64 = 512;
    const PAGES: u64 = 3 * LIMIT;
    let limit = Rlimit {
        current: Some(LIMIT),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    let server = start(Config::default());
    let mut client = server.client();
    let memory = guest_memory(PAGE * PAGES);
    for page in 0..PAGES {
        let window = dma_map(READ | WRITE, page * PAGE, page * 2 * PAGE, PAGE);
        client.ok_with(Command::DmaMap, &window, &[memory.as_fd()]);
    }
    let status = server.control().request(r#"{"op":"status"}"#);
    assert_eq!(status["dma_windows"], PAGES);
    server.stop();
}

#[test]
fn a_file_that_has_grown_can_be_mapped_beyond_its_first_length() {
    let server = start(Config::default());
    let mut client = server.client();
    let memory = guest_memory(0x1000);
    let first = dma_map(READ | WRITE, 0, 0, 0x1000);
    client.ok_with(Command::DmaMap, &first, &[memory.as_fd()]);
    let second = dma_map(READ | WRITE, 0x1000, 0x1000, 0x1000);
    let errno = client.errno(Command::DmaMap, &second, &[memory.as_fd()]);
    assert_eq!(errno, Errno::INVAL.raw_os_error());
    rustix::fs::ftruncate(&memory, 0x2000).unwrap();
    client.ok_with(Command::DmaMap, &second, &[memory.as_fd()]);
    server.stop();
}
