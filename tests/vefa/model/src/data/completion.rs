// SPDX-License-Identifier: GPL-2.0
//! Completions, the events that they raise, and the counters that count them.

use std::collections::{BTreeSet, VecDeque};

use vefa_spec::constants as c;
use vefa_spec::entries::{CompEvent, Eqe};
use vefa_spec::io::{CdescCommon, RxCdesc, RxCdescEx, RxCdescRdmaWrite, TxCdesc};
use vefa_spec::io_constants::{self as io, cq_doorbell};
use vefa_spec::regs::field_prep;
use vefa_spec::Wire;

use crate::answers::Mask;
use crate::data::descriptor::upper_id;
use crate::gid::Gid;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Operation, WorkStatus};
use crate::objects::{Ah, SubCq};
use crate::EfaModel;

/// Stands for a sender without an address handle.
const NO_AH: u16 = 0xffff;

/// The end of a work request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    pub qp: u16,
    pub operation: Operation,
    pub status: WorkStatus,
    pub side: Side,
}

/// What a completed work request was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Side {
    Send {
        id: u64,
        /// Whether success is written to the CQ, too.
        signaled: bool,
    },
    Receive {
        /// None where no receive buffer was taken.
        id: Option<u16>,
        arrival: Arrival,
    },
}

/// What arrived, and from whom; nothing where a receive buffer is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Arrival {
    /// In bytes.
    pub len: u32,
    pub immediate: Option<u32>,
    pub source_qp: u16,
    /// The sender, and its address handle if the receiver has one.
    pub source: Option<(Gid, Option<u16>)>,
}

/// Completions that a script holds back.
#[derive(Debug, Default)]
pub(crate) struct Held {
    all: bool,
    qps: BTreeSet<u16>,
    /// Each with the base address of its CQ, which tells a later CQ from it.
    completions: VecDeque<(u64, SubCq, Completion)>,
}

impl Held {
    /// Holds back, or no longer, the completions of one QP or of all.
    fn set(&mut self, qp: Option<u16>, on: bool) {
        match (qp, on) {
            (None, _) => {
                self.all = on;
                self.qps.clear();
            }
            (Some(qp), true) => {
                self.qps.insert(qp);
            }
            (Some(qp), false) => {
                self.qps.remove(&qp);
            }
        }
    }

    fn holds(&self, qp: u16) -> bool {
        self.all || self.qps.contains(&qp)
    }

    /// Forgets what is held back; what to hold back stays.
    pub fn clear(&mut self) {
        self.completions.clear();
    }
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// A work request ended: its completion is written, or held back.
    pub(crate) fn complete_work(&mut self, completion: Completion) {
        let Some(qp) = self.objects.qps.get(completion.qp) else {
            return;
        };
        let target = match completion.side {
            Side::Send { .. } => qp.send_cq,
            Side::Receive { .. } => qp.receive_cq,
        };
        if self.data.held.holds(completion.qp) {
            if let Some(cq) = self.objects.cqs.get(&target.cq) {
                let held = (cq.base, target, completion);
                self.data.held.completions.push_back(held);
            }
            return;
        }
        self.write_work(target, &completion);
    }

    /// Holds completions back, or lets those held so far go.
    pub(crate) fn hold_completions(&mut self, qp: Option<u16>, on: bool) {
        self.data.held.set(qp, on);
        let held = std::mem::take(&mut self.data.held.completions);
        for (base, target, completion) in held {
            if self.data.held.holds(completion.qp) {
                let held = (base, target, completion);
                self.data.held.completions.push_back(held);
            } else if self
                .objects
                .cqs
                .get(&target.cq)
                .is_some_and(|cq| cq.base == base)
            {
                self.write_work(target, &completion);
            }
        }
    }

