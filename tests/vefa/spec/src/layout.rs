// SPDX-License-Identifier: GPL-2.0
//! How a wire layout is declared: one table of (offset, field, type) makes the
//! struct, its decoder, its encoder, and the description that tests compare
//! with the C headers.

/// One field of a [`Layout`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The field's name in the C struct, with `.` for a member of a member.
    pub name: &'static str,
    /// Offset in bytes from the start of the struct.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

/// The description of one wire layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The C struct's name, without `struct`.
    pub name: &'static str,
    /// Size in bytes.
    pub size: usize,
    /// All fields, in the order of their offsets.
    pub fields: &'static [Field],
}

impl Layout {
    /// Whether the fields follow each other without overlap and fit the size.
    pub const fn is_ordered(&self) -> bool {
        let mut end = 0;
        let mut i = 0;
        while i < self.fields.len() {
            if self.fields[i].offset < end {
                return false;
            }
            end = self.fields[i].offset + self.fields[i].size;
            i += 1;
        }
        end <= self.size
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The first reserved field that is not zero in `bytes`.
    pub fn nonzero_reserved(&self, bytes: &[u8]) -> Option<&'static Field> {
        self.fields.iter().find(|field| {
            field.name.starts_with("reserved")
                && bytes
                    .iter()
                    .skip(field.offset)
                    .take(field.size)
                    .any(|byte| *byte != 0)
        })
    }
}

/// A value with a fixed little-endian form.
pub trait Wire: Sized {
    /// Size of that form in bytes.
    const SIZE: usize;

    /// The value whose encoded form is all zero.
    fn zero() -> Self;

    /// Decodes the value at `offset`; `None` where `bytes` ends before it does.
    fn get(bytes: &[u8], offset: usize) -> Option<Self>;

    /// Encodes the value at `offset`; bytes beyond the end of `out` are dropped.
    fn put(&self, out: &mut [u8], offset: usize);
}

macro_rules! wire_int {
    ($($int:ty),+) => {$(
        impl Wire for $int {
            const SIZE: usize = size_of::<$int>();

            fn zero() -> Self {
                0
            }

            fn get(bytes: &[u8], offset: usize) -> Option<Self> {
                let bytes = bytes.get(offset..)?.first_chunk()?;
                Some(Self::from_le_bytes(*bytes))
            }

            fn put(&self, out: &mut [u8], offset: usize) {
                for (to, from) in out.iter_mut().skip(offset).zip(self.to_le_bytes()) {
                    *to = from;
                }
            }
        }
    )+};
}

wire_int!(u8, u16, u32, u64);

impl<T: Wire + Copy, const N: usize> Wire for [T; N] {
    const SIZE: usize = T::SIZE * N;

    fn zero() -> Self {
        [T::zero(); N]
    }

    fn get(bytes: &[u8], offset: usize) -> Option<Self> {
        let mut values = Self::zero();
        for (i, value) in values.iter_mut().enumerate() {
            *value = T::get(bytes, offset + i * T::SIZE)?;
        }
        Some(values)
    }

    fn put(&self, out: &mut [u8], offset: usize) {
        for (i, value) in self.iter().enumerate() {
            value.put(out, offset + i * T::SIZE);
        }
    }
}

/// Declares a wire layout:
///
/// ```text
/// layout! {
///     /// What it is.
///     Name = "c_struct_name", SIZE {
///         offset => field: type,
///         offset => other: type as "c.name",
///     }
/// }
/// ```
macro_rules! layout {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $c_name:literal) => { $c_name };
    ($(
        $(#[$doc:meta])*
        $name:ident = $c_struct:literal, $size:literal {
            $( $(#[$field_doc:meta])* $offset:literal => $field:ident : $ty:ty $(as $c_name:literal)? ),+ $(,)?
        }
    )+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $name {
                $( $(#[$field_doc])* pub $field: $ty ),+
            }

            impl $name {
                /// The layout's description.
                pub const LAYOUT: $crate::layout::Layout = $crate::layout::Layout {
                    name: $c_struct,
                    size: $size,
                    fields: &[$( $crate::layout::Field {
                        name: layout!(@name $field $($c_name)?),
                        offset: $offset,
                        size: <$ty as $crate::layout::Wire>::SIZE,
                    } ),+],
                };

                /// Decodes the start of `bytes`; `None` where they are too short.
                pub fn parse(bytes: &[u8]) -> Option<Self> {
                    <Self as $crate::layout::Wire>::get(bytes, 0)
                }

                /// The encoded form.
                pub fn encode(&self) -> [u8; $size] {
                    let mut out = [0; $size];
                    <Self as $crate::layout::Wire>::put(self, &mut out, 0);
                    out
                }
            }

            impl Default for $name {
                fn default() -> Self {
                    <Self as $crate::layout::Wire>::zero()
                }
            }

            impl $crate::layout::Wire for $name {
                const SIZE: usize = $size;

                fn zero() -> Self {
                    Self {
                        $( $field: <$ty as $crate::layout::Wire>::zero() ),+
                    }
                }

                fn get(bytes: &[u8], offset: usize) -> Option<Self> {
                    Some(Self {
                        $( $field: <$ty as $crate::layout::Wire>::get(bytes, offset + $offset)? ),+
                    })
                }

                fn put(&self, out: &mut [u8], offset: usize) {
                    $( $crate::layout::Wire::put(&self.$field, out, offset + $offset); )+
                }
            }

            const _: () = assert!(
                $name::LAYOUT.is_ordered(),
                concat!($c_struct, ": fields overlap, or reach beyond the end"),
            );
        )+

        /// The layouts of this module.
        pub const LAYOUTS: &[&$crate::layout::Layout] = &[$( &$name::LAYOUT ),+];
    };
}
pub(crate) use layout;
