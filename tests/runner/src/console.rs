// SPDX-License-Identifier: GPL-2.0
//! The guest's console log: where a test's part begins and ends, and what in it is an alarm.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{bail, Result};

/// How a panic in the kernel's Rust begins.
const PANICKED: &str = "rust_kernel: panicked";

/// The DMA checker needs more memory to keep its books, and has it.
const GROWN: &str = "DMA-API: dma_debug_entry pool grown";

/// The line that opens a warning.
pub const CUT_HERE: &str = "[ cut here ]";

/// What a kernel prints when something is wrong with it.
const ALARMS: &[&str] = &[
    "WARNING: CPU",
    "WARNING: at ",
    "] WARNING: ",
    "BUG: ",
    // A slab object that is damaged: `BUG kmalloc-64 (Not tainted): Poison overwritten`.
    "] BUG ",
    "kernel BUG at",
    "Oops: ",
    "Oops[",
    "general protection fault",
    "Kernel panic",
    PANICKED,
    "blocked for more than",
    "detected stalls on CPUs",
    "detected expedited stalls",
    "nobody cared",
    "self-detected stall",
    "soft lockup",
    "refcount_t: ",
    "UBSAN: ",
    "ODEBUG: ",
    "INFO: trying to register non-static key",
    "turning off the locking correctness validator",
    "lockdep is turned off",
    "kmemleak: ",
    "DMA-API: ",
    "Trying to vfree() nonexistent",
    "sysfs: cannot create duplicate",
    "double free",
    "list_add corruption",
    "list_del corruption",
];

/// The first line that shows the kernel in trouble; of a panic in Rust also the next one, where its
/// message stands.
pub fn alarm(log: &str) -> Option<String> {
    let telling = |line: &&str| {
        (ALARMS.iter().any(|alarm| line.contains(alarm)) && !line.contains(GROWN))
            || is_plain_warning(line)
    };
    // A warning of a kind not known here still begins with this line.
    let any = |line: &&str| line.contains(CUT_HERE);
    let at = (log.lines().position(|line| telling(&line)))
        .or_else(|| log.lines().position(|line| any(&line)))?;
    let mut lines = log.lines().skip(at).map(str::trim);
    let line = lines.next()?;
    let message = lines.next().filter(|_| line.contains(PANICKED));
    Some(match message {
        Some(message) => format!("{line} {}", without_time(message)),
        None => line.to_string(),
    })
}

/// A console line without its time, `[    3.141592] `.
fn without_time(line: &str) -> &str {
    line.strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .map_or(line, |(_, text)| text)
}

/// `WARNING: FILE:LINE at FUNCTION`, the form of newer kernels.
fn is_plain_warning(line: &str) -> bool {
    line.split_once("WARNING: ")
        .is_some_and(|(_, rest)| rest.contains(" at ") && rest.contains(".c:"))
}

/// The log file that the virtual machine writes.
pub struct Console {
    path: PathBuf,
}

impl Console {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything printed so far.
    pub fn text(&self) -> String {
        fs::read(&self.path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Waits until the log holds `mark`, which the guest printed after all that belongs before it,
    /// and returns the log.
    ///
    /// # Errors
    ///
    /// The mark does not come within `limit`.
    pub fn wait_for(&self, mark: &str, limit: Duration) -> Result<String> {
        let start = Instant::now();
        loop {
            let text = self.text();
            if text.contains(mark) {
                return Ok(text);
            }
            if start.elapsed() > limit {
                bail!(
                    "the console does not show `{mark}` after {} s",
                    limit.as_secs()
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The part of `log` after the line with `begin`, up to the line with `end` (or the end of the
/// log).
pub fn between<'a>(log: &'a str, begin: &str, end: &str) -> &'a str {
    let Some((_, after)) = log.split_once(begin) else {
        return "";
    };
    after.split_once(end).map_or(after, |(part, _)| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_oopses_and_hangs_are_alarms() {
        for line in [
            "[    3.1] WARNING: CPU: 0 PID: 71 at lib/rhashtable.c:1180 x+0x1/0x2",
            "[    3.1] WARNING: drivers/infiniband/hw/efa/efa_ah_cache.c:37 at efa_ah_cache_entry_free+0x2a/0x30",
            "[    3.1] BUG: kernel NULL pointer dereference, address: 0000000000000008",
            "[  243.0] INFO: task python3:99 blocked for more than 120 seconds.",
            "[    3.1] WARNING: possible circular locking dependency detected",
            "[    3.1] WARNING: bad unlock balance detected!",
            "[    3.1] BUG: KASAN: slab-use-after-free in efa_x+0x1/0x2",
            "[    3.1] BUG kmalloc-64 (Not tainted): Poison overwritten",
            "[    3.1] UBSAN: shift-out-of-bounds in x.c:1:2",
            "[    3.1] ODEBUG: free active (active state 0) object: 00000000 object type: work_struct",
            "[    3.1] DMA-API: efa 0000:01:00.0: device driver has pending DMA allocations",
            "[    3.1] kmemleak: 1 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
        ] {
            let log = format!("[    1.0] fine\n{line}\n[    4.0] more\n");
            assert_eq!(alarm(&log).as_deref(), Some(line));
        }
    }

    #[test]
    fn a_panic_comes_with_its_message() {
        let log = "[    3.1] rust_kernel: panicked at src/x.rs:1:1:\r\n[    3.2] index out of bounds\r\n[    3.3] x\r\n";
        let expected = "[    3.1] rust_kernel: panicked at src/x.rs:1:1: index out of bounds";
        assert_eq!(alarm(log).as_deref(), Some(expected));
        let cut_off = "[    3.1] rust_kernel: panicked at src/x.rs:1:1:";
        assert_eq!(alarm(cut_off).as_deref(), Some(cut_off));
    }

    #[test]
    fn ordinary_errors_are_no_alarm() {
        let log = "[    3.1] efa 0000:01:00.0: Failed to create ah [-22]\n[    3.1] warning: something small, DEBUG on\n\
                   [    3.2] DMA-API: dma_debug_entry pool grown to 131072 (200%)\n";
        assert_eq!(alarm(log), None);
    }

    #[test]
    fn a_part_is_what_stands_between_its_marks() {
        let log = "x\nbegin a\n1\nend a\nbegin b\n2\n";
        assert_eq!(between(log, "begin a", "end a"), "\n1\n");
        assert_eq!(between(log, "begin b", "end b"), "\n2\n");
        assert_eq!(between(log, "begin c", "end c"), "");
    }
}
