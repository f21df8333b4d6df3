// SPDX-License-Identifier: GPL-2.0
//! The control socket: one JSON object a line from the client, one a line back.

use crate::outbox::{Outbox, OutboxError};
use serde_json::{json, Value};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use vefa_model::{ControlReply, ControlRequest};

/// Most bytes of a request, its newline not counted.
pub const MAX_LINE: usize = 64 << 10;

/// The operation that the server itself answers.
const STATUS: &str = "status";

/// What a client can ask for.
#[derive(Debug, PartialEq)]
pub enum Request {
    /// Whether a vfio-user client is attached, and what it has set up.
    Status,
    /// Of the device, except for `quit`, which the server carries out.
    Device(ControlRequest),
}

/// One client of the control socket. Never blocks.
pub struct ControlClient {
    socket: UnixStream,
    lines: LineBuffer,
    outbox: Outbox,
    /// The client sends nothing more; it may still read answers.
    at_end: bool,
}

impl ControlClient {
    /// Takes over `socket`.
    ///
    /// # Errors
    ///
    /// When the socket cannot be made non-blocking.
    pub fn new(socket: UnixStream) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(ControlClient {
            socket,
            lines: LineBuffer::default(),
            outbox: Outbox::default(),
            at_end: false,
        })
    }

    /// Receives what is there and gives the requests in it, the malformed ones as the answer they get.
    ///
    /// # Errors
    ///
    /// That of `read`; the client is then of no more use.
    pub fn receive(&mut self) -> std::io::Result<Vec<Result<Request, ControlReply>>> {
        let mut chunk = [0; 16 << 10];
        let mut requests = Vec::new();
        match self.socket.read(&mut chunk) {
            Ok(0) => {
                self.at_end = true;
                requests.extend(self.lines.finish());
            }
            Ok(count) => requests.extend(self.lines.push(chunk.get(..count).unwrap_or_default())),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => (),
            Err(error) => return Err(error),
        }
        Ok(requests.into_iter().map(parse).collect())
    }

    /// Queues an answer and sends what the socket takes.
    ///
    /// # Errors
    ///
    /// When the client is gone or does not read.
    pub fn answer(&mut self, reply: &ControlReply) -> Result<(), OutboxError> {
        let mut line = serde_json::to_vec(reply).unwrap_or_else(|_| b"{\"ok\":false}".to_vec());
        line.push(b'\n');
        self.outbox.push(line, None)?;
        self.flush()
    }

    /// Sends what the socket takes of what is queued.
    ///
    /// # Errors
    ///
    /// When the client is gone.
    pub fn flush(&mut self) -> Result<(), OutboxError> {
        self.outbox.flush(self.socket.as_fd())
    }

    /// Whether answers wait until the socket can take them.
    pub fn has_output(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether requests can still come.
    pub fn wants_input(&self) -> bool {
        !self.at_end
    }

    /// Whether there is nothing more to do for the client.
    pub fn is_done(&self) -> bool {
        self.at_end && self.outbox.is_empty()
    }
}

impl AsFd for ControlClient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A request line, or that one was too long.
type Line = Result<Vec<u8>, LineTooLong>;

#[derive(Debug, PartialEq, Eq)]
struct LineTooLong;

/// Cuts received bytes into lines of bounded length.
#[derive(Default)]
struct LineBuffer {
    bytes: Vec<u8>,
    /// The rest of the current line is dropped.
    skipping: bool,
}

impl LineBuffer {
    /// Adds what was received and returns the lines that this completes.
    fn push(&mut self, received: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for part in received.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            if self.bytes.len() + text.len() > MAX_LINE {
                self.skipping = true;
                self.bytes.clear();
            }
            if !self.skipping {
                self.bytes.extend_from_slice(text);
            }
            if ends {
                lines.extend(self.finish());
            }
        }
        lines
    }

    /// Ends the line. Blank lines do not count.
    fn finish(&mut self) -> Option<Line> {
        let line = std::mem::take(&mut self.bytes);
        if std::mem::take(&mut self.skipping) {
            return Some(Err(LineTooLong));
        }
        let blank = line.iter().all(u8::is_ascii_whitespace);
        (!blank).then_some(Ok(line))
    }
}

