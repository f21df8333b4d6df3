// SPDX-License-Identifier: GPL-2.0
//! What no device can be, and what no running device can become.

use super::{Config, ConfigError, DOORBELL_PAGE_SIZE};

impl Config {
    /// Checks what the device relies on.
    ///
    /// # Errors
    /// Names the first key that no device can have.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let rules = [
            (
                "device_id",
                (0xefa0..=0xefa4).contains(&self.device_id),
                "must be 0xefa0 to 0xefa4",
            ),
            (
                "num_vectors",
                (1..=256).contains(&self.num_vectors),
                "must be 1 to 256",
            ),
            (
                "db_bar",
                self.db_bar <= 5,
                "must be the number of a BAR, 0 to 5",
            ),
            (
                "llq_bar_size",
                self.llq_bar_size.is_power_of_two()
                    && (4 << 10..=1 << 32).contains(&self.llq_bar_size),
                "must be a power of two from 4 KiB to 4 GiB",
            ),
            (
                "db_bar_size",
                self.db_bar_size.is_power_of_two()
                    && (4 << 10..=256 << 20).contains(&self.db_bar_size),
                "must be a power of two from 4 KiB to 256 MiB",
            ),
            (
                "dma_addr_width",
                self.dma_addr_width <= 64,
                "must be 64 or less",
            ),
            (
                "reset_timeout",
                self.reset_timeout <= 31,
                "must be 31 or less",
            ),
            (
                "admin_cmd_timeout",
                self.admin_cmd_timeout <= 15,
                "must be 15 or less",
            ),
            (
                "keep_alive_ms",
                self.keep_alive_ms >= 1,
                "must be 1 or more",
            ),
            ("max_pd", self.max_pd <= 1 << 16, "must be 65536 or less"),
            (
                "max_ah",
                self.max_ah < 0xffff,
                "must be below 65535, which stands for no AH",
            ),
            (
                "max_uar",
                u64::from(self.max_uar) * DOORBELL_PAGE_SIZE <= self.db_bar_size,
                "must be one or less for each 4 KiB of db_bar_size",
            ),
            ("max_eq", self.max_eq <= 1 << 16, "must be 65536 or less"),
            (
                "max_qp",
                self.max_qp <= 65534,
                "must be 65534 or less, since two numbers are no QP's",
            ),
            ("max_cq", self.max_cq <= 1 << 16, "must be 65536 or less"),
            (
                "max_mr",
                self.max_mr < 1 << 24,
                "must be below 2^24, since a key has 24 bits",
            ),
            (
                "max_cq_depth",
                self.max_cq_depth <= 32768,
                "must be 32768 or less",
            ),
            (
                "max_sq_depth",
                self.max_sq_depth <= 32768,
                "must be 32768 or less",
            ),
            (
                "max_rq_depth",
                self.max_rq_depth <= 32768,
                "must be 32768 or less",
            ),
            (
                "min_sq_depth",
                u32::from(self.min_sq_depth) <= self.max_sq_depth,
                "must be max_sq_depth or less",
            ),
            (
                "sub_cqs_per_cq",
                (1..=64).contains(&self.sub_cqs_per_cq),
                "must be 1 to 64",
            ),
            (
                "inline_buf_size",
                self.inline_buf_size <= 32,
                "must be 32 or less, as a descriptor of 64 bytes has room",
            ),
            (
                "inline_buf_size_ex",
                self.inline_buf_size_ex <= 80,
                "must be 80 or less, as a descriptor of 128 bytes has room",
            ),
            (
                "llq_page_offset",
                self.llq_page_offset < 4096 && self.llq_page_offset % 64 == 0,
                "must be a multiple of 64 below 4096",
            ),
        ];
        match rules.into_iter().find(|(_, holds, _)| !holds) {
            Some((key, _, reason)) => Err(ConfigError {
                key,
                reason: reason.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// Refuses what cannot change while the device is there: all that PCI
    /// configuration space shows.
    ///
    /// # Errors
    /// Names the first such key that differs in `new`.
    pub fn check_change(&self, new: &Self) -> Result<(), ConfigError> {
        let fixed = [
            ("device_id", self.device_id == new.device_id),
            (
                "subsystem_device_id",
                self.subsystem_device_id == new.subsystem_device_id,
            ),
            ("num_vectors", self.num_vectors == new.num_vectors),
            ("msix_bar", self.msix_bar == new.msix_bar),
            ("db_bar", self.db_bar == new.db_bar),
            ("has_db_bar", self.has_db_bar == new.has_db_bar),
            ("db_bar_size", self.db_bar_size == new.db_bar_size),
            ("has_bar2", self.has_bar2 == new.has_bar2),
            ("llq_bar_size", self.llq_bar_size == new.llq_bar_size),
        ];
        match fixed.into_iter().find(|(_, same)| !same) {
            Some((key, _)) => Err(ConfigError {
                key,
                reason: "cannot change on a running device".to_owned(),
            }),
            None => new.validate(),
        }
    }
}
