// SPDX-License-Identifier: GPL-2.0
//! What guest memory the device knows, and what is in it: a test sees by it whether a driver gave
//! memory away that the device may still read or write.

use serde::Serialize;

use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::ring::Ring;
use crate::EfaModel;

/// Most bytes that are looked at for one answer.
const MAX_BYTES: u64 = 64 << 20;
const PIECE: usize = 64 << 10;

/// Bytes of a receive descriptor, of an event counter, and of the answer to a register read.
const RECEIVE_DESCRIPTOR: u64 = 16;
const EVENT_COUNTER: u64 = 8;
const REGISTER_ANSWER: u64 = 8;

/// Guest memory that the device knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Known {
    /// What it is: `aq`, `acq`, `aenq`, `register_answer`, or a kind of object.
    pub of: &'static str,
    /// The object's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// Bus address.
    pub address: u64,
    pub bytes: u64,
    /// A digest of what is in it; `None` where there is no memory.
    pub digest: Option<String>,
}

impl Known {
    fn new(of: &'static str, id: Option<u32>, address: u64, bytes: u64) -> Self {
        Self {
            of,
            id,
            address,
            bytes,
            digest: None,
        }
    }

    fn ring(of: &'static str, id: Option<u32>, ring: &Ring) -> Self {
        let bytes = u64::from(ring.depth()) * u64::from(ring.entry_size());
        Self::new(of, id, ring.base(), bytes)
    }
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// All guest memory that the device knows.
    ///
    /// # Errors
    /// Where that is too much to look at.
    pub(crate) fn reach(&self) -> Result<Vec<Known>, String> {
        let mut all = self.known_of_driver();
        all.extend(self.known_of_objects());
        let bytes = all
            .iter()
            .fold(0_u64, |sum, known| sum.saturating_add(known.bytes));
        if bytes > MAX_BYTES {
            return Err(format!("the device knows {bytes} bytes of memory"));
        }
        for known in &mut all {
            known.digest = self.digest(known.address, known.bytes);
        }
        Ok(all)
    }

    fn known_of_driver(&self) -> Vec<Known> {
        let queues = &self.queues;
        let answer = self.written.response_address();
        let answer = answer.map(|at| Known::new("register_answer", None, at, REGISTER_ANSWER));
        let submission = queues.submission.as_ref();
        let completion = queues.completion.as_ref();
        let aenq = queues.aenq.as_ref();
        let rings = [
            submission.map(|ring| Known::ring("aq", None, ring)),
            completion.map(|queue| Known::ring("acq", None, &queue.ring)),
            aenq.map(|queue| Known::ring("aenq", None, queue.ring())),
        ];
        answer
            .into_iter()
            .chain(rings.into_iter().flatten())
            .collect()
    }

    fn known_of_objects(&self) -> impl Iterator<Item = Known> + '_ {
        let objects = &self.objects;
        let eqs = objects.eqs.iter();
        let eqs = eqs.map(|(id, eq)| Known::ring("eq", Some(u32::from(*id)), &eq.ring));
        let cqs = objects.cqs.iter().flat_map(|(id, cq)| {
            let rings = cq.sub_cqs.iter();
            rings.map(|ring| Known::ring("cq", Some(u32::from(*id)), ring))
        });
        let qps = objects.qps.iter().filter_map(|qp| {
            let queue = qp.receive?;
            let bytes = u64::from(queue.entries) * RECEIVE_DESCRIPTOR;
            Some(Known::new("qp", Some(qp.number.into()), queue.base, bytes))
        });
        let mrs = objects.mrs.iter().flat_map(|(id, mr)| {
            let parts = mr.segments(mr.iova, mr.len).into_iter().flatten();
            parts.map(move |(address, bytes)| Known::new("mr", Some(id), address, bytes))
        });
        let counters = objects.counters.iter();
        let counters = counters.map(|(id, counter)| {
            Known::new("event_counter", Some(id), counter.address, EVENT_COUNTER)
        });
        eqs.chain(cqs).chain(qps).chain(mrs).chain(counters)
    }

    fn digest(&self, address: u64, bytes: u64) -> Option<String> {
        // FNV-1a: enough to tell memory that nobody chose for its digest.
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        let mut buffer = vec![0; PIECE];
        let mut done = 0;
        while done < bytes {
            let len = PIECE.min(usize::try_from(bytes - done).unwrap_or(PIECE));
            let piece = buffer.get_mut(..len)?;
            if !self.bus.look(address.checked_add(done)?, piece) {
                return None;
            }
            for byte in piece {
                digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
            done += len as u64;
        }
        Some(format!("{digest:016x}"))
    }
}
