// SPDX-License-Identifier: GPL-2.0
//! A work request under way: which parts of it have been sent, and which have
//! been answered.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::data::descriptor::WorkRequest;
use crate::gid::Gid;

/// Most parts of one message that are under way at a time.
const WINDOW: usize = 64;

/// What a message waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// To be started, after a scripted delay.
    Start,
    /// For answers.
    Answer,
    /// For the receiver to have a buffer.
    Receiver,
}

/// A work request under way.
#[derive(Debug)]
pub(crate) struct Message {
    pub request: WorkRequest,
    /// GID behind the address handle.
    pub destination: Gid,
    pub wait: Wait,
    /// When to stop waiting.
    pub due: Option<Duration>,
    /// Times that the wait for an answer ended without one.
    pub timeouts: u32,
    /// Times that the receiver had no buffer.
    pub receiver_retries: u32,
    /// Whether a script loses all its packets.
    pub lost: bool,
    /// Bytes of a part; only the last part may be shorter.
    part_len: u32,
    parts: u32,
    /// The part that is sent next.
    next: u32,
    /// Parts without an answer, with how often each was sent.
    unanswered: BTreeMap<u32, u32>,
}

impl Message {
    pub fn new(request: WorkRequest, destination: Gid, mtu: u32) -> Self {
        let part_len = mtu.max(1);
        let parts = request.local.len().div_ceil(u64::from(part_len)).max(1);
        Self {
            request,
            destination,
            wait: Wait::Answer,
            due: None,
            timeouts: 0,
            receiver_retries: 0,
            lost: false,
            part_len,
            parts: u32::try_from(parts).unwrap_or(u32::MAX),
            next: 0,
            unanswered: BTreeMap::new(),
        }
    }

    /// Where a part begins in the message, and its length.
    pub fn range(&self, index: u32) -> (u64, u32) {
        let offset = u64::from(index) * u64::from(self.part_len);
        let left = self.request.local.len().saturating_sub(offset);
        let len = u32::try_from(left).unwrap_or(u32::MAX).min(self.part_len);
        (offset, len)
    }

    /// Whether this is the last part. It is sent when all others are answered,
    /// so that its receiver knows that the message is there.
    pub fn is_last(&self, index: u32) -> bool {
        index.saturating_add(1) == self.parts
    }

    /// The next part to send, if there is one that may be sent now.
    pub fn start_next(&mut self) -> Option<u32> {
        let index = self.next;
        let room = if self.is_last(index) {
            self.unanswered.is_empty()
        } else {
            self.unanswered.len() < WINDOW
        };
        if index >= self.parts || !room {
            return None;
        }
        self.next += 1;
        self.unanswered.insert(index, 0);
        Some(index)
    }

    /// A part goes out: how often it was sent before; `None` where it has been
    /// answered.
    pub fn sent(&mut self, index: u32) -> Option<u32> {
        let times = self.unanswered.get_mut(&index)?;
        let before = *times;
        *times = times.saturating_add(1);
        Some(before)
    }

    /// A part was answered: whether that was news.
    pub fn answered(&mut self, index: u32) -> bool {
        self.unanswered.remove(&index).is_some()
    }

    /// Whether a part was sent and has no answer.
    pub fn waits_for(&self, index: u32) -> bool {
        self.unanswered.contains_key(&index)
    }

    /// The parts to send again.
    pub fn overdue(&self) -> Vec<u32> {
        let sent = self.unanswered.iter().filter(|(_, times)| **times > 0);
        sent.map(|(index, _)| *index).collect()
    }

    /// Whether any part waits for an answer.
    pub fn is_waiting(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// Whether every part was answered.
    pub fn is_done(&self) -> bool {
        self.next == self.parts && self.unanswered.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::descriptor::{Buffer, Local};
    use crate::names::Operation;

    fn message(len: u32, mtu: u32) -> Message {
        let buffer = Buffer {
            address: 0,
            len,
            lkey: 1,
        };
        let request = WorkRequest {
            id: 0,
            operation: Operation::Write,
            immediate: None,
            ah: 1,
            destination_qp: 2,
            qkey: 0,
            local: Local::Buffers(vec![buffer]),
            remote: None,
            signaled: true,
        };
        Message::new(request, Gid([1; 16]), mtu)
    }

    #[test]
    fn the_last_part_is_sent_when_all_others_are_answered() {
        let mut message = message(2500, 1000);
        assert_eq!(
            (message.start_next(), message.start_next()),
            (Some(0), Some(1))
        );
        assert_eq!(message.start_next(), None);
        assert!(message.answered(1) && !message.answered(1));
        assert_eq!(message.start_next(), None);
        assert!(message.answered(0));
        assert_eq!(message.start_next(), Some(2));
        assert_eq!((message.range(2), message.is_last(2)), ((2000, 500), true));
        assert!(!message.is_done());
        assert!(message.answered(2) && message.is_done());
    }

    #[test]
    fn an_empty_message_is_one_part() {
        let mut message = message(0, 1000);
        assert_eq!(message.start_next(), Some(0));
        assert_eq!(message.range(0), (0, 0));
        assert_eq!(message.start_next(), None);
        assert!(message.answered(0) && message.is_done());
    }

    #[test]
    fn only_sent_parts_are_sent_again_and_no_more_than_a_window() {
        let mut message = message(1_000_000, 1000);
        let started = std::iter::from_fn(|| message.start_next()).count();
        assert_eq!(started, WINDOW);
        assert!(message.overdue().is_empty());
        assert_eq!((message.sent(3), message.sent(3)), (Some(0), Some(1)));
        assert_eq!(message.overdue(), [3]);
        assert_eq!(message.sent(WINDOW as u32), None);
    }
}
