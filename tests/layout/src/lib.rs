// SPDX-License-Identifier: GPL-2.0
//! Asks a C compiler what the kernel source's own efa headers say: sizes,
//! offsets and values, printed by a small program that is generated, compiled
//! and run at test time.
//!
//! The headers are found through the environment variable
//! `EFA_KERNEL_SOURCE`, the top of a kernel source tree.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// The device's headers, in an order in which they compile.
const DEVICE_HEADERS: [&str; 5] = [
    "efa_common_defs.h",
    "efa_admin_defs.h",
    "efa_admin_cmds_defs.h",
    "efa_regs_defs.h",
    "efa_io_defs.h",
];

/// Where they are in the kernel source.
const DEVICE_DIRECTORY: &str = "drivers/infiniband/hw/efa";

/// The interface to user space.
const USER_HEADER: &str = "include/uapi/rdma/efa-abi.h";

/// What the kernel's own headers would give these.
const PRELUDE: &str = "
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
#define __packed __attribute__((packed))
#define BIT(n) (1ULL << (n))
#define GENMASK(h, l) ((~0ULL >> (63 - (h))) & (~0ULL << (l)))
";

/// A C expression of integer type, and what Rust says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The expression.
    pub expression: String,
    /// The value claimed.
    pub value: u64,
    /// A macro without which the claim is void in C, and counts as wrong.
    pub needs_macro: Option<String>,
}

impl Claim {
    /// The size of a struct in bytes.
    pub fn size(name: &str, size: usize) -> Self {
        Self::value(format!("sizeof(struct {name})"), size as u64)
    }

    /// The offset of a struct's member.
    pub fn offset(name: &str, member: &str, offset: usize) -> Self {
        Self::value(format!("offsetof(struct {name}, {member})"), offset as u64)
    }

    /// The size of a struct's member.
    pub fn member_size(name: &str, member: &str, size: usize) -> Self {
        let expression = format!("sizeof(((struct {name} *)0)->{member})");
        Self::value(expression, size as u64)
    }

    /// The value of a constant.
    pub fn value(expression: impl Into<String>, value: u64) -> Self {
        Self {
            expression: expression.into(),
            value,
            needs_macro: None,
        }
    }

    /// The value of a macro, which may turn out not to exist.
    pub fn macro_value(name: &str, value: u64) -> Self {
        Self {
            needs_macro: Some(name.to_owned()),
            ..Self::value(name, value)
        }
    }
}

/// Compares claims with C, and lists what differs.
///
/// `name` tells the generated program from that of other tests.
///
/// # Panics
/// Where the headers are not there, or the program does not compile.
pub fn differences(name: &str, claims: &[Claim]) -> Vec<String> {
    assert!(!claims.is_empty(), "{name}: nothing to compare");
    let source = program(claims);
    let output = run(name, &source);
    let mut answers = output.lines();
    let mut differences = Vec::new();
    for claim in claims {
        let answer = answers.next().unwrap_or("nothing");
        if answer != claim.value.to_string() {
            differences.push(format!(
                "{} is {answer} in C and {} in Rust",
                claim.expression, claim.value
            ));
        }
    }
    differences
}

/// The names of all structs in the device's headers.
pub fn device_structs() -> BTreeSet<String> {
    let headers = device_header_text();
    let names = headers.lines().filter_map(|line| {
        let rest = line.strip_prefix("struct ")?;
        rest.strip_suffix(" {")
    });
    names.map(str::to_owned).collect()
}

/// The names of all constants in the device's headers: macros with a value,
/// and enumerators.
pub fn device_constants() -> BTreeSet<String> {
    let headers = device_header_text();
    let names = headers.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (name, next) = match words.next()? {
            "#define" => (words.next()?, words.next()?),
            name => (name, words.next()?),
        };
        let is_enumerator = line.starts_with('\t') && next == "=";
        let is_macro = line.starts_with("#define") && !name.contains('(');
        (name.starts_with("EFA_") && (is_enumerator || is_macro)).then(|| name.to_owned())
    });
    names.collect()
}

