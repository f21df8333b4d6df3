// SPDX-License-Identifier: GPL-2.0
//! The driver's layouts, registers and constants are those of the C headers.
//!
//! The driver's own files are compiled here, with host-side stand-ins for the
//! two macros that they declare with: these list what is declared.

extern crate self as kernel;
extern crate self as rdma;

#[path = "../../../src/hw/admin.rs"]
#[allow(dead_code, reason = "only the declarations are looked at")]
mod admin;
#[path = "../../../src/hw/aenq.rs"]
#[allow(dead_code, reason = "only the declarations are looked at")]
mod aenq;
#[path = "../../../src/hw/cq.rs"]
#[allow(dead_code, reason = "only the declarations are looked at")]
mod cq;
#[path = "../../../src/hw/event_counter.rs"]
#[allow(dead_code, reason = "only the declarations are looked at")]
mod event_counter;
#[path = "../../../src/hw/mr.rs"]
#[allow(dead_code, reason = "only the declarations are looked at")]
mod mr;
#[path = "../../../src/hw/qp.rs"]
#[allow(dead_code, reason = "only the declarations are looked at")]
mod qp;
#[path = "../../../src/hw/regs.rs"]
#[allow(dead_code, reason = "only the declarations are looked at")]
mod regs;
#[path = "../../../src/hw/stats.rs"]
#[allow(dead_code, reason = "only the declarations are looked at")]
mod stats;
#[path = "../../../src/uapi.rs"]
#[allow(dead_code, reason = "only the declarations are looked at")]
mod uapi;

/// Where the kernel crate has its register macro.
pub mod io {
    pub use crate::register;
}

use efa_layout::{differences, Claim};

/// A struct that the driver declares.
struct Declared {
    name: &'static str,
    size: usize,
    /// Name, offset, size.
    fields: &'static [(&'static str, usize, usize)],
}

/// A constant that the driver declares.
struct Constant {
    name: &'static str,
    value: u64,
}

/// A register that the driver declares.
struct Register {
    name: &'static str,
    offset: u64,
    /// Name, high bit, low bit.
    fields: &'static [(&'static str, u32, u32)],
}

inventory::collect!(Declared);
inventory::collect!(Constant);
inventory::collect!(Register);

/// Stand-in for the `rdma` crate's macro.
#[macro_export]
macro_rules! wire {
    ($(
        $(#[$attr:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_attr:meta])* $field_vis:vis $field:ident: $ty:ty,)*
        }
    )+) => {$(
        $(#[$attr])*
        #[repr(C)]
        $vis struct $name {
            $($(#[$field_attr])* $field_vis $field: $ty,)*
        }

        inventory::submit! {
            $crate::Declared {
                name: stringify!($name),
                size: size_of::<$name>(),
                fields: &[$((
                    stringify!($field),
                    std::mem::offset_of!($name, $field),
                    size_of::<$ty>(),
                )),*],
            }
        }
    )+};

    ($($(#[$attr:meta])* $vis:vis const $name:ident: $ty:ty = $value:expr;)+) => {$(
        $(#[$attr])*
        $vis const $name: $ty = $value;

        inventory::submit! {
            $crate::Constant {
                name: stringify!($name),
                value: $name as u64,
            }
        }
    )+};
}

/// Stand-in for the kernel crate's macro.
#[macro_export]
macro_rules! register {
    ($(
        $(#[$attr:meta])*
        $vis:vis $name:ident($ty:ty) @ $offset:literal {
            $($(#[$field_attr:meta])* $high:literal:$low:literal $field:ident $(=> $as:ty)?;)*
        }
    )+) => {$(
        inventory::submit! {
            $crate::Register {
                name: stringify!($name),
                offset: $offset,
                fields: &[$((stringify!($field), $high, $low)),*],
            }
        }
    )+};
}

/// The C name of a struct: `AdminCreateAhCmd` is `efa_admin_create_ah_cmd`.
fn c_struct(name: &str) -> String {
    let mut c_name = "efa".to_owned();
    let mut previous = ' ';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() || (letter.is_ascii_digit() && previous.is_ascii_lowercase())
        {
            c_name.push('_');
        }
        c_name.push(letter.to_ascii_lowercase());
        previous = letter;
    }
    c_name
}

#[test]
fn structs_are_laid_out_as_in_c() {
    let mut claims = Vec::new();
    for declared in inventory::iter::<Declared>() {
        let name = c_struct(declared.name);
        claims.push(Claim::size(&name, declared.size));
        for (field, offset, size) in declared.fields {
            // A field whose C name is a word of Rust.
            let field = field.trim_start_matches("r#");
            claims.push(Claim::offset(&name, field, *offset));
            claims.push(Claim::member_size(&name, field, *size));
        }
    }
    let differences = differences("driver-structs", &claims);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn constants_have_their_c_values() {
    let claims: Vec<_> = inventory::iter::<Constant>()
        .map(|constant| Claim::value(format!("EFA_{}", constant.name), constant.value))
        .collect();
    let differences = differences("driver-constants", &claims);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn registers_have_their_c_offsets() {
    let claims: Vec<_> = inventory::iter::<Register>()
        .map(|register| {
            let name = format!("EFA_REGS_{}_OFF", register.name);
            Claim::macro_value(&name, register.offset)
        })
        .collect();
    let differences = differences("driver-registers", &claims);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Fields that are a whole register or counter, for which C has no mask.
const FIELDS_WITHOUT_MASK: [&str; 3] = ["addr", "producer", "consumer"];

#[test]
fn register_fields_have_their_c_masks() {
    let mut claims = Vec::new();
    for register in inventory::iter::<Register>() {
        for (field, high, low) in register.fields {
            if !FIELDS_WITHOUT_MASK.contains(field) {
                let name = format!("EFA_REGS_{}_{}_MASK", register.name, field.to_uppercase());
                let mask = (u64::MAX >> (63 - high)) & (u64::MAX << low);
                claims.push(Claim::macro_value(&name, mask));
            }
        }
    }
    let differences = differences("driver-fields", &claims);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn struct_names_become_c_names() {
    assert_eq!(c_struct("AdminAqEntryV2"), "efa_admin_aq_entry_v2");
    assert_eq!(
        c_struct("AdminFeatureQueueAttrDesc1"),
        "efa_admin_feature_queue_attr_desc_1"
    );
}
