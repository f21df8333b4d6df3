// SPDX-License-Identifier: GPL-2.0
//! The register map of BAR 0 (`efa_regs_defs.h`): offsets and field masks.

use crate::constants::constants_table;

constants_table! {
    "EFA_REGS_" u32 {
        VERSION_OFF = 0x00,
        CONTROLLER_VERSION_OFF = 0x04,
        CAPS_OFF = 0x08,
        AQ_BASE_LO_OFF = 0x10,
        AQ_BASE_HI_OFF = 0x14,
        AQ_CAPS_OFF = 0x18,
        ACQ_BASE_LO_OFF = 0x20,
        ACQ_BASE_HI_OFF = 0x24,
        ACQ_CAPS_OFF = 0x28,
        AQ_PROD_DB_OFF = 0x2c,
        AENQ_CAPS_OFF = 0x34,
        AENQ_BASE_LO_OFF = 0x38,
        AENQ_BASE_HI_OFF = 0x3c,
        AENQ_CONS_DB_OFF = 0x40,
        INTR_MASK_OFF = 0x4c,
        DEV_CTL_OFF = 0x54,
        DEV_STS_OFF = 0x58,
        MMIO_REG_READ_OFF = 0x5c,
        MMIO_RESP_LO_OFF = 0x60,
        MMIO_RESP_HI_OFF = 0x64,
        EQ_DB_OFF = 0x68,

        VERSION_MINOR_VERSION_MASK = 0x0000_00ff,
        VERSION_MAJOR_VERSION_MASK = 0x0000_ff00,
        CONTROLLER_VERSION_SUBMINOR_VERSION_MASK = 0x0000_00ff,
        CONTROLLER_VERSION_MINOR_VERSION_MASK = 0x0000_ff00,
        CONTROLLER_VERSION_MAJOR_VERSION_MASK = 0x00ff_0000,
        CONTROLLER_VERSION_IMPL_ID_MASK = 0xff00_0000,
        CAPS_CONTIGUOUS_QUEUE_REQUIRED_MASK = 0x0000_0001,
        CAPS_RESET_TIMEOUT_MASK = 0x0000_003e,
        CAPS_DMA_ADDR_WIDTH_MASK = 0x0000_ff00,
        CAPS_ADMIN_CMD_TO_MASK = 0x000f_0000,
        AQ_CAPS_AQ_DEPTH_MASK = 0x0000_ffff,
        AQ_CAPS_AQ_ENTRY_SIZE_MASK = 0xffff_0000,
        ACQ_CAPS_ACQ_DEPTH_MASK = 0x0000_ffff,
        ACQ_CAPS_ACQ_ENTRY_SIZE_MASK = 0x00ff_0000,
        ACQ_CAPS_ACQ_MSIX_VECTOR_MASK = 0xff00_0000,
        AENQ_CAPS_AENQ_DEPTH_MASK = 0x0000_ffff,
        AENQ_CAPS_AENQ_ENTRY_SIZE_MASK = 0x00ff_0000,
        AENQ_CAPS_AENQ_MSIX_VECTOR_MASK = 0xff00_0000,
        INTR_MASK_EN_MASK = 0x0000_0001,
        DEV_CTL_DEV_RESET_MASK = 0x0000_0001,
        DEV_CTL_AQ_RESTART_MASK = 0x0000_0002,
        DEV_CTL_RESET_REASON_MASK = 0xf000_0000,
        DEV_STS_READY_MASK = 0x0000_0001,
        DEV_STS_AQ_RESTART_IN_PROGRESS_MASK = 0x0000_0002,
        DEV_STS_AQ_RESTART_FINISHED_MASK = 0x0000_0004,
        DEV_STS_RESET_IN_PROGRESS_MASK = 0x0000_0008,
        DEV_STS_RESET_FINISHED_MASK = 0x0000_0010,
        DEV_STS_FATAL_ERROR_MASK = 0x0000_0020,
        MMIO_REG_READ_REQ_ID_MASK = 0x0000_ffff,
        MMIO_REG_READ_REG_OFF_MASK = 0xffff_0000,
        EQ_DB_EQN_MASK = 0x0000_ffff,
        EQ_DB_ARM_MASK = 0x8000_0000,

        RESET_NORMAL = 0,
        RESET_KEEP_ALIVE_TO = 1,
        RESET_ADMIN_TO = 2,
        RESET_INIT_ERR = 3,
        RESET_DRIVER_INVALID_STATE = 4,
        RESET_OS_TRIGGER = 5,
        RESET_SHUTDOWN = 6,
        RESET_USER_TRIGGER = 7,
        RESET_GENERIC = 8,
    }
}

/// The field of `value` that `mask` selects, moved to bit 0.
pub fn field_get(mask: u32, value: u32) -> u32 {
    (value & mask)
        .checked_shr(mask.trailing_zeros())
        .unwrap_or(0)
}

/// `value` moved to the field that `mask` selects; what does not fit is cut off.
pub fn field_prep(mask: u32, value: u32) -> u32 {
    value.checked_shl(mask.trailing_zeros()).unwrap_or(0) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_value_and_stay_inside_their_mask() {
        let mask = DEV_CTL_RESET_REASON_MASK;
        assert_eq!(field_prep(mask, 6), 0x6000_0000);
        assert_eq!(field_get(mask, field_prep(mask, 6)), 6);
        assert_eq!(field_prep(mask, 0x16), 0x6000_0000);
        assert_eq!(field_get(0, 0xffff_ffff), 0);
    }
}