    /// The doorbell of a CQ: how far its consumer has come, and whether it
    /// waits for an event.
    pub(crate) fn completion_doorbell(&mut self, number: u16, value: u32) {
        let Some(cq) = self.objects.cqs.get_mut(&number) else {
            return;
        };
        if value & cq_doorbell::ARM_MASK == 0 {
            return;
        }
        let written = cq
            .sub_cqs
            .iter()
            .fold(0, |sum: u32, ring| sum.wrapping_add(ring.index));
        let consumed = value & cq_doorbell::CONSUMER_INDEX_MASK;
        cq.armed = true;
        self.journal.counters.cq_arms += 1;
        if written & cq_doorbell::CONSUMER_INDEX_MASK != consumed {
            self.completion_event(number);
        }
    }

    /// The doorbell of an event queue. Arming it raises the interrupt at once
    /// where an event was written meanwhile.
    pub(crate) fn arm_event_queue(&mut self, number: u16, arm: bool) {
        let Some(eq) = self.objects.eqs.get_mut(&number) else {
            return;
        };
        eq.armed = arm;
        self.journal.counters.eq_arms += u64::from(arm);
        if arm && eq.pending {
            self.raise_event_queue(number);
        }
    }

    /// Counts an event of a QP that concerns no work request of its own.
    pub(crate) fn count_event(&mut self, qp: u16, event: u32) {
        let Some(qp) = self.objects.qps.get(qp) else {
            return;
        };
        let counting = qp.counters.iter().filter(|it| it.events & event != 0);
        let handles: Vec<_> = counting.map(|it| it.counter).collect();
        let max = self.config.event_counter_max_val;
        for handle in handles {
            let Some(counter) = self.objects.counters.get_mut(handle) else {
                continue;
            };
            counter.add(1, max);
            let counter = *counter;
            if let Err(breach) = self.store_value(&counter) {
                self.journal.breach(breach);
            }
        }
    }

    fn write_work(&mut self, target: SubCq, completion: &Completion) {
        let status = completion.status;
        let name = status.name().to_owned();
        *self.journal.counters.completions.entry(name).or_default() += 1;
        self.count_event(completion.qp, event_of(completion));
        let silent = matches!(
            completion.side,
            Side::Send {
                signaled: false,
                ..
            }
        );
        if silent && status == WorkStatus::Ok {
            return;
        }
        let Some(cq) = self.objects.cqs.get_mut(&target.cq) else {
            return;
        };
        let with_source_gid = cq.with_source_gid;
        let (wide_id, size) = (cq.wide_req_id, usize::from(cq.entry_size));
        let Some(ring) = cq.sub_cqs.get_mut(usize::from(target.sub)) else {
            return;
        };
        let (address, phase) = (ring.address(), ring.phase());
        ring.advance();
        let entry = encode(completion, phase, wide_id, with_source_gid);
        let entry = entry.get(..size).unwrap_or(&entry);
        let width = self.config.dma_addr_width;
        let written = self.bus.write_entry(width, address, entry);
        let armed = cq.armed;
        if let Err(breach) = written {
            self.journal.breach(breach);
        } else if armed {
            self.completion_event(target.cq);
        }
    }

    /// Tells the event queue of a CQ that there are completions, once.
    fn completion_event(&mut self, number: u16) {
        let Some(cq) = self.objects.cqs.get_mut(&number) else {
            return;
        };
        cq.armed = false;
        if let Some(eq) = cq.eq {
            // The driver cannot destroy it before the CQ.
            let _ = self.write_event(eq, number);
        }
    }

    /// Writes an event of CQ `cq` to event queue `eqn`.
    ///
    /// # Errors
    /// Says why the driver does not get it.
    pub(crate) fn write_event(&mut self, eqn: u16, cq: u16) -> Result<(), String> {
        let Some(eq) = self.objects.eqs.get_mut(&eqn) else {
            return Err(format!("there is no event queue {eqn}"));
        };
        let event = CompEvent {
            cqn: cq,
            ..CompEvent::default()
        };
        let [low, high] = <[u32; 2]>::get(&event.encode(), 0).unwrap_or_default();
        let kind = field_prep(c::EQE_EVENT_TYPE_MASK, c::EQE_EVENT_TYPE_COMPLETION);
        let element = Eqe {
            common: u32::from(eq.ring.phase()) | kind,
            event_data: [low, high],
            ..Eqe::default()
        };
        let address = eq.ring.address();
        eq.ring.advance();
        eq.pending = true;
        let armed = eq.armed;
        self.journal.counters.cq_events += 1;
        let mut element = element.encode();
        self.shape(&mut element, &Mask::of_completion_event());
        let width = self.config.dma_addr_width;
        if let Err(breach) = self.bus.write_entry(width, address, &element) {
            let text = breach.text.clone();
            self.journal.breach(breach);
            return Err(text);
        }
        if armed {
            self.raise_event_queue(eqn);
        }
        Ok(())
    }

