// SPDX-License-Identifier: GPL-2.0

//! Types that travel between the driver and its device as plain bytes.
//!
//! [`wire!`](crate::wire!) declares them: `repr(C)` structures without padding, whose every bit
//! pattern is valid, and named constants. The macro is the only thing a file of layouts needs
//! besides `core`, so that the same file can be compiled outside the kernel with a `wire!` of the
//! includer's own (one that lists sizes and offsets, say).

/// A structure that may be copied to and from device memory byte by byte.
///
/// Implemented by [`wire!`](crate::wire!) only.
pub trait Wire:
    zerocopy::FromBytes
    + zerocopy::IntoBytes
    + zerocopy::Immutable
    + kernel::transmute::AsBytes
    + kernel::transmute::FromBytes
    + Copy
    + Send
    + Sync
    + 'static
{
}

/// Declares structures that a device reads or writes, or constants of its interface.
///
/// The fields of a structure must leave no padding; this is checked at build time. A structure is
/// `Copy`, all-zeroes is a valid value of it, and it implements [`Wire`](crate::wire::Wire).
///
/// # Examples
///
/// ```ignore
/// rdma::wire! {
///     /// An address, least significant word first.
///     pub(crate) struct Address {
///         /// Bits 31:0.
///         pub(crate) low: u32,
///         /// Bits 63:32.
///         pub(crate) high: u32,
///     }
/// }
///
/// rdma::wire! {
///     /// The one valid address type.
///     pub(crate) const ADDRESS_TYPE: u8 = 1;
/// }
/// ```
#[macro_export]
macro_rules! wire {
    ($(
        $(#[$attr:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_attr:meta])* $field_vis:vis $field:ident: $ty:ty,)*
        }
    )+) => {$(
        $(#[$attr])*
        #[derive(
            Clone,
            Copy,
            ::zerocopy_derive::FromBytes,
            ::zerocopy_derive::IntoBytes,
            ::zerocopy_derive::Immutable,
        )]
        #[repr(C)]
        $vis struct $name {
            $($(#[$field_attr])* $field_vis $field: $ty,)*
        }

        const _: () = {
            let mut end = 0;
            $(
                assert!(::core::mem::offset_of!($name, $field) == end, "padding in a wire type");
                end += ::core::mem::size_of::<$ty>();
            )*
            assert!(::core::mem::size_of::<$name>() == end, "padding in a wire type");
        };

        // SAFETY: The type derives `zerocopy::IntoBytes` and `Immutable`: no byte of it is
        // uninitialised and it has no interior mutability.
        unsafe impl ::kernel::transmute::AsBytes for $name {}

        // SAFETY: The type derives `zerocopy::FromBytes` and `Immutable`: each bit pattern is
        // valid and it has no interior mutability.
        unsafe impl ::kernel::transmute::FromBytes for $name {}

        impl $crate::wire::Wire for $name {}
    )+};

    ($($(#[$attr:meta])* $vis:vis const $name:ident: $ty:ty = $value:expr;)+) => {
        $($(#[$attr])* $vis const $name: $ty = $value;)+
    };
}
