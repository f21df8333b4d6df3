// SPDX-License-Identifier: GPL-2.0
//! One device with its two sockets and those who use it.

use crate::control::{ControlClient, Request};
use crate::device::Device;
use crate::log::note;
use crate::socket::Listener;
use crate::vfio_user::{Connection, ConnectionError, Session};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags};
use std::fmt::Display;
use vefa_fabric::Port;
use vefa_model::{ControlReply, ControlRequest, Gid, Packet};

/// Most clients of the control socket at one time; more wait until one leaves.
const MAX_CONTROL_CLIENTS: usize = 32;

/// A device, the socket where a virtual machine attaches to it, and its control socket.
pub struct Slot {
    pub device: Device,
    /// How messages for the person call the device; empty where there is but one.
    name: String,
    listener: Listener,
    control_listener: Listener,
    client: Option<Client>,
    control_clients: Vec<ControlClient>,
    quit: bool,
}

/// The one client that has the device, as a rule QEMU.
struct Client {
    connection: Connection,
    session: Session,
}

/// What there is to do after waiting.
pub struct Ready {
    /// The client has sent something, or can take more.
    pub client: bool,
    listener: bool,
    control_listener: bool,
    /// One for each control client.
    control_clients: Vec<bool>,
}

impl Slot {
    /// A slot for `device`, for vfio-user clients that come to `listener` and control clients that come to
    /// `control_listener`.
    pub fn new(device: Device, listener: Listener, control_listener: Listener) -> Self {
        Slot {
            device,
            name: String::new(),
            listener,
            control_listener,
            client: None,
            control_clients: Vec::new(),
            quit: false,
        }
    }

    /// Tells messages of this device from those of others.
    pub fn call(&mut self, name: String) {
        self.name = name;
    }

    /// Whether a control client has asked to quit.
    pub fn wants_to_quit(&self) -> bool {
        self.quit
    }

    /// What to wait for.
    pub fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let listen = |wanted| {
            if wanted {
                PollFlags::IN
            } else {
                PollFlags::empty()
            }
        };
        let transfer = move |input, output| {
            let mut flags = listen(input);
            flags.set(PollFlags::OUT, output);
            flags
        };
        let room = self.control_clients.len() < MAX_CONTROL_CLIENTS;
        let listeners = [
            PollFd::new(&self.listener, listen(self.client.is_none())),
            PollFd::new(&self.control_listener, listen(room)),
        ];
        let control_clients = self.control_clients.iter().map(move |client| {
            PollFd::new(client, transfer(client.wants_input(), client.has_output()))
        });
        let client = self.client.iter().map(move |Client { connection, .. }| {
            PollFd::new(connection, transfer(true, connection.has_output()))
        });
        listeners.into_iter().chain(control_clients).chain(client)
    }

    /// What came of it: takes one answer of `fired` for each of [`Slot::poll_fds`].
    pub fn ready(&self, mut fired: impl Iterator<Item = bool>) -> Ready {
        let mut next = || fired.next().unwrap_or(false);
        Ready {
            listener: next(),
            control_listener: next(),
            control_clients: self.control_clients.iter().map(|_| next()).collect(),
            client: self.client.is_some() && next(),
        }
    }

    /// Serves one message of the client, if one has arrived; whether there was one.
    pub fn serve_client(&mut self) -> bool {
        let Some(client) = &mut self.client else {
            return false;
        };
        client.serve(&mut self.device).unwrap_or_else(|reason| {
            self.detach(&reason);
            false
        })
    }

    /// Serves the control clients that have sent something or can take more.
    pub fn serve_control_clients(&mut self, ready: &Ready) {
        let clients = std::mem::take(&mut self.control_clients);
        let mut ready = ready.control_clients.iter().copied();
        for mut client in clients {
            let unready = !ready.next().unwrap_or(false);
            if unready || self.serve_control_client(&mut client).is_ok() && !client.is_done() {
                self.control_clients.push(client);
            }
        }
    }

    /// Takes new clients.
    ///
    /// # Errors
    ///
    /// When accepting fails, which no client can cause.
    pub fn accept(&mut self, ready: &Ready) -> Result<()> {
        let accepted = self.accept_ready(ready);
        match accepted {
            // It is the client's file descriptors that can be too many.
            Err(error) if self.client.is_some() => self.detach(&error),
            accepted => accepted?,
        }
        Ok(())
    }

    fn accept_ready(&mut self, ready: &Ready) -> Result<()> {
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
            self.note("client attached");
        }
        Ok(())
    }

    fn accept_control_client(&mut self) -> Result<()> {
        let accepted = self.control_listener.accept();
        if let Some(socket) = accepted.context("accept a control client")? {
            self.control_clients.push(ControlClient::new(socket)?);
        }
        Ok(())
    }

    /// Ends the client's use of the device, which waits for the next one.
    fn detach(&mut self, reason: &anyhow::Error) {
        self.note(format_args!("client detached: {reason:#}"));
        self.client = None;
        self.device.detach();
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
                self.quit = true;
                ControlReply::done().with("leaks", self.device.leaks())
            }
            Request::Device(request) => self.device.control(request),
        }
    }

    fn note(&self, message: impl Display) {
        note(format_args!("{}{message}", self.name));
    }
}

impl Port for Slot {
    fn gid(&self) -> Gid {
        self.device.gid()
    }

    fn take_packets(&mut self) -> Vec<Packet> {
        self.device.take_packets()
    }

    fn deliver(&mut self, packet: Packet) {
        self.device.deliver(packet);
    }
}

impl Client {
    /// Serves one message, if one has arrived; whether there was one.
    fn serve(&mut self, device: &mut Device) -> Result<bool> {
        self.connection.flush()?;
        let Some(request) = self.connection.receive()? else {
            return Ok(false);
        };
        let outcome = self.session.handle(device, request);
        if let Some((reply, fd)) = outcome.reply {
            self.connection.send(reply, fd)?;
        }
        match outcome.refused {
            Some(reason) => Err(ConnectionError::Refused(reason).into()),
            None => Ok(true),
        }
    }
}
