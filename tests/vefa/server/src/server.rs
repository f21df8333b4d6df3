// SPDX-License-Identifier: GPL-2.0
//! The loop that waits for clients, requests, due work and the signal to stop.

use crate::control::{ControlClient, Request};
use crate::device::Device;
use crate::log::note;
use crate::socket::Listener;
use crate::vfio_user::{Connection, ConnectionError, Session};
use anyhow::{Context, Result};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use vefa_model::{ControlReply, ControlRequest};

/// Most clients of the control socket at one time; more wait until one leaves.
const MAX_CONTROL_CLIENTS: usize = 32;
/// Messages of the vfio-user client that are served before others get their turn.
const MESSAGES_PER_TURN: usize = 64;

/// The device with its two sockets and those who use it.
pub struct Server {
    device: Device,
    listener: Listener,
    control_listener: Listener,
    client: Option<Client>,
    control_clients: Vec<ControlClient>,
    stopping: bool,
}

/// The one client that has the device, as a rule QEMU.
struct Client {
    connection: Connection,
    session: Session,
}

/// What there is to do after waiting.
struct Ready {
    stop: bool,
    listener: bool,
    control_listener: bool,
    client: bool,
    /// One for each control client.
    control_clients: Vec<bool>,
}

impl Server {
    /// A server for `device`, for vfio-user clients that come to `listener` and control clients that come
    /// to `control_listener`.
    pub fn new(device: Device, listener: Listener, control_listener: Listener) -> Self {
        Server {
            device,
            listener,
            control_listener,
            client: None,
            control_clients: Vec::new(),
            stopping: false,
        }
    }

    /// Serves until `stop` becomes readable or a control client asks to quit. Returns what leaked.
    ///
    /// # Errors
    ///
    /// When waiting or accepting fails, which no client can cause.
    pub fn run(mut self, stop: impl AsFd) -> Result<serde_json::Value> {
        while !self.stopping {
            let timeout = self.device.poll();
            let ready = self.wait(stop.as_fd(), timeout)?;
            self.stopping |= ready.stop;
            if ready.client {
                self.serve_client();
            }
            self.serve_control_clients(&ready.control_clients);
            if let Err(error) = self.accept(&ready) {
                // It is the client's file descriptors that can be too many.
                if self.client.is_none() {
                    return Err(error);
                }
                self.detach(&error);
            }
        }
        Ok(self.device.leaks())
    }

    fn wait(&self, stop: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<Ready> {
        let listen = |wanted| {
            if wanted {
                PollFlags::IN
            } else {
                PollFlags::empty()
            }
        };
        let transfer = |input, output| {
            let mut flags = listen(input);
            flags.set(PollFlags::OUT, output);
            flags
        };
        let room = self.control_clients.len() < MAX_CONTROL_CLIENTS;
        let mut fds = vec![
            PollFd::from_borrowed_fd(stop, PollFlags::IN),
            PollFd::new(&self.listener, listen(self.client.is_none())),
            PollFd::new(&self.control_listener, listen(room)),
        ];
        fds.extend(self.control_clients.iter().map(|client| {
            PollFd::new(client, transfer(client.wants_input(), client.has_output()))
        }));
        fds.extend(self.client.iter().map(|Client { connection, .. }| {
            PollFd::new(connection, transfer(true, connection.has_output()))
        }));
        let timeout = timeout.map(|t| Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(t.subsec_nanos()),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => (),
            Err(error) => return Err(error).context("poll"),
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let mut next = || ready.next().unwrap_or(false);
        Ok(Ready {
            stop: next(),
            listener: next(),
            control_listener: next(),
            control_clients: self.control_clients.iter().map(|_| next()).collect(),
            client: next(),
        })
    }

    fn accept(&mut self, ready: &Ready) -> Result<()> {
        if ready.listener {
            self.accept_client()?;
        }
        if ready.control_listener {
            self.accept_control_client()?;
        }
        Ok(())
    }

    /// Takes a new client where there is none. Else it waits: the end of a QEMU can be seen a little before
    /// its socket closes, and the next one must not be turned away for that.
    fn accept_client(&mut self) -> Result<()> {
        if let Some(socket) = self.listener.accept().context("accept a client")? {
            self.client = Some(Client {
                connection: Connection::new(socket)?,
                session: Session::default(),
            });
            note("client attached");
        }
        Ok(())
    }

    fn serve_client(&mut self) {
        let Some(client) = &mut self.client else {
            return;
        };
        if let Err(reason) = client.serve(&mut self.device) {
            self.detach(&reason);
        }
    }

    /// Ends the client's use of the device, which waits for the next one.
    fn detach(&mut self, reason: &anyhow::Error) {
        note(format_args!("client detached: {reason:#}"));
        self.client = None;
        self.device.detach();
    }

    fn accept_control_client(&mut self) -> Result<()> {
        let accepted = self.control_listener.accept();
        if let Some(socket) = accepted.context("accept a control client")? {
            self.control_clients.push(ControlClient::new(socket)?);
        }
        Ok(())
    }

    fn serve_control_clients(&mut self, ready: &[bool]) {
        let clients = std::mem::take(&mut self.control_clients);
        let mut ready = ready.iter().copied();
        for mut client in clients {
            let unready = !ready.next().unwrap_or(false);
            if unready || self.serve_control_client(&mut client).is_ok() && !client.is_done() {
                self.control_clients.push(client);
            }
        }
    }

    /// An error means that the client is gone, which concerns nobody else.
    fn serve_control_client(&mut self, client: &mut ControlClient) -> Result<()> {
        client.flush()?;
        for request in client.receive()? {
            let reply = match request {
                Ok(request) => self.control(request),
                Err(reply) => reply,
            };
            client.answer(&reply)?;
        }
        Ok(())
    }

    fn control(&mut self, request: Request) -> ControlReply {
        match request {
            Request::Status => ControlReply::done()
                .with("attached", self.client.is_some())
                .with("dma_windows", self.device.memory().windows())
                .with("vectors_connected", self.device.interrupts().connected()),
            Request::Device(ControlRequest::Quit {}) => {
                self.stopping = true;
                ControlReply::done().with("leaks", self.device.leaks())
            }
            Request::Device(request) => self.device.control(request),
        }
    }
}

impl Client {
    /// Serves what has arrived.
    fn serve(&mut self, device: &mut Device) -> Result<()> {
        self.connection.flush()?;
        for _ in 0..MESSAGES_PER_TURN {
            let Some(request) = self.connection.receive()? else {
                break;
            };
            let outcome = self.session.handle(device, request);
            if let Some((reply, fd)) = outcome.reply {
                self.connection.send(reply, fd)?;
            }
            if let Some(reason) = outcome.refused {
                return Err(ConnectionError::Refused(reason).into());
            }
        }
        Ok(())
    }
}
