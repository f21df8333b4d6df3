// SPDX-License-Identifier: GPL-2.0

//! The registers in BAR 0.
//!
//! They can be written directly. A read goes through [`MMIO_REG_READ`]: the device answers into
//! host memory.

use kernel::io::register;

/// Size in bytes of what the driver uses of BAR 0.
pub(crate) const REGS_SIZE: usize = 0x6c;

// Identity and capabilities.
register! {
    /// Version of the admin API.
    pub(crate) VERSION(u32) @ 0x0 {
        /// Major version.
        15:8 major_version;
        /// Minor version.
        7:0 minor_version;
    }

    /// Version of the controller.
    pub(crate) CONTROLLER_VERSION(u32) @ 0x4 {
        /// Id of the implementation.
        31:24 impl_id;
        /// Major version.
        23:16 major_version;
        /// Minor version.
        15:8 minor_version;
        /// Sub-minor version.
        7:0 subminor_version;
    }

    /// What the device tells before it takes commands.
    pub(crate) CAPS(u32) @ 0x8 {
        /// Timeout of an admin command in units of 100 ms; 0: the default.
        19:16 admin_cmd_to;
        /// Bits of a DMA address.
        15:8 dma_addr_width;
        /// Timeout of a reset in units of 100 ms.
        5:1 reset_timeout;
    }
}

// Admin queues.
register! {
    /// Address of the admin submission queue, bits 31:0.
    pub(crate) AQ_BASE_LO(u32) @ 0x10 {
        /// The address.
        31:0 addr;
    }

    /// Address of the admin submission queue, bits 63:32.
    pub(crate) AQ_BASE_HI(u32) @ 0x14 {
        /// The address.
        31:0 addr;
    }

    /// Shape of the admin submission queue. Writing it starts the queue.
    pub(crate) AQ_CAPS(u32) @ 0x18 {
        /// Size of an entry in bytes.
        31:16 aq_entry_size;
        /// Size in entries.
        15:0 aq_depth;
    }

    /// Address of the admin completion queue, bits 31:0.
    pub(crate) ACQ_BASE_LO(u32) @ 0x20 {
        /// The address.
        31:0 addr;
    }

    /// Address of the admin completion queue, bits 63:32.
    pub(crate) ACQ_BASE_HI(u32) @ 0x24 {
        /// The address.
        31:0 addr;
    }

    /// Shape of the admin completion queue. Writing it starts the queue.
    pub(crate) ACQ_CAPS(u32) @ 0x28 {
        /// MSI-X vector.
        31:24 acq_msix_vector;
        /// Size of an entry in bytes.
        23:16 acq_entry_size;
        /// Size in entries.
        15:0 acq_depth;
    }

    /// Doorbell of the admin submission queue.
    pub(crate) AQ_PROD_DB(u32) @ 0x2c {
        /// Number of entries submitted so far, modulo 2^16.
        15:0 producer;
    }
}

// Asynchronous event notification queue.
register! {
    /// Shape of the AENQ. Writing it starts the queue.
    pub(crate) AENQ_CAPS(u32) @ 0x34 {
        /// MSI-X vector.
        31:24 aenq_msix_vector;
        /// Size of an entry in bytes.
        23:16 aenq_entry_size;
        /// Size in entries.
        15:0 aenq_depth;
    }

    /// Address of the AENQ, bits 31:0.
    pub(crate) AENQ_BASE_LO(u32) @ 0x38 {
        /// The address.
        31:0 addr;
    }

    /// Address of the AENQ, bits 63:32.
    pub(crate) AENQ_BASE_HI(u32) @ 0x3c {
        /// The address.
        31:0 addr;
    }

    /// Doorbell of the AENQ: the driver is done with entries.
    pub(crate) AENQ_CONS_DB(u32) @ 0x40 {
        /// Number of entries consumed so far.
        31:0 consumer;
    }
}

// Control.
register! {
    /// Mask of the admin interrupt.
    pub(crate) INTR_MASK(u32) @ 0x4c {
        /// No admin interrupts.
        0:0 en;
    }

    /// Device control.
    pub(crate) DEV_CTL(u32) @ 0x54 {
        /// Why the device is reset.
        31:28 reset_reason;
        /// Reset the device.
        0:0 dev_reset;
    }

    /// Device status.
    pub(crate) DEV_STS(u32) @ 0x58 {
        /// A reset is going on.
        3:3 reset_in_progress => bool;
        /// The device can be used, or reset.
        0:0 ready => bool;
    }

    /// Asks for the value of a register.
    pub(crate) MMIO_REG_READ(u32) @ 0x5c {
        /// Offset of the register.
        31:16 reg_off;
        /// Sequence number, returned in the answer.
        15:0 req_id;
    }

    /// Where answers to register reads go, bits 31:0. A reset clears it.
    pub(crate) MMIO_RESP_LO(u32) @ 0x60 {
        /// The address.
        31:0 addr;
    }

    /// Where answers to register reads go, bits 63:32. A reset clears it.
    pub(crate) MMIO_RESP_HI(u32) @ 0x64 {
        /// The address.
        31:0 addr;
    }

    /// Doorbell of the event queues.
    pub(crate) EQ_DB(u32) @ 0x68 {
        /// Ask for an interrupt at the next event.
        31:31 arm;
        /// EQ number.
        15:0 eqn;
    }
}
