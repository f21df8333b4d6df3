// SPDX-License-Identifier: GPL-2.0
//! Paths of listening sockets.

use std::os::unix::net::UnixListener;
use vefa_server::socket::Listener;

fn error(path: &std::path::Path) -> String {
    let error = format!("{:#}", Listener::bind(path).err().unwrap());
    assert!(error.contains(&path.display().to_string()), "{error}");
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn a_socket_nobody_listens_at_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(Listener::bind(&path).unwrap());
}

#[test]
fn a_socket_in_use_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let other = UnixListener::bind(&path).unwrap();
    other.set_nonblocking(true).unwrap();
    assert!(error(&path).contains("in use"));
    assert!(path.exists());
    let seen = other.accept().unwrap_err().kind();
    assert_eq!(
        seen,
        std::io::ErrorKind::WouldBlock,
        "the one in use saw a client"
    );
}

#[test]
fn what_is_no_socket_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, "precious").unwrap();
    assert!(error(&path).contains("not a socket"));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_path_that_cannot_be_is_named_in_the_error() {
    let dir = tempfile::tempdir().unwrap();
    error(&dir.path().join("no/such/directory"));
    error(&dir.path().join("x".repeat(200)));
}

#[test]
fn the_path_is_removed_with_the_listener_but_not_what_replaced_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    drop(Listener::bind(&path).unwrap());
    assert!(!path.exists());

    let listener = Listener::bind(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "somebody else's").unwrap();
    drop(listener);
    assert!(path.exists());
}