/// A function of the C driver, from its name to the end of its body.
///
/// # Panics
/// Where the file cannot be read, or has no such function.
pub fn driver_function(file: &str, name: &str) -> String {
    let text = driver_text(file);
    let call = format!("{name}(");
    let starts = text.match_indices(&call).map(|(start, _)| start);
    let mut found = starts.filter_map(|start| {
        let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &text[start..];
        let is_outside = !text[line..start].starts_with(char::is_whitespace);
        let (body, end) = (rest.find("\n{\n")?, rest.find("\n}\n")?);
        let is_definition = is_outside && body < end && !rest[..body].contains(';');
        is_definition.then(|| rest[..end].to_owned())
    });
    found
        .next()
        .unwrap_or_else(|| panic!("{file} has no function {name}"))
}

/// All source files of the C driver.
///
/// # Panics
/// Where they cannot be read.
pub fn driver_source() -> String {
    let directory = kernel_source().join(DEVICE_DIRECTORY);
    let files = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let names = files.flatten().map(|file| file.file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names
        .filter(|name| name.ends_with(".c"))
        .map(|name| driver_text(&name))
        .collect()
}

/// Whether a text has a word.
pub fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|found| found == word)
}

fn driver_text(file: &str) -> String {
    let path = kernel_source().join(DEVICE_DIRECTORY).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn device_header_text() -> String {
    DEVICE_HEADERS
        .iter()
        .map(|header| driver_text(header))
        .collect()
}

fn kernel_source() -> PathBuf {
    let source = std::env::var_os("EFA_KERNEL_SOURCE")
        .expect("EFA_KERNEL_SOURCE must name a kernel source tree");
    PathBuf::from(source)
}

fn program(claims: &[Claim]) -> String {
    let source = kernel_source();
    let mut text = PRELUDE.to_owned();
    let device = DEVICE_HEADERS
        .iter()
        .map(|header| source.join(DEVICE_DIRECTORY).join(header));
    for header in device.chain([source.join(USER_HEADER)]) {
        let _ = writeln!(text, "#include \"{}\"", header.display());
    }
    text.push_str("int main(void)\n{\n");
    for claim in claims {
        let print = format!(
            "\tprintf(\"%llu\\n\", (unsigned long long)({}));",
            claim.expression
        );
        let _ = match &claim.needs_macro {
            Some(name) => writeln!(
                text,
                "#ifdef {name}\n{print}\n#else\n\tputs(\"not there\");\n#endif"
            ),
            None => writeln!(text, "{print}"),
        };
    }
    text.push_str("\treturn 0;\n}\n");
    text
}

/// Compiles and runs a C program, and returns what it prints.
fn run(name: &str, source: &str) -> String {
    let directory = std::env::temp_dir().join(format!("efa-layout-{name}-{}", std::process::id()));
    let stubs = directory.join("stubs/linux");
    std::fs::create_dir_all(&stubs).expect("no directory for the C program");
    for stub in ["bitfield.h", "compiler_types.h"] {
        std::fs::write(stubs.join(stub), "").expect("no room for the C program");
    }
    let file = directory.join("claims.c");
    std::fs::write(&file, source).expect("no room for the C program");
    let binary = directory.join("claims");
    let compiler = Command::new("gcc")
        .args(["-std=gnu11", "-Wall", "-Werror"])
        .args(["-D__user=", "-D__EXPORTED_HEADERS__", "-I"])
        .arg(directory.join("stubs"))
        .arg("-isystem")
        .arg(kernel_source().join("include/uapi"))
        .arg("-o")
        .args([&binary, &file])
        .output()
        .expect("gcc cannot be run");
    assert!(
        compiler.status.success(),
        "{}",
        String::from_utf8_lossy(&compiler.stderr)
    );
    let output = Command::new(&binary)
        .output()
        .expect("the C program cannot be run");
    assert!(output.status.success(), "the C program failed");
    let _ = std::fs::remove_dir_all(&directory);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
