// SPDX-License-Identifier: GPL-2.0

//! Tracepoints that a driver defines in C, as safe functions.
//!
//! A `TRACE_EVENT()` is C: its macros describe the record, and how it reads as text, to the tools of
//! the kernel. [`tracepoints!`](crate::tracepoints!) makes the other half: a function that costs a
//! patched branch while nobody listens, and calls what the C file defines (under
//! `CREATE_RUST_TRACE_POINTS`) when somebody does. The kernel crate's `declare_trace!` does that for
//! tracepoints of the kernel only, and unsafely.
//!
//! C header: `include/linux/tracepoint.h`

use crate::attr::Gid;
use kernel::{
    device::{
        Device,
        DeviceContext, //
    },
    ffi::c_void,
    time::{
        Instant,
        Monotonic, //
    }, //
};

/// What a tracepoint can be given: something that C takes by value, or a pointer that is valid
/// during the call.
pub trait Argument {
    /// What C gets.
    #[doc(hidden)]
    type Raw;

    #[doc(hidden)]
    fn raw(&self) -> Self::Raw;
}

macro_rules! scalars {
    ($($type:ty)*) => {
        $(
            impl Argument for $type {
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
impl<Ctx: DeviceContext> Argument for &Device<Ctx> {
    type Raw = *const c_void;

    #[inline(always)]
    fn raw(&self) -> *const c_void {
        crate::pci::dev_as_raw(self).cast_const().cast()
    }
}

/// A `const u8 *` to 16 bytes.
impl Argument for &Gid {
    type Raw = *const u8;

    #[inline(always)]
    fn raw(&self) -> *const u8 {
        self.0.as_ptr()
    }
}

/// A `u64`: how long ago it was, in nanoseconds. The clock is read only where somebody listens.
impl Argument for Instant<Monotonic> {
    type Raw = u64;

    #[inline(always)]
    fn raw(&self) -> u64 {
        self.elapsed().as_nanos().try_into().unwrap_or(0)
    }
}

/// The same for a start that is known only where somebody listened then; else 0.
impl Argument for Option<Instant<Monotonic>> {
    type Raw = u64;

    #[inline(always)]
    fn raw(&self) -> u64 {
        self.as_ref().map_or(0, Argument::raw)
    }
}

/// Declares the tracepoints of a C file of the driver as safe functions of the same names.
///
/// The arguments must be those of the tracepoint's `TP_PROTO()`, each in the form that
/// [`Argument`](crate::tracepoint::Argument) gives it, and the tracepoint must not keep pointers.
///
/// Arguments are evaluated before it is known whether somebody listens: they should be at hand.
///
/// # Examples
///
/// ```ignore
/// rdma::tracepoints! {
///     /// The device was given a command.
///     pub(crate) fn my_driver_submit(dev: &Device, opcode: u8);
/// }
/// ```
#[macro_export]
macro_rules! tracepoints {
    ($(
        $(#[$attr:meta])*
        $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?);
    )*) => {
        $(
            $(#[$attr])*
            #[inline(always)]
            $vis fn $name($($arg: $type),*) {
                #[cfg(CONFIG_TRACEPOINTS)]
                ::kernel::macros::paste! {
                    extern "C" {
                        fn [<rust_do_trace_ $name>](
                            $($arg: <$type as $crate::tracepoint::Argument>::Raw),*
                        );
                    }
                    if $crate::is_traced!($name) {
                        // SAFETY: By the contract of the macro C takes these arguments, and uses
                        // pointers during the call only, for which their referents are borrowed.
                        unsafe {
                            [<rust_do_trace_ $name>](
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
        )*
    };
}

/// Whether somebody listens to a tracepoint that [`tracepoints!`](crate::tracepoints!) declares: for
/// what only a listener needs. False where the kernel has no tracepoints.
#[macro_export]
macro_rules! is_traced {
    ($name:ident) => {{
        #[cfg(CONFIG_TRACEPOINTS)]
        let is_on = ::kernel::macros::paste! {{
            extern "C" {
                static [<__tracepoint_ $name>]: ::kernel::bindings::tracepoint;
            }
            // SAFETY: The key is that of a tracepoint, which C defines.
            unsafe {
                ::kernel::jump_label::static_branch_unlikely!(
                    [<__tracepoint_ $name>],
                    ::kernel::bindings::tracepoint,
                    key
                )
            }
        }};
        #[cfg(not(CONFIG_TRACEPOINTS))]
        let is_on = false;
        is_on
    }};
}
