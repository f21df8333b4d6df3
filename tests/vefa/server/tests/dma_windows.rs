// SPDX-License-Identifier: GPL-2.0
//! Which memory a client can give to the device, and how it takes it away.

mod common;

use common::*;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
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
