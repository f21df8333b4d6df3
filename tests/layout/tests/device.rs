// SPDX-License-Identifier: GPL-2.0
//! The virtual device's layouts and constants are those of the C headers.

use std::collections::BTreeSet;

use efa_layout::{device_constants, device_structs, differences, Claim};
use vefa_spec::{
    commands, constants, entries, features, io, io_constants, layouts, regs, stats, Layout,
};

fn check_layouts(group: &str, layouts: &[&Layout]) {
    let mut claims = Vec::new();
    for layout in layouts {
        claims.push(Claim::size(layout.name, layout.size));
        for field in layout.fields {
            claims.push(Claim::offset(layout.name, field.name, field.offset));
            claims.push(Claim::member_size(layout.name, field.name, field.size));
        }
    }
    let differences = differences(group, &claims);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn check_constants(group: &str, table: &[(&str, u64)]) {
    let claims: Vec<_> = table
        .iter()
        .map(|(name, value)| Claim::value(*name, *value))
        .collect();
    let differences = differences(group, &claims);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn entries_are_laid_out_as_in_c() {
    check_layouts("entries", entries::LAYOUTS);
}

#[test]
fn commands_are_laid_out_as_in_c() {
    check_layouts("commands", commands::LAYOUTS);
}

#[test]
fn features_are_laid_out_as_in_c() {
    check_layouts("features", features::LAYOUTS);
}

#[test]
fn statistics_are_laid_out_as_in_c() {
    check_layouts("stats", stats::LAYOUTS);
}

#[test]
fn work_requests_and_completions_are_laid_out_as_in_c() {
    check_layouts("io", io::LAYOUTS);
}

#[test]
fn data_path_constants_have_their_c_values() {
    check_constants("io", io_constants::TABLE);
}

#[test]
fn admin_constants_have_their_c_values() {
    check_constants("admin", constants::TABLE);
    check_constants("common", constants::common::TABLE);
}

#[test]
fn registers_have_their_c_offsets_and_masks() {
    check_constants("regs", regs::TABLE);
}

#[test]
fn no_struct_of_the_headers_is_missing() {
    let ours: BTreeSet<_> = layouts()
        .iter()
        .map(|layout| layout.name.to_owned())
        .collect();
    assert_eq!(ours, device_structs());
}

#[test]
fn no_constant_of_the_headers_is_missing() {
    let ours: BTreeSet<_> = vefa_spec::constants()
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    // A shift repeats what its mask says.
    let theirs = device_constants().into_iter();
    let theirs: BTreeSet<_> = theirs.filter(|name| !name.ends_with("_SHIFT")).collect();
    let missing: Vec<_> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn no_byte_of_a_struct_is_without_a_field() {
    for layout in layouts() {
        let covered: usize = layout.fields.iter().map(|field| field.size).sum();
        assert_eq!(covered, layout.size, "{}", layout.name);
    }
}

#[test]
fn a_wrong_claim_is_found() {
    let claims = [
        Claim::size("efa_common_mem_addr", 9),
        Claim::offset("efa_common_mem_addr", "mem_addr_high", 4),
        Claim::macro_value("EFA_REGS_NO_SUCH_OFF", 4),
    ];
    let found = differences("wrong", &claims);
    assert_eq!(
        found,
        [
            "sizeof(struct efa_common_mem_addr) is 8 in C and 9 in Rust",
            "EFA_REGS_NO_SUCH_OFF is not there in C and 4 in Rust"
        ]
    );
}
