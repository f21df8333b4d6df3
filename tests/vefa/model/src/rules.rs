// SPDX-License-Identifier: GPL-2.0
//! The rules of the device's contract that a driver can break, and the record
//! of broken ones. Documentation/vefa.md explains each rule.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Most violations that are kept; older ones are dropped and counted.
const MAX_KEPT: usize = 4096;

macro_rules! rules {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)+) => {
        /// A rule of the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Rule {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The rule's name, as the control socket writes it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}

rules! {
    /// Registers are accessed in aligned 32-bit words.
    RegisterWidth = "register-width";
    /// Registers are read through MMIO_REG_READ only.
    RegisterDirectRead = "register-direct-read";
    /// Only offsets that hold a register are accessed.
    RegisterUnknown = "register-unknown";
    /// Read-only registers are not written.
    RegisterReadOnly = "register-read-only";
    /// Reserved bits of registers are written as zero.
    RegisterReservedBits = "register-reserved-bits";
    /// During a reset only DEV_CTL, MMIO_REG_READ and MMIO_RESP are used.
    RegisterDuringReset = "register-during-reset";
    /// MMIO_RESP is set, and set again after a reset, before a register is read.
    RegisterReadWithoutAddress = "register-read-without-address";
    /// A reset is asked for only while DEV_STS.READY is set.
    ResetNotReady = "reset-not-ready";
    /// A reset gives a reason that the specification knows.
    ResetReasonUnknown = "reset-reason-unknown";
    /// DEV_CTL is cleared only after RESET_IN_PROGRESS was set.
    ResetHandshake = "reset-handshake";
    /// The function is bus master when it is asked to do DMA.
    BusMasterOff = "bus-master-off";
    /// DMA addresses that the driver gives are mapped.
    DmaFault = "dma-fault";
    /// DMA addresses fit the width in CAPS.
    DmaAddressWidth = "dma-address-width";
    /// Queue depths are powers of two.
    QueueDepth = "queue-depth";
    /// Queue entry sizes are those of the API version.
    QueueEntrySize = "queue-entry-size";
    /// Queue vectors are vectors of the function.
    QueueVector = "queue-vector";
    /// A doorbell is rung only after its queue was set up.
    DoorbellWithoutQueue = "doorbell-without-queue";
    /// A doorbell page is written only while an object owns it.
    DoorbellUnowned = "doorbell-unowned";
    /// The admin queue never holds more commands than entries.
    AqOverrun = "aq-overrun";
    /// The AENQ's consumer never passes its producer.
    AenqConsumerAhead = "aenq-consumer-ahead";
    /// Event queues are armed only while they exist.
    EqDoorbell = "eq-doorbell";
    /// A submission entry has the phase of its lap.
    EntryPhase = "entry-phase";
    /// A submission entry has the right checksum (API 0.3).
    EntryChecksum = "entry-checksum";
    /// Reserved bits and bytes of a submission entry are zero.
    EntryReserved = "entry-reserved";
    /// A command id is not used again before its command completed.
    CommandIdInUse = "command-id-in-use";
    /// Must-be-zero bytes of a command are zero.
    CommandReserved = "command-reserved";
    /// Only AENQ groups that the device supports are enabled.
    AenqGroupUnsupported = "aenq-group-unsupported";
    /// HOST_INFO comes in a control buffer of its size.
    HostInfoBuffer = "host-info-buffer";
    /// PDs that a command names exist.
    PdUnknown = "pd-unknown";
    /// A PD is freed only after its AHs, QPs and MRs.
    PdBusy = "pd-busy";
    /// CREATE_AH is sent once for one (PD, GID).
    AhDuplicate = "ah-duplicate";
    /// AHs that a command names exist.
    AhUnknown = "ah-unknown";
    /// An AH is destroyed by the PD that owns it.
    AhWrongPd = "ah-wrong-pd";
    /// UARs that a command names exist.
    UarUnknown = "uar-unknown";
    /// A UAR is freed only after the QPs, CQs and event counters that use it.
    UarBusy = "uar-busy";
    /// Event queues that a command names exist.
    EqUnknown = "eq-unknown";
    /// An event queue is destroyed only after the CQs that report to it.
    EqBusy = "eq-busy";
    /// An event queue's depth is a power of two within its limit.
    EqDepth = "eq-depth";
    /// An event queue's element size is 4 words.
    EqEntrySize = "eq-entry-size";
    /// An event queue uses a completion vector: 1 or above.
    EqVector = "eq-vector";
    /// CQs report to event queues on which completion events are enabled.
    EqCompletions = "eq-completions";
    /// What needs a capability is asked of devices that have it.
    CapabilityAbsent = "capability-absent";
    /// CQs that a command names exist.
    CqUnknown = "cq-unknown";
    /// A CQ is destroyed only after the QPs that use it.
    CqBusy = "cq-busy";
    /// A CQ's entries have 4 words, or 8, which a source GID needs.
    CqEntrySize = "cq-entry-size";
    /// A CQ has as many sub-CQs as the device says.
    CqSubCqs = "cq-sub-cqs";
    /// A CQ's depth is within its limit.
    CqDepth = "cq-depth";
    /// MRs that a command names exist.
    MrUnknown = "mr-unknown";
    /// Guests register no physical memory.
    MrPhysical = "mr-physical";
    /// An MR's pages have a size that the device can use.
    MrPageSize = "mr-page-size";
    /// An MR has at least one byte.
    MrLength = "mr-length";
    /// A list of pages has the form and the lengths that the MR's size asks for.
    MrPageList = "mr-page-list";
    /// Pages of an MR, and of its list, are aligned to their size.
    MrPageAddress = "mr-page-address";
    /// QPs that a command names exist.
    QpUnknown = "qp-unknown";
    /// A QP is of a known type.
    QpType = "qp-type";
    /// A QP's depths and its send ring are within their limits.
    QpDepth = "qp-depth";
    /// States of a QP are known ones.
    QpState = "qp-state";
    /// A QP goes only from states to states that follow them.
    QpTransition = "qp-transition";
    /// A change of state comes with the attributes it needs, and no others.
    QpAttributes = "qp-attributes";
    /// Event counters that a command names exist.
    EventCounterUnknown = "event-counter-unknown";
    /// An event counter is destroyed only after the QPs that it counts for.
    EventCounterBusy = "event-counter-busy";
    /// An event counter's place in memory is aligned to 8 bytes.
    EventCounterAddress = "event-counter-address";
    /// An event counter is attached to events of a QP.
    EventCounterAttachType = "event-counter-attach-type";
    /// An event counter is set or added to.
    EventCounterOperation = "event-counter-operation";
}

/// A broken rule, with the particulars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Breach {
    pub rule: Rule,
    pub text: String,
}

impl Breach {
    pub fn new(rule: Rule, text: impl Into<String>) -> Self {
        Self {
            rule,
            text: text.into(),
        }
    }
}

/// A recorded violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Counts up from 1.
    pub seq: u64,
    /// Device time in microseconds.
    pub time_us: u64,
    /// The rule that was broken.
    pub rule: Rule,
    /// What the driver did.
    pub text: String,
}

/// The violations so far.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    kept: VecDeque<Violation>,
    total: u64,
    dropped: u64,
}

impl Violations {
    pub fn record(&mut self, time_us: u64, breach: Breach) {
        self.total += 1;
        if self.kept.len() == MAX_KEPT {
            self.kept.pop_front();
            self.dropped += 1;
        }
        self.kept.push_back(Violation {
            seq: self.total,
            time_us,
            rule: breach.rule,
            text: breach.text,
        });
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn kept(&self) -> &VecDeque<Violation> {
        &self.kept
    }

    pub fn clear(&mut self) {
        self.kept.clear();
        self.dropped = 0;
    }
}
