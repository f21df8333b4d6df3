// SPDX-License-Identifier: GPL-2.0

//! The admin queue: sends commands and waits for their completions.
//!
//! Any number of threads may call [`AdminQueue::exec`]; a semaphore bounds how many commands the
//! device has at once, and serves those who wait in the order in which they came. A slot belongs to
//! a command until its completion is collected. When a command times out the queue is closed for
//! good and its slot stays taken, with the buffer the command points to, until the queue is freed.
//! Whatever the device still writes or reads is [`Lent`] to it, and a late completion finds its own
//! slot or none.
//!
//! Completions are announced by the management interrupt. Waiting for one is cut into slices, and
//! after each the waiter looks at the ring itself. Where it finds the completion, the interrupt is
//! late or lost, which [`Interrupts`] tells apart.
//!
//! Recovery (a device reset that opens the queue again) is not implemented yet.

use super::{
    call::Call,
    commands::{
        status_to_result,
        AdminCommand, //
    },
    completions::{
        Completions,
        Entries,
        Event, //
    },
    control_buffer::ControlBuffer,
    interrupts::Interrupts,
    mmio::Registers,
    reset::ApiVersion,
    slots::{
        Issued,
        Slots,
        DEPTH, //
    },
    stats::Stats,
    submission::{
        Submissions,
        MAX_PAYLOAD, //
    }, //
};
use crate::{
    hw::{
        admin::*,
        regs::*, //
    },
    trace, //
};
use kernel::{
    device::{
        Bound,
        Device, //
    },
    dma::Coherent,
    io::{
        io_project,
        io_read,
        Io, //
    },
    new_spinlock_irq,
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
        SpinLockIrq, //
    },
    task::might_sleep,
    time::{
        Instant,
        Monotonic,
        Msecs, //
    }, //
};
use rdma::{
    dma::{
        DmaGeneration,
        Ends,
        Lent,
        LetGo,
        UntilReset, //
    },
    sync::{
        Completion,
        Held,
        Semaphore, //
    }, //
};
use zerocopy::FromZeros;

/// How long a waiter trusts the interrupt before it looks at the ring, in milliseconds.
const SLICE_MS: Msecs = 100;

/// The admin queue of one device.
#[pin_data]
pub(crate) struct AdminQueue {
    dev: ARef<Device>,
    registers: Arc<Registers>,
    stats: Arc<Stats>,
    created: Instant<Monotonic>,
    timeout_ms: Atomic<u32>,
    interrupts: Interrupts,
    /// Commands that were refused since the queue is closed.
    refused_closed: Atomic<u64>,
    /// One share for each slot.
    #[pin]
    credits: Semaphore,
    /// Wakes the submitter of the command in a slot; says only that there is something to see.
    #[pin]
    wake: [Completion; DEPTH as usize],
    #[pin]
    state: SpinLockIrq<State>,
}

struct State {
    open: bool,
    submissions: Submissions,
    completions: Completions,
    entries: CompletionRing,
    slots: Slots,
    /// What the commands in the slots point to.
    buffers: [Option<Lent<ControlBuffer, Answered>>; DEPTH as usize],
    /// What the device is lent now.
    dma: DmaGeneration,
}

/// The completion of a command, which ends the use of its buffer.
enum Answered {}

impl Ends for Answered {}

/// The completion ring in DMA memory.
struct CompletionRing(Lent<Coherent<[AdminAcqEntry]>, UntilReset>);

impl CompletionRing {
    fn try_phase(&self, index: usize) -> Result<bool> {
        let flags = io_read!(*self.0, [try: index].acq_common_descriptor.flags);
        Ok(flags & ADMIN_ACQ_COMMON_DESC_PHASE_MASK != 0)
    }

    fn try_read(&self, index: usize) -> Result<AdminAcqEntry> {
        Ok(io_project!(*self.0, [try: index]).copy_read())
    }
}

impl Entries for CompletionRing {
    fn phase(&self, index: usize) -> bool {
        let phase = self.try_phase(index).unwrap_or(false);
        dma_mb(Read);
        phase
    }