fn parse(line: Line) -> Result<Request, ControlReply> {
    let line = line.map_err(|LineTooLong| {
        ControlReply::refused(format!("a request is longer than {MAX_LINE} bytes"))
    })?;
    // Syntax first: serde's message for a tagged enum says nothing of where the text went wrong.
    let value: Value = serde_json::from_slice(&line)
        .map_err(|error| ControlReply::refused(format!("not JSON: {error}")))?;
    if value == json!({"op": STATUS}) {
        return Ok(Request::Status);
    }
    known_op(value.get("op")).map_err(ControlReply::refused)?;
    let request = serde_json::from_value(value).map_err(ControlReply::refused)?;
    Ok(Request::Device(request))
}

/// Serde's message would not tell of `status`, which is the server's own.
fn known_op(op: Option<&Value>) -> Result<(), String> {
    let ops = ControlRequest::OPS;
    match op.map(|op| (op, op.as_str())) {
        Some((_, Some(name))) if name == STATUS || ops.contains(&name) => Ok(()),
        Some((op, _)) => Err(format!(
            "there is no operation {op}; there are {}, {STATUS}",
            ops.join(", ")
        )),
        None => Err("no operation is given (op)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_come_in_pieces() {
        let mut buffer = LineBuffer::default();
        assert_eq!(buffer.push(b"{\"op\""), vec![]);
        let line = b"{\"op\":1}".to_vec();
        assert_eq!(buffer.push(b":1}\n\n  \n{"), vec![Ok(line)]);
        assert_eq!(buffer.finish(), Some(Ok(b"{".to_vec())));
        assert_eq!(buffer.finish(), None);
    }

    #[test]
    fn a_line_too_long_is_dropped_and_the_next_is_read() {
        let mut buffer = LineBuffer::default();
        assert_eq!(buffer.push(&vec![b'x'; MAX_LINE]), vec![]);
        assert_eq!(buffer.push(b"x"), vec![]);
        assert_eq!(buffer.push(&vec![b'y'; MAX_LINE]), vec![]);
        let next = Ok(b"next".to_vec());
        assert_eq!(buffer.push(b"\nnext\n"), vec![Err(LineTooLong), next]);
    }

    #[test]
    fn a_line_of_the_longest_length_is_read() {
        let mut buffer = LineBuffer::default();
        let longest = vec![b'x'; MAX_LINE];
        assert_eq!(buffer.push(&longest), vec![]);
        assert_eq!(buffer.push(b"\n"), vec![Ok(longest)]);
    }

    #[test]
    fn a_wrong_operation_is_told_all_there_are() {
        let error = |text: &str| parse(Ok(text.into())).unwrap_err().error.unwrap();
        let wrong = error(r#"{"op":"fly"}"#);
        assert!(
            wrong.starts_with("there is no operation \"fly\"; there are counters, "),
            "{wrong}"
        );
        assert!(wrong.ends_with(", quit, status"), "{wrong}");
        // Serde knows them all.
        let missed = serde_json::from_value::<ControlRequest>(json!({"op": "fly"})).unwrap_err();
        for op in ControlRequest::OPS {
            assert!(missed.to_string().contains(&format!("`{op}`")), "{op}");
        }
        assert_eq!(
            missed.to_string().matches('`').count(),
            2 * (ControlRequest::OPS.len() + 1)
        );
    }

    #[test]
    fn what_is_not_a_request_gets_an_answer() {
        for text in [
            "{",
            "[]",
            "1",
            "{}",
            r#"{"op":"no_such"}"#,
            r#"{"op":"quit","x":1}"#,
            "\u{0}",
        ] {
            let reply = parse(Ok(text.into())).unwrap_err();
            assert!(!reply.ok && reply.error.is_some(), "{text}");
        }
    }
}
