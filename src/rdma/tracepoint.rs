// SPDX-License-Identifier: GPL-2.0

//! Tracepoints that a driver defines in C, as safe functions.
//!
//! A `TRACE_EVENT()` is C: its macros describe the record, and how it reads as text, to the tools of
//! the kernel. [`tracepoints!`](crate::tracepoints!) makes the other half: a function that costs a
//! patched branch while nobody listens, and calls what the C file defines (under
//! `CREATE_RUST_TRACE_POINTS`) when somebody does. The prototypes are those that bindgen reads from
//! the C header, so the compiler checks each call against C. The kernel crate's `declare_trace!`
//! does that for tracepoints of the kernel only, and unsafely.
//!
//! C header: `include/linux/tracepoint.h`

use crate::attr::Gid;
use kernel::{
    bindings,
    device::{
        Device,
        DeviceContext, //
    },
    prelude::*,
    time::{
        Instant,
        Monotonic, //
    }, //
};

/// What a tracepoint can be given: something that C takes by value, or a pointer that is valid
/// during the call.
///
/// # Safety
///
/// `raw` of a pointer type returns a pointer that C may read through while `self` is borrowed, as
/// much as the type points to.
pub unsafe trait Argument {
    /// What C gets. The C prototype must have exactly this type.
    #[doc(hidden)]
    type Raw;

    #[doc(hidden)]
    fn raw(&self) -> Self::Raw;
}

macro_rules! scalars {
    ($($type:ty)*) => {
        $(
            // SAFETY: Not a pointer.
            unsafe impl Argument for $type {
                type Raw = Self;

                #[inline(always)]
                fn raw(&self) -> Self {
                    *self
                }
            }
        )*
    };
}

scalars!(u8 u16 u32 u64 i32);

/// A `const struct device *`.
// SAFETY: A `Device` is a `struct device` that lives while it is borrowed.
unsafe impl<Ctx: DeviceContext> Argument for &Device<Ctx> {
    type Raw = *const bindings::device;

    #[inline(always)]
    fn raw(&self) -> Self::Raw {
        crate::pci::dev_as_raw(self).cast_const()
    }
}

/// A `const u8 (*)[16]`: the length is part of what is checked.
// SAFETY: The bytes live while they are borrowed.
unsafe impl Argument for &Gid {
    type Raw = *const [u8; 16];

    #[inline(always)]
    fn raw(&self) -> Self::Raw {
        &raw const self.0
    }
}

/// A `const char *`.
// SAFETY: The string lives while it is borrowed, and ends with a zero.
unsafe impl Argument for &CStr {
    type Raw = *const c_char;

    #[inline(always)]
    fn raw(&self) -> Self::Raw {
        self.as_char_ptr()
    }
}

/// A `u64`: how long ago it was, in nanoseconds. The clock is read only where somebody listens.
// SAFETY: Not a pointer.
unsafe impl Argument for Instant<Monotonic> {
    type Raw = u64;

    #[inline(always)]
    fn raw(&self) -> u64 {
        self.elapsed().as_nanos().try_into().unwrap_or(0)
    }
}

/// The same for a start that is known only where somebody listened then; else 0.
// SAFETY: Not a pointer.
unsafe impl Argument for Option<Instant<Monotonic>> {
    type Raw = u64;

    #[inline(always)]
    fn raw(&self) -> u64 {
        self.as_ref().map_or(0, Argument::raw)
    }
}

/// Declares the tracepoints of a C header as safe functions of the same names, and for each a
/// function `NAME_enabled`: whether somebody listens, for what only a listener needs. Where the
/// kernel has no tracepoints, nobody does.
///
/// `bindings` names the environment variable with the path of the file that bindgen made of the
/// header: the functions `rust_do_trace_NAME` and the statics `__tracepoint_NAME`. The arguments
/// are those of the tracepoint's `TP_PROTO()`, each in the form that
/// [`Argument`](crate::tracepoint::Argument) gives it. Another number or another type of arguments
/// does not compile. As of any C function that is given a pointer, it is expected of the tracepoint
/// that it writes nothing through it and does not keep it.
///
/// Arguments are evaluated before it is known whether somebody listens: they should be at hand.
///
/// # Examples
///
/// ```ignore
/// rdma::tracepoints! {
///     bindings = "MY_DRIVER_TRACEPOINTS";
///
///     /// The device was given a command.
///     pub(crate) fn my_driver_submit(dev: &Device, opcode: u8);
/// }
/// ```
#[macro_export]
macro_rules! tracepoints {
    (
        bindings = $bindings:literal;
        $(
            $(#[$attr:meta])*
            $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?);
        )*
    ) => {
        #[cfg(CONFIG_TRACEPOINTS)]
        #[allow(
            clippy::all,
            missing_docs,
            non_upper_case_globals,
            unreachable_pub,
            unused_imports,
            dead_code,
            improper_ctypes,
            reason = "generated code"
        )]
        mod tracepoint_bindings {
            use ::kernel::{bindings::*, ffi};

            include!(env!($bindings));
        }

        $(
            $(#[$attr])*
            #[inline(always)]
            $vis fn $name($($arg: $type),*) {
                #[cfg(CONFIG_TRACEPOINTS)]
                ::kernel::macros::paste! {
                    if [<$name _enabled>]() {
                        // SAFETY: The function is C's, and its prototype comes from C. `Argument`
                        // promises that its pointers are valid while what they are of is borrowed.
                        unsafe {
                            tracepoint_bindings::[<rust_do_trace_ $name>](
                                $($crate::tracepoint::Argument::raw(&$arg)),*
                            )
                        };
                    }
                }
                #[cfg(not(CONFIG_TRACEPOINTS))]
                {
                    $(let _ = $arg;)*
                }
            }

            ::kernel::macros::paste! {
                #[doc = concat!("Whether somebody listens to [`", stringify!($name), "`].")]
                #[allow(dead_code, reason = "not every tracepoint has work for a listener alone")]
                #[inline(always)]
                $vis fn [<$name _enabled>]() -> bool {
                    #[cfg(CONFIG_TRACEPOINTS)]
                    // SAFETY: The key is that of a tracepoint, which C defines.
                    unsafe {
                        ::kernel::jump_label::static_branch_unlikely!(
                            tracepoint_bindings::[<__tracepoint_ $name>],
                            ::kernel::bindings::tracepoint,
                            key
                        )
                    }
                    #[cfg(not(CONFIG_TRACEPOINTS))]
                    false
                }
            }
        )*
    };
}
