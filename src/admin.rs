// SPDX-License-Identifier: GPL-2.0

//! The command layer of one device: from its PCI function to typed admin commands.
//!
//! [`Admin::probe`] brings a device up as far as commands, asynchronous events and completion
//! event queues go; dropping the result takes all of it down in order. Recovery of a device that
//! failed is not implemented yet: its queue stays closed until the driver is bound again.

pub(crate) mod commands;
pub(crate) mod control_buffer;
pub(crate) mod eq;
pub(crate) mod features;
pub(crate) mod stats;

mod aenq;
mod call;
mod completions;
mod crc;
mod interrupts;
mod mmio;
mod queue;
mod reset;
mod ring;
mod slots;
mod stop;
mod submission;

pub(crate) use self::commands::{
    AdminCommand,
    Creates, //
};

use self::{
    aenq::Aenq,
    control_buffer::ControlBuffer,
    eq::{
        CompletionEq,
        EventRing,
        Subscribers, //
    },
    features::Features,
    mmio::Registers,
    queue::AdminQueue,
    reset::{
        api_version,
        check_ready,
        reset,
        ApiVersion,
        Limits,
        Reason, //
    },
    stats::Stats,
    stop::Stop, //
};
use crate::hw::regs::*;
use kernel::{
    device::{
        Bound,
        Device, //
    },
    new_mutex,
    pci,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};
use rdma::{
    cq::Notifier,
    dma::{
        DmaGeneration,
        Lent,
        LetGo,
        UntilReset, //
    },
    host::{
        first_online_cpu,
        num_online_cpus, //
    },
    irq::{
        Handler,
        Registration,
        Vectors, //
    },
    pci::{
        memory_bars,
        Early,
        Enabled,
        ReservedBar, //
    }, //
};

/// BAR of the registers.
pub(crate) const REGISTERS_BAR: u32 = 0;

/// BAR of the LLQ memory. The kernel must not map it: user space maps it write combining.
pub(crate) const LLQ_BAR: u32 = 2;

/// What the BARs are called in `/proc/iomem`.
const BAR_NAME: &CStr = c"efa";

/// Vector of the admin queue and the AENQ.
const MANAGEMENT_VECTOR: u8 = 0;

/// What the interrupt handlers share with everyone else.
#[pin_data]
pub(crate) struct Core {
    registers: Arc<Registers>,
    stats: Arc<Stats>,
    #[pin]
    queue: AdminQueue,
    #[pin]
    aenq: Aenq,
    /// Who hears of which CQ's events.
    subscribers: Arc<Subscribers<Notifier>>,
    /// The memory of the event queues, there as long as that of the other queues.
    #[pin]
    eq_rings: Mutex<KVec<Arc<EventRing>>>,
}

impl Core {
    fn new(
        dev: &Device<Bound>,
        registers: Arc<Registers>,
        version: ApiVersion,
        timeout_ms: u32,
        dma: &DmaGeneration,
    ) -> Result<Arc<Self>> {
        let stats = Arc::new(Stats::new(), GFP_KERNEL)?;
        let subscribers = Arc::pin_init(Subscribers::new(), GFP_KERNEL)?;
        Arc::pin_init(
            try_pin_init!(Self {
                queue <- AdminQueue::new(
                    dev,
                    registers.clone(),
                    stats.clone(),
                    version,
                    timeout_ms,
                    dma,
                ),
                aenq <- Aenq::new(dev, registers.clone(), stats.clone(), dma),
                subscribers,
                eq_rings <- new_mutex!(KVec::new(), "efa_eq_rings"),
                registers,
                stats,
            }? Error),
            GFP_KERNEL,
        )
    }

    /// Hands the queues to the device, which does not interrupt yet.
    fn start(&self) {
        self.registers
            .write(INTR_MASK::zeroed().with_const_en::<1>());
        self.queue.start(MANAGEMENT_VECTOR);
        self.aenq.start(MANAGEMENT_VECTOR);
    }

    /// Lets the device interrupt.
    fn unmask(&self) {
        self.registers.write(INTR_MASK::zeroed());
    }

    /// Ends commands and events, before the device is reset.
    fn close(&self) {
        self.queue.close();
        self.aenq.close();
        for ring in self.eq_rings.lock().iter() {
            ring.close();
        }
    }
}

/// Serves the management vector.
struct ManagementHandler(Arc<Core>);

impl Handler for ManagementHandler {
    fn handle(&self) {
        let completions = self.0.queue.poll();
        let events = self.0.aenq.poll();
        // One that finds nothing is late: somebody who waited saw the completion first.
        if completions || !events {
            self.0.queue.interrupt_seen();
        }
    }
}

/// The command layer of one device.
///
/// Fields are dropped in this order: event queues are destroyed while commands work; then the
/// device is reset and does not master the bus any more; then the interrupt goes; last the queues,
/// whose memory is lost where it is still [`Lent`], and the BARs.
pub(crate) struct Admin {
    eqs: KVec<CompletionEq>,
    stop: Stop,
    _management_irq: Pin<KBox<Registration<ManagementHandler>>>,
    core: Arc<Core>,
    features: Features,
    _doorbell_bar: Option<ReservedBar>,
    _llq_bar: ReservedBar,
    _enabled: Enabled,
}