    fn read(&self, index: usize) -> AdminAcqEntry {
        self.try_read(index)
            .unwrap_or_else(|_| AdminAcqEntry::new_zeroed())
    }
}

impl AdminQueue {
    /// Allocates the queue. The device does not know it yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: no memory.
    pub(crate) fn new<'a>(
        dev: &'a Device<Bound>,
        registers: Arc<Registers>,
        stats: Arc<Stats>,
        version: ApiVersion,
        timeout_ms: u32,
        dma: &'a DmaGeneration,
    ) -> impl PinInit<Self, Error> + 'a {
        pin_init::pin_init_scope(move || {
            let submissions = Submissions::new(dev, version, dma)?;
            let entries = Coherent::zeroed_slice(dev, DEPTH.into(), GFP_KERNEL)?;
            Ok(try_pin_init!(Self {
                dev: dev.into(),
                registers,
                stats,
                created: Instant::now(),
                timeout_ms: Atomic::new(timeout_ms),
                interrupts: Interrupts::new(),
                refused_closed: Atomic::new(0),
                credits <- Semaphore::new(DEPTH),
                wake <- pin_init::pin_init_array_from_fn(|_| Completion::new()),
                state <- new_spinlock_irq!(State {
                    open: true,
                    submissions,
                    completions: Completions::new(version.has_checksums()),
                    entries: CompletionRing(Lent::new(entries, dma)),
                    slots: Slots::new(),
                    buffers: [const { None }; DEPTH as usize],
                    dma: dma.clone(),
                }),
            }? Error))
        })
    }

    /// Hands the queue to the device, with interrupts on vector `vector`.
    ///
    /// The memory is lost if this is dropped before the device was stopped.
    pub(crate) fn start(&self, vector: u8) {
        let state = self.state.lock();
        let addr = state.submissions.dma_address();
        self.registers.write(AQ_BASE_LO::from(addr as u32));
        self.registers.write(AQ_BASE_HI::from((addr >> 32) as u32));
        self.registers.write(
            AQ_CAPS::zeroed()
                .with_aq_depth(DEPTH)
                .with_aq_entry_size(state.submissions.entry_size()),
        );
        let addr = state.entries.0.dma_address();
        self.registers.write(ACQ_BASE_LO::from(addr as u32));
        self.registers.write(ACQ_BASE_HI::from((addr >> 32) as u32));
        self.registers.write(
            ACQ_CAPS::zeroed()
                .with_acq_depth(DEPTH)
                // CAST: 64.
                .with_acq_entry_size(size_of::<AdminAcqEntry>() as u8)
                .with_acq_msix_vector(vector),
        );
    }

    /// Changes the time within which the device completes a command.
    pub(crate) fn set_timeout_ms(&self, timeout_ms: u32) {
        self.timeout_ms.store(timeout_ms, Relaxed);
    }

    /// Has the device execute a command and waits for the completion.
    ///
    /// # Errors
    ///
    /// * `ENODEV`: the queue is closed; the device was not given the command.
    /// * `ETIME`: the device did not complete the command in time, or before the queue was closed
    ///   for another reason. It may still carry it out.
    /// * `EINTR`: the process was killed before the device was given the command.
    /// * What the completion's status means, see [`status_to_result`].
    pub(crate) fn exec<C: AdminCommand>(&self, command: &C) -> Result<C::Reply> {
        self.exec_with(command, None)
    }

    /// Like [`AdminQueue::exec`], for a command that points to a buffer.
    pub(crate) fn exec_with<C: AdminCommand>(
        &self,
        command: &C,
        buffer: Option<ControlBuffer>,
    ) -> Result<C::Reply> {
        const {
            assert!(size_of::<C::Request>() <= MAX_PAYLOAD);
            assert!(size_of::<C::Response>() <= size_of::<AdminAcqEntry>());
        }
        let call = Call::new(command);
        let completed = self.transact(&call, command.request().as_bytes(), buffer);
        let entry = completed.as_ref().map_err(|error| *error)?;
        let (response, _) = C::Response::read_from_prefix(entry.as_bytes()).map_err(|_| EINVAL)?;
        Ok(C::reply(response))
    }

    /// The part of [`AdminQueue::exec_with`] that does not depend on the command's type.
    fn transact(
        &self,
        call: &Call<'_>,
        payload: &[u8],
        buffer: Option<ControlBuffer>,
    ) -> Result<AdminAcqEntry> {
        let completed = self.try_transact(call, payload, buffer);
        self.stats.cmds_err.inc_on_error(&completed);
        completed
    }

    fn try_transact(
        &self,
        call: &Call<'_>,
        payload: &[u8],
        buffer: Option<ControlBuffer>,
    ) -> Result<AdminAcqEntry> {
        might_sleep();
        let credit = self.credit(call.kind.killable);
        // Before the device can begin.
        let start = Instant::now();
        let issued = match &credit {
            Ok(_held) => self.submit(call.kind.opcode, payload, buffer),
            Err(error) => Err(*error),
        }
        .inspect_err(|&error| self.log_not_sent(call, error))?;
        let entry = self.wait(call, issued, start).inspect_err(|_| {
            trace::efa_admin_timeout(&self.dev, issued.id, call.kind.opcode, start);
        })?;

        let status = entry.acq_common_descriptor.status;
        trace::efa_admin_complete(&self.dev, issued.id, call.kind.opcode, status, start);
        if !call.answers.contains(&status) {
            status_to_result(status)
                .inspect_err(|_| call.log_status(&self.dev, issued.id, status))?;
        }
        Ok(entry)
    }

    fn log_not_sent(&self, call: &Call<'_>, error: Error) {
        // Whatever polls the device would say it for ever.
        let is_said = error == ENODEV && self.refused_closed.fetch_add(1, Relaxed) != 0;
        if !is_said {
            call.log_not_sent(&self.dev, error);
        }
    }

    /// Whether commands are accepted.
    pub(crate) fn is_open(&self) -> bool {
        self.state.lock().open
    }

    /// Waits in line for the right to have one more command outstanding.
    ///
    /// However many wait: each command that the device has ends in time, or closes the queue. Then
    /// all of them end, and who gets a share finds the queue closed and gives it on at once.
    fn credit(&self, killable: bool) -> Result<Held<'_>> {
        if killable {
            self.credits.down_killable()
        } else {
            Ok(self.credits.down())
        }
    }

    fn has_expired(&self, start: Instant<Monotonic>) -> bool {
        start.elapsed().as_millis() >= self.timeout_ms.load(Relaxed).into()
    }

    /// Gives a command to the device.
    fn submit(&self, opcode: u8, payload: &[u8], buffer: Option<ControlBuffer>) -> Result<Issued> {
        let mut state = self.state.lock();
        if !state.open {
            return Err(ENODEV);
        }
        let flags = buffer.as_ref().map_or(0, ControlBuffer::flags);
        // There is a slot for each credit.
        let issued = state.slots.issue().ok_or(EBUSY)?;
        if let Some(buffer) = buffer {
            let told = Lent::told(buffer, &state.dma);
            if let Some(place) = state.buffers.get_mut(issued.slot) {
                *place = Some(told);
            }
        }
        state.submissions.push(issued.id, opcode, flags, payload)?;
        trace::efa_admin_submit(&self.dev, issued.id, opcode);
        self.registers
            .write(AQ_PROD_DB::zeroed().with_producer(state.submissions.count()));
        self.stats.submitted_cmds.inc();
        Ok(issued)
    }

    /// Waits for the completion of a command that was given to the device at `start`.
    fn wait(
        &self,
        call: &Call<'_>,
        issued: Issued,
        start: Instant<Monotonic>,
    ) -> Result<AdminAcqEntry> {
        let wake = self.wake.get(issued.slot).ok_or(EINVAL)?;
        loop {
            let woken = wake.wait_timeout(SLICE_MS);
            let interrupts = self.interrupts.count();
            if let Some(entry) = self.collect(issued.slot) {
                return Ok(entry);
            }
            if woken {
                // Left over from the slot's last command, unless the queue was closed.
                if !self.is_open() {
                    return Err(ETIME);
                }
                continue;
            }
            self.poll();
            if let Some(entry) = self.collect(issued.slot) {
                self.await_interrupt(call, issued, interrupts);
                return Ok(entry);
            }
            if self.has_expired(start) {
                return Err(self.expire(call, issued));
            }
        }
    }

    /// Finds out whether the interrupt of a completion that is there comes after all. There were
    /// `before` of them when it was found.
    fn await_interrupt(&self, call: &Call<'_>, issued: Issued, before: u64) {
        if self.interrupts.wait_after(before) {
            self.stats.late_interrupts.inc();
            return;
        }
        // Before a reset there are none any more.
        if !self.is_open() {
            return;
        }
        self.interrupts.lost_after(before);
        self.stats.lost_interrupts.inc();
        rdma::ratelimited!(dev_warn!(
            self.dev,
            "the device completed {call}, but the driver didn't receive any MSI-X interrupt \
             (command id {:#x})\n",
            issued.id
        ));
    }

    /// An interrupt came that was for completions.
    pub(crate) fn interrupt_seen(&self) {
        self.interrupts.came();
    }

    /// Takes the completion of a slot, if there is one, and frees what the command pointed to.
    fn collect(&self, slot: usize) -> Option<AdminAcqEntry> {
        let mut state = self.state.lock();
        let entry = state.slots.collect(slot)?;
        let place = state.buffers.get_mut(slot);
        if let Some(buffer) = place.filter(|place| place.is_some()).and_then(Option::take) {
            buffer.let_go(LetGo::acknowledged(&state.dma));
            drop(state);
            // Not while interrupts are off.
            drop(buffer);
        }
        Some(entry)
    }

    /// Closes the queue since a command was not completed in time. Returns the error for it.
    fn expire(&self, call: &Call<'_>, issued: Issued) -> Error {
        self.stats.no_completion_cmds.inc();
        let (was_open, submitted, completed) = self.close_and_count();
        if was_open {
            dev_err!(
                self.dev,
                "the device didn't send any completion for {call} within {} ms (command id {:#x}, \
                 {submitted} commands submitted, {completed} completions seen); the admin queue is \
                 closed\n",
                self.timeout_ms.load(Relaxed),
                issued.id
            );
        }
        ETIME
    }

    /// Closes the queue: commands that the device has fail with `ETIME`, later ones with `ENODEV`.
    pub(crate) fn close(&self) {
        self.close_and_count();
    }

    fn close_and_count(&self) -> (bool, u16, u32) {
        let mut state = self.state.lock();
        let was_open = core::mem::replace(&mut state.open, false);
        let counts = (
            was_open,
            state.submissions.count(),
            state.completions.count(),
        );
        drop(state);
        for wake in &self.wake {
            wake.complete();
        }
        counts
    }

    /// Goes over new completions. Says whether there were any. Any context.
    pub(crate) fn poll(&self) -> bool {
        let now_ms = || self.created.elapsed().as_millis();
        let mut state = self.state.lock();
        let State {
            completions,
            entries,
            slots,
            ..
        } = &mut *state;
        let first = completions.count();
        completions.poll(entries, slots, now_ms, |event| match event {
            Event::Accepted(slot) => {
                self.stats.completed_cmds.inc();
                if let Some(wake) = self.wake.get(slot) {
                    wake.complete();
                }
            }
            Event::Rejected(place, fault, entry) => {
                self.stats.bad_completions.inc();
                let header = &entry.acq_common_descriptor;
                rdma::ratelimited!(dev_err!(
                    self.dev,
                    "bad admin completion {place} ignored ({fault:x?}): command id {:#x}, \
                     status {}, checksum {:#x}\n",
                    header.command,
                    header.status,
                    header.checksum
                ));
            }
        });
        completions.count() != first
    }
}