    fn raise_event_queue(&mut self, number: u16) {
        let Some(eq) = self.objects.eqs.get_mut(&number) else {
            return;
        };
        (eq.armed, eq.pending) = (false, false);
        let vector = eq.vector;
        if self.bus.raise(vector) {
            *self.journal.counters.interrupts.entry(vector).or_default() += 1;
        }
    }

    /// The address handle of a PD for a GID, as completions name a sender.
    pub(crate) fn sender(&self, pd: u16, gid: Gid) -> (Gid, Option<u16>) {
        (gid, self.objects.ahs.find(Ah { pd, gid }))
    }
}

/// The event that event counters count for a completion.
fn event_of(completion: &Completion) -> u32 {
    let (good, bad) = match (&completion.side, completion.operation) {
        (Side::Receive { .. }, _) => (
            c::EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_MASK,
            c::EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_ERR_MASK,
        ),
        (_, Operation::Send) => (
            c::EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_MASK,
            c::EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_ERR_MASK,
        ),
        (_, Operation::Read) => (
            c::EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_MASK,
            c::EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_ERR_MASK,
        ),
        (_, Operation::Write) => (
            c::EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_MASK,
            c::EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_ERR_MASK,
        ),
    };
    if completion.status == WorkStatus::Ok {
        good
    } else {
        bad
    }
}

/// The entry, in its long form.
fn encode(
    completion: &Completion,
    phase: u8,
    wide_id: bool,
    with_source_gid: bool,
) -> [u8; RxCdescEx::LAYOUT.size] {
    let mut entry = [0; RxCdescEx::LAYOUT.size];
    let common = |id: u16, queue: u32, more: u32| CdescCommon {
        req_id: id,
        status: completion.status.number(),
        flags: (u32::from(phase)
            | field_prep(io::CDESC_COMMON_Q_TYPE_MASK, queue)
            | field_prep(io::CDESC_COMMON_OP_TYPE_MASK, completion.operation.number())
            | more) as u8,
        qp_num: completion.qp,
    };
    match completion.side {
        Side::Send { id, .. } => {
            let mut cdesc = TxCdesc {
                common: common(id as u16, io::SEND_QUEUE, 0),
                ..TxCdesc::default()
            };
            if wide_id {
                cdesc.req_id_ex = upper_id(id);
            }
            cdesc.put(&mut entry, 0);
        }
        Side::Receive { id, arrival } => {
            let unsolicited = field_prep(io::CDESC_COMMON_UNSOLICITED_MASK, id.is_none().into());
            let has_immediate = arrival.immediate.is_some().into();
            let has_immediate = field_prep(io::CDESC_COMMON_HAS_IMM_MASK, has_immediate);
            let ah = arrival.source.and_then(|(_, ah)| ah);
            let cdesc = RxCdesc {
                common: common(id.unwrap_or(0), io::RECV_QUEUE, unsolicited | has_immediate),
                length: arrival.len as u16,
                ah: ah.unwrap_or(NO_AH),
                src_qp_num: arrival.source_qp,
                imm: arrival.immediate.unwrap_or(0),
            };
            cdesc.put(&mut entry, 0);
            match arrival.source {
                _ if completion.operation == Operation::Write => {
                    let more = RxCdescRdmaWrite {
                        length_hi: (arrival.len >> 16) as u16,
                    };
                    more.put(&mut entry, RxCdesc::SIZE);
                }
                Some((gid, None)) if with_source_gid => gid.0.put(&mut entry, RxCdesc::SIZE),
                _ => (),
            }
        }
    }
    entry
}
