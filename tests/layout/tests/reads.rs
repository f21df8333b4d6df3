// SPDX-License-Identifier: GPL-2.0
//! What the virtual device takes for read by the C driver is what that driver's source reads.

use std::collections::BTreeSet;

use efa_layout::{driver_function, driver_source, has_word};
use vefa_spec::reads::{CHECKSUM, COPIED, READS, REGISTERS};

#[test]
fn each_field_is_read_at_the_place_that_is_named() {
    for reads in READS {
        let function = driver_function(reads.file, reads.function);
        for read in reads.fields {
            assert!(
                has_word(&function, read.field),
                "{} in {} does not name {}.{}",
                reads.function,
                reads.file,
                reads.layout.name,
                read.field
            );
        }
    }
    let function = driver_function("efa_com.c", "efa_com_cqe_checksum_valid");
    assert!(has_word(&function, CHECKSUM));
}

#[test]
fn each_register_is_read_at_the_place_that_is_named() {
    for read in REGISTERS {
        let function = driver_function(read.file, read.function);
        assert!(
            has_word(&function, read.name),
            "{}: {}",
            read.function,
            read.name
        );
    }
}

#[test]
fn no_field_that_is_read_is_missing() {
    let source = driver_source();
    let listed = READS.iter().flat_map(|reads| {
        let fields = reads.fields.iter();
        fields.map(|read| (reads.layout.name, read.field))
    });
    let copied = COPIED.iter().map(|(layout, field)| (layout.name, *field));
    let known: BTreeSet<_> = listed.chain(copied).collect();
    for reads in READS {
        for field in reads.layout.fields {
            let name = field.name.rsplit('.').next().unwrap_or(field.name);
            let is_part = ["acq_common_desc", "event_data", CHECKSUM].contains(&name);
            // Other structures have reserved fields of the same name.
            let is_reserved = name.starts_with("reserved");
            assert!(
                known.contains(&(reads.layout.name, field.name))
                    || is_part
                    || is_reserved
                    || !has_word(&source, name),
                "{}.{} is in the source, and not in the table",
                reads.layout.name,
                field.name
            );
        }
    }
}

#[test]
fn a_function_is_found_by_its_definition() {
    let function = driver_function("efa_com_cmd.c", "efa_com_alloc_pd");
    assert!(
        has_word(&function, "EFA_ADMIN_ALLOC_PD") && !has_word(&function, "EFA_ADMIN_ALLOC_UAR")
    );
    assert!(!has_word("cq_idx_more", "cq_idx") && has_word("a->cq_idx;", "cq_idx"));
}