impl Admin {
    /// Brings a device up. Where that fails, all is undone and the device reset.
    ///
    /// # Errors
    ///
    /// * `ENODEV`: a BAR is missing, or the device is not ready.
    /// * `EPROBE_DEFER`: the device did not answer a register read, or did not reset, in time; it may be
    ///   up later.
    /// * `EOPNOTSUPP`: the device is too old for this driver.
    /// * `EINVAL`: the device tells something impossible.
    /// * `ENOSPC`: there are no interrupt vectors.
    /// * `EBUSY`: a BAR is used by somebody else.
    /// * `ETIME`: the device did not complete a command.
    /// * `ENOMEM`: out of memory, here or on the device.
    pub(crate) fn probe<'bound>(
        early: Early<'bound, '_>,
    ) -> Result<(&'bound pci::Device<Bound>, Self)> {
        let function: &pci::Device = early.function();
        // What is declared first is dropped last.
        let enabled = early.enable()?;

        require_bar(function, REGISTERS_BAR, "registers")?;
        require_bar(function, LLQ_BAR, "LLQ memory")?;
        let bar = early
            .map::<REGS_SIZE>(REGISTERS_BAR, BAR_NAME)
            .inspect_err(|error| dev_err!(function, "registers not mapped: {error:?}\n"))?;
        let llq_bar = early
            .reserve(LLQ_BAR, BAR_NAME)
            .inspect_err(|error| dev_err!(function, "BAR {LLQ_BAR} not reserved: {error:?}\n"))?;

        let dev: &Device = function.as_ref();
        let dma = DmaGeneration::new()?;
        let registers = Registers::new(dev, bar, Lent::new(early.alloc()?, &dma))?;
        let mut stop = Stop::new(dev, registers.clone(), early.let_master()?, dma);
        // What the device knew before was not this driver's.
        let _proof = reset(dev, &registers, Reason::Normal).map_err(defer)?;
        let version = api_version(dev, &registers).map_err(defer)?;
        let limits = Limits::read(dev, &registers).map_err(defer)?;
        let pdev: &pci::Device<Bound> = early.with_dma_limits(limits.dma_address_bits)?;
        let dev: &Device<Bound> = pdev.as_ref();
        check_ready(dev, &registers).map_err(defer)?;

        let vectors = Vectors::new(pdev, num_online_cpus().saturating_add(1))
            .inspect_err(|error| dev_err!(dev, "no MSI-X vectors: {error:?}\n"))?;
        let timeout_ms = limits.command_timeout_ms;
        let core = Core::new(dev, registers, version, timeout_ms, stop.dma())?;
        stop.set_core(&core);
        core.start();
        let management_irq = Registration::new(
            dev,
            vectors.clone(),
            MANAGEMENT_VECTOR.into(),
            first_online_cpu(),
            fmt!("efa-mgmnt@pci:{}", dev.name()),
            ManagementHandler(core.clone()),
        )?;
        core.unmask();

        let features = Features::read(dev, &core.queue)?;
        let doorbell_bar = reserve_doorbells(pdev, features.doorbell_bar())?;
        let mut admin = Self {
            eqs: KVec::new(),
            stop,
            _management_irq: management_irq,
            core,
            features,
            _doorbell_bar: doorbell_bar,
            _llq_bar: llq_bar,
            _enabled: enabled,
        };
        admin.apply_hw_hints(dev)?;
        admin
            .features
            .enable_events(dev, &admin.core.queue, aenq::GROUPS)?;
        admin.create_eqs(dev, &vectors)?;
        admin
            .features
            .set_host_info(dev, pdev.dev_id(), &admin.core.queue);
        Ok((pdev, admin))
    }

    fn apply_hw_hints(&self, dev: &Device) -> Result {
        let hints = self.features.hw_hints(dev, &self.core.queue)?;
        if hints.mmio_read_timeout != 0 {
            self.core
                .registers
                .set_read_timeout_ms(hints.mmio_read_timeout.into());
        }
        if hints.admin_completion_timeout != 0 {
            self.core
                .queue
                .set_timeout_ms(hints.admin_completion_timeout.into());
        }
        Ok(())
    }

    /// Creates as many event queues as the device and the vectors allow.
    fn create_eqs(&mut self, dev: &Device<Bound>, vectors: &Arc<Vectors>) -> Result {
        let Some(limits) = self.features.event_queues else {
            return Ok(());
        };
        for number in 0..eq::count(limits.max_eq, vectors.len()) {
            let ring = EventRing::new(dev, &self.core, self.dma(), limits.max_eq_depth)?;
            // Kept until after the reset, also when creating the queue fails.
            self.core.eq_rings.lock().push(ring.clone(), GFP_KERNEL)?;
            let eq = CompletionEq::new(dev, &self.core, vectors, &ring, number)?;
            self.eqs.push(eq, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Has the device execute a command and waits for the completion.
    ///
    /// # Errors
    ///
    /// * `ENODEV`: the queue is closed, since the device failed or was shut down. It was not given
    ///   the command.
    /// * `ETIME`: the device did not complete the command in time, or before it was shut down. It
    ///   may still carry it out. The queue is closed then.
    /// * `EINTR`: the process was killed before the device was given the command.
    /// * `ENOMEM`: the device has no such resource left.
    /// * `EOPNOTSUPP`: the device does not have the command.
    /// * `EINVAL`: the device refused the command.
    pub(crate) fn exec<C: AdminCommand>(&self, command: &C) -> Result<C::Reply> {
        self.core.queue.exec(command)
    }

    /// Has the device create an object that uses `memory`, by the command that `command` makes.
    ///
    /// # Errors
    ///
    /// See [`Admin::exec`]. The memory is freed, but for `ETIME`.
    pub(crate) fn create<C: Creates, M: 'static>(
        &self,
        memory: M,
        command: impl FnOnce(&mut Lent<M, C::End>) -> Result<(C, Option<ControlBuffer>)>,
    ) -> Result<Created<C, M>, NotCreated<M>> {
        let mut memory = Lent::new(memory, self.dma());
        let reply = command(&mut memory)
            .and_then(|(command, buffer)| self.core.queue.exec_with(&command, buffer));
        match reply {
            Ok(reply) => Ok(Created { reply, memory }),
            // It has the command, and did not complete it.
            Err(ETIME) => Err(NotCreated {
                error: ETIME,
                kept: Some(memory.until_reset()),
            }),
            Err(error) => {
                memory.let_go(LetGo::acknowledged(self.dma()));
                Err(NotCreated { error, kept: None })
            }
        }
    }

    /// The reset generation: objects of an older one do not exist on the device any more.
    pub(crate) fn generation(&self) -> u32 {
        self.stop.generation()
    }

    /// What the device is lent now. Outlives `self`.
    pub(crate) fn dma(&self) -> &DmaGeneration {
        self.stop.dma()
    }

    /// Whether commands are accepted: no command timed out, and the device was not shut down.
    pub(crate) fn is_open(&self) -> bool {
        self.core.queue.is_open()
    }

    /// What the device told in probe.
    pub(crate) fn features(&self) -> &Features {
        &self.features
    }

    /// The counters.
    pub(crate) fn stats(&self) -> &Stats {
        &self.core.stats
    }

    /// The completion event queue of a completion vector.
    pub(crate) fn eq(&self, vector: u32) -> Option<&CompletionEq> {
        self.eqs.get(usize::try_from(vector).ok()?)
    }

    /// The number of completion event queues.
    pub(crate) fn eq_count(&self) -> usize {
        self.eqs.len()
    }

    /// Tells that probe succeeded as a whole: dropping this is a normal end from now on.
    pub(crate) fn probe_succeeded(&self) {
        self.stop.probe_succeeded();
    }

    /// Makes the device stop for a shutdown of the machine: no DMA and no interrupt afterwards.
    /// Commands fail with `ENODEV`.
    pub(crate) fn shutdown(&self) {
        self.stop.stop(Reason::Shutdown);
    }
}

/// An object that the device created by the command `C`, and its memory.
pub(crate) struct Created<C: Creates, M> {
    pub(crate) reply: C::Reply,
    pub(crate) memory: Lent<M, C::End>,
}

/// Why an object was not created.
pub(crate) struct NotCreated<M> {
    pub(crate) error: Error,
    /// Its memory, where it is not known what the device did.
    pub(crate) kept: Option<Lent<M, UntilReset>>,
}

/// The probe's error where registers could not be read: a device that is silent may be up later.
fn defer(error: Error) -> Error {
    if error == ETIME {
        EPROBE_DEFER
    } else {
        error
    }
}

/// Checks that the device has a memory BAR.
fn require_bar(pdev: &pci::Device, bar: u32, purpose: &str) -> Result {
    let available = memory_bars(pdev);
    if 1u32.checked_shl(bar).unwrap_or(0) & available == 0 {
        dev_err!(
            pdev,
            "memory BAR {bar} ({purpose}) is missing (mask of those there are: {available:#x})\n"
        );
        return Err(ENODEV);
    }
    Ok(())
}

/// Reserves the BAR of the doorbells, unless it is one that the driver has.
fn reserve_doorbells(pdev: &pci::Device<Bound>, bar: u32) -> Result<Option<ReservedBar>> {
    require_bar(pdev, bar, "doorbells")?;
    if bar == REGISTERS_BAR || bar == LLQ_BAR {
        return Ok(None);
    }
    ReservedBar::new(pdev, bar, BAR_NAME)
        .inspect_err(|error| dev_err!(pdev, "doorbell BAR {bar} not reserved: {error:?}\n"))
        .map(Some)
}
