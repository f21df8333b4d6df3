// SPDX-License-Identifier: GPL-2.0

//! Access to the registers.
//!
//! A write goes to BAR 0. A read is "readless": the driver writes offset and sequence number to
//! one register, and the device writes its answer to host memory. So a read never stalls the CPU
//! on the bus, but it can fail. Reads sleep.

use crate::hw::{
    admin::AdminMmioReqReadLessResp,
    regs::*, //
};
use kernel::{
    device::Device,
    dma::Coherent,
    io::{
        io_read,
        io_write,
        poll::read_poll_timeout,
        register::FixedRegister,
        Io, //
    },
    new_mutex,
    pci::DevresBar,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed, //
        },
        barrier::{
            dma_mb,
            Read, //
        },
        Arc,
        Mutex, //
    },
    time::Delta, //
};
use rdma::dma::{
    Lent,
    UntilReset, //
};

/// How long the device may take to answer a read, unless it says otherwise (HW_HINTS).
const READ_TIMEOUT_MS: u32 = 50;

/// Time between two looks at the answer.
const READ_POLL_INTERVAL: Delta = Delta::from_micros(5);

/// The registers of one device.
#[pin_data]
pub(crate) struct Registers {
    dev: ARef<Device>,
    bar: DevresBar<REGS_SIZE>,
    answer: Lent<Coherent<AdminMmioReqReadLessResp>, UntilReset>,
    read_timeout_ms: Atomic<u32>,
    /// The sequence number of the last read. Held over each read: there is one answer.
    #[pin]
    sequence: Mutex<u16>,
}

impl Registers {
    /// Prepares for reads, which need [`set_answer_address`](Self::set_answer_address) first.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: no memory.
    pub(crate) fn new(
        dev: &Device,
        bar: DevresBar<REGS_SIZE>,
        answer: Lent<Coherent<AdminMmioReqReadLessResp>, UntilReset>,
    ) -> Result<Arc<Self>> {
        Arc::pin_init(
            try_pin_init!(Self {
                dev: dev.into(),
                bar,
                answer,
                read_timeout_ms: Atomic::new(READ_TIMEOUT_MS),
                sequence <- new_mutex!(0),
            }),
            GFP_KERNEL,
        )
    }

    /// Tells the device where answers go. Needed before the first read, and again after a reset.
    pub(crate) fn set_answer_address(&self) {
        let addr = self.answer.dma_address();
        self.write(MMIO_RESP_HI::from((addr >> 32) as u32));
        self.write(MMIO_RESP_LO::from(addr as u32));
    }

    /// Changes the time within which the device answers a read.
    pub(crate) fn set_read_timeout_ms(&self, timeout_ms: u32) {
        self.read_timeout_ms.store(timeout_ms, Relaxed);
    }

    /// Writes a register. Lost when the device is not bound any more, as on hardware that is gone.
    #[inline(always)]
    pub(crate) fn write<R: FixedRegister<Storage = u32>>(&self, value: R)
    where
        u32: From<R>,
    {
        if let Some(bar) = self.bar.try_access() {
            (&*bar).write_reg(value);
        }
    }

    /// Reads a register.
    ///
    /// # Errors
    ///
    /// `ETIME`: the device did not answer in time, or answered for another register.
    pub(crate) fn read<R: FixedRegister<Storage = u32> + From<u32>>(&self) -> Result<R> {
        self.read_at(R::OFFSET.try_into()?).map(R::from)
    }

    fn read_at(&self, offset: u16) -> Result<u32> {
        let mut sequence = self.sequence.lock();
        *sequence = sequence.wrapping_add(1);

        // A late answer to an older read does not look like the one to this read.
        io_write!(*self.answer, .req_id, !*sequence);
        self.write(
            MMIO_REG_READ::zeroed()
                .with_reg_off(offset)
                .with_req_id(*sequence),
        );

        let timeout_ms = self.read_timeout_ms.load(Relaxed);
        let answered = read_poll_timeout(
            || Ok(io_read!(*self.answer, .req_id)),
            |req_id| *req_id == *sequence,
            READ_POLL_INTERVAL,
            Delta::from_millis(timeout_ms.into()),
        );
        if let Err(_timeout) = answered {
            rdma::ratelimited!(dev_err!(
                self.dev,
                "register {offset:#x} not read within {timeout_ms} ms (request {})\n",
                *sequence
            ));
            return Err(ETIME);
        }

        dma_mb(Read);
        let answer = (&*self.answer).copy_read();
        if answer.req_id != *sequence || answer.reg_off != offset {
            rdma::ratelimited!(dev_err!(
                self.dev,
                "read of register {offset:#x} (request {}) was answered for {:#x} (request {})\n",
                *sequence,
                answer.reg_off,
                answer.req_id
            ));
            return Err(ETIME);
        }
        Ok(answer.reg_val)
    }
}
