// SPDX-License-Identifier: GPL-2.0
//! Listening sockets with a path.

use anyhow::{bail, Context, Result};
use rustix::io::Errno;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A listening socket that never blocks. Its path is removed when it is dropped.
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// Which file the path was when it was made.
    inode: (u64, u64),
}

impl Listener {
    /// Listens at `path`. A socket that is there already and has nobody listening is replaced.
    ///
    /// # Errors
    ///
    /// When another process listens there, something other than a socket is there, or the path cannot be
    /// used; the error names the path.
    pub fn bind(path: &Path) -> Result<Self> {
        remove_stale(path)?;
        let socket = UnixListener::bind(path)
            .with_context(|| format!("cannot listen at {}", path.display()))?;
        socket.set_nonblocking(true)?;
        Ok(Listener {
            socket,
            path: path.to_owned(),
            inode: inode(path)?,
        })
    }

    /// The next client, if one waits.
    ///
    /// # Errors
    ///
    /// That of `accept`, except those that only one client has to do with.
    pub fn accept(&self) -> std::io::Result<Option<UnixStream>> {
        match self.socket.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {
                    Ok(None)
                }
                _ => Err(error),
            },
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Not what somebody else has put there meanwhile.
        if inode(&self.path).is_ok_and(|inode| inode == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> std::io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

fn remove_stale(path: &Path) -> Result<()> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot look at {shown}")),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            bail!("{shown} exists and is not a socket")
        }
        Ok(_) => (),
    }
    // A datagram socket cannot connect to a stream socket, so that whoever listens does not notice, but why it
    // cannot tells whether there is one.
    let result = UnixDatagram::unbound().and_then(|probe| probe.connect(path));
    match result.map_err(|error| (Errno::from_io_error(&error), error)) {
        Err((Some(Errno::CONNREFUSED), _)) => {
            fs::remove_file(path).with_context(|| format!("cannot remove stale socket {shown}"))
        }
        Ok(()) | Err((Some(Errno::PROTOTYPE), _)) => {
            bail!("{shown} is in use: another process listens there")
        }
        Err((_, error)) => {
            Err(error).with_context(|| format!("cannot tell whether {shown} is in use"))
        }
    }
}
