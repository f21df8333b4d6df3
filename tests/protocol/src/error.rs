// SPDX-License-Identifier: GPL-2.0

//! The kernel's errors, those that are needed.

/// An errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(i32);

pub const ENOENT: Error = Error(2);
pub const EIO: Error = Error(5);
pub const EAGAIN: Error = Error(11);
pub const ENOMEM: Error = Error(12);
pub const EBUSY: Error = Error(16);
pub const EINVAL: Error = Error(22);

pub type Result<T = (), E = Error> = core::result::Result<T, E>;

impl From<core::convert::Infallible> for Error {
    fn from(never: core::convert::Infallible) -> Self {
        match never {}
    }
}

impl Error {
    /// The negative number that C functions return.
    pub fn to_errno(self) -> i32 {
        -self.0
    }
}

/// Takes a C function's result.
pub fn to_result(errno: i32) -> Result {
    match errno {
        0.. => Ok(()),
        errno => Err(Error(-errno)),
    }
}

/// Takes a C function's pointer. The functions here never return an error in one.
pub fn from_err_ptr<T>(pointer: *mut T) -> Result<*mut T> {
    Ok(pointer)
}
