// SPDX-License-Identifier: GPL-2.0
//! A small driver: it brings the model up as a kernel driver does, and sends
//! commands one at a time.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{json, Value};
use vefa_model::journal::Counters;
use vefa_model::names::{Opcode, ResetReason, Status};
use vefa_model::rules::{Rule, Violation};
use vefa_model::{
    ApiVersion, Config, ControlReply, DmaError, EfaModel, Gid, GuestMemory, IrqSink, LlqMemory,
};
use vefa_spec::commands::{
    AllocPdResp, AllocUarResp, CreateAhCmd, CreateAhResp, CreateEqCmd, CreateEqResp, DeallocPdCmd,
    DeallocUarCmd, DestroyAhCmd, DestroyEqCmd,
};
use vefa_spec::entries::{AcqCommonDesc, AenqCommonDesc, MemAddr, MmioReadResp};
use vefa_spec::features::{GetFeatureCmd, GetSetFeatureCommonDesc, SetFeatureCmd};
use vefa_spec::{crc, regs, Wire};

pub const DEPTH: u32 = 32;
pub const MEMORY_BASE: u64 = 0x10_0000;
const MEMORY_SIZE: usize = 0x40_0000;
const RESPONSE: u64 = MEMORY_BASE;
pub const AQ: u64 = MEMORY_BASE + 0x1000;
pub const ACQ: u64 = MEMORY_BASE + 0x3000;
pub const AENQ: u64 = MEMORY_BASE + 0x5000;
pub const BUFFER: u64 = MEMORY_BASE + 0x7000;

/// Guest memory that the test and the device share.
#[derive(Clone)]
pub struct Memory(Rc<RefCell<Vec<u8>>>);

impl Memory {
    fn range(&self, iova: u64, len: usize) -> Result<std::ops::Range<usize>, DmaError> {
        let error = DmaError { iova, len };
        let start = iova.checked_sub(MEMORY_BASE).ok_or(error)?;
        let start = usize::try_from(start).map_err(|_| error)?;
        let end = start.checked_add(len).ok_or(error)?;
        let size = self.0.borrow().len();
        (end <= size).then_some(start..end).ok_or(error)
    }

    /// Takes away the memory from `iova` on.
    pub fn cut(&self, iova: u64) {
        let len = (iova - MEMORY_BASE) as usize;
        self.0.borrow_mut().truncate(len);
    }

    pub fn get<const N: usize>(&self, iova: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.read(iova, &mut bytes).unwrap();
        bytes
    }
}

impl GuestMemory for Memory {
    fn read(&self, iova: u64, buf: &mut [u8]) -> Result<(), DmaError> {
        let range = self.range(iova, buf.len())?;
        buf.copy_from_slice(&self.0.borrow()[range]);
        Ok(())
    }

    fn write(&self, iova: u64, buf: &[u8]) -> Result<(), DmaError> {
        let range = self.range(iova, buf.len())?;
        self.0.borrow_mut()[range].copy_from_slice(buf);
        Ok(())
    }
}

/// LLQ memory that the test writes and the device reads.
#[derive(Clone)]
pub struct Llq(Rc<RefCell<Vec<u8>>>);

impl Llq {
    fn new(size: u64) -> Self {
        Self(Rc::new(RefCell::new(vec![0; size as usize])))
    }
}

impl Llq {
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let start = offset as usize;
        self.0.borrow_mut()[start..start + bytes.len()].copy_from_slice(bytes);
    }
}

impl LlqMemory for Llq {
    fn read(&self, offset: u64, buf: &mut [u8]) {
        buf.fill(0);
        let memory = self.0.borrow();
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        for (to, from) in buf.iter_mut().zip(memory.iter().skip(start)) {
            *to = *from;
        }
    }
}

/// The interrupts that the device raised.
#[derive(Clone, Default)]
pub struct Interrupts(Rc<RefCell<Vec<u16>>>);

impl Interrupts {
    /// The vectors raised since the last call.
    pub fn take(&self) -> Vec<u16> {
        self.0.take()
    }
}

impl IrqSink for Interrupts {
    fn raise(&self, vector: u16) {
        self.0.borrow_mut().push(vector);
    }
}

/// A completion that the driver found in the ACQ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    pub id: u16,
    pub status: Status,
    pub entry: [u8; 64],
    pub checksum_matches: bool,
}

pub struct Driver {
    pub model: EfaModel<Memory, Interrupts, Llq>,
    pub llq: Llq,
    pub memory: Memory,
    pub interrupts: Interrupts,
    pub now: Duration,
    version: ApiVersion,
    produced: u32,
    completed: u32,
    events: u32,
    reads: u16,
}

impl Driver {
    /// A device that nobody has touched, as bus master.
    pub fn untouched(config: Config) -> Self {
        let memory = Memory(Rc::new(RefCell::new(vec![0; MEMORY_SIZE])));
        let interrupts = Interrupts::default();
        let llq = Llq::new(config.llq_bar_size);
        let version = config.api_version;
        let mut model =
            EfaModel::new(config, memory.clone(), interrupts.clone(), llq.clone()).unwrap();
        model.set_bus_master(true);
        Self {
            model,
            llq,
            memory,
            interrupts,
            now: Duration::ZERO,
            version,
            produced: 0,
            completed: 0,
            events: 0,
            reads: 0,
        }
    }

    /// A device that is reset and has its queues.
    pub fn up(config: Config) -> Self {
        let mut driver = Self::untouched(config);
        driver.bring_up();
        driver
    }

    /// As [`up`](Self::up), with the defaults.
    pub fn default_up() -> Self {
        Self::up(Config::default())
    }

    pub fn bring_up(&mut self) {
        self.set_response_address();
        self.reset(ResetReason::Normal);
        self.set_up_queues();
    }

    pub fn write_register(&mut self, offset: u32, value: u32) {
        self.model
            .bar_write(0, u64::from(offset), &value.to_le_bytes());
    }

    pub fn set_response_address(&mut self) {
        self.write_address(regs::MMIO_RESP_LO_OFF, regs::MMIO_RESP_HI_OFF, RESPONSE);
    }

    pub fn write_address(&mut self, low: u32, high: u32, address: u64) {
        self.write_register(low, address as u32);
        self.write_register(high, (address >> 32) as u32);
    }

    /// Reads a register; `None` where the device does not answer.
    pub fn read_register(&mut self, offset: u32) -> Option<u32> {
        self.reads = self.reads.wrapping_add(1);
        self.write_register(
            regs::MMIO_REG_READ_OFF,
            (offset << 16) | u32::from(self.reads),
        );
        let answer = MmioReadResp::parse(&self.memory.get::<8>(RESPONSE)).unwrap();
        (answer.req_id == self.reads).then(|| {
            assert_eq!(u32::from(answer.reg_off), offset);
            answer.reg_val
        })
    }

    /// The whole reset handshake.
    pub fn reset(&mut self, reason: ResetReason) {
        self.write_register(regs::DEV_CTL_OFF, (reason.number() << 28) | 1);
        self.set_response_address();
        self.pass(Duration::from_millis(self.model.config().reset_delay_ms));
        let in_progress = regs::DEV_STS_READY_MASK | regs::DEV_STS_RESET_IN_PROGRESS_MASK;
        let status = self.read_register(regs::DEV_STS_OFF).unwrap();
        assert_eq!(status & in_progress, in_progress);
        self.write_register(regs::DEV_CTL_OFF, 0);
        self.pass(Duration::from_millis(self.model.config().reset_delay_ms));
        let status = self.read_register(regs::DEV_STS_OFF).unwrap();
        assert_eq!(status & in_progress, regs::DEV_STS_READY_MASK);
    }

    pub fn set_up_queues(&mut self) {
        for queue in [AQ, ACQ, AENQ] {
            self.memory.write(queue, &[0; 0x1000]).unwrap();
        }
        (self.produced, self.completed, self.events) = (0, 0, 0);
        let size = self.entry_size() as u32;
        self.write_address(regs::AQ_BASE_LO_OFF, regs::AQ_BASE_HI_OFF, AQ);
        self.write_register(regs::AQ_CAPS_OFF, (size << 16) | DEPTH);
        self.write_address(regs::ACQ_BASE_LO_OFF, regs::ACQ_BASE_HI_OFF, ACQ);
        self.write_register(regs::ACQ_CAPS_OFF, (64 << 16) | DEPTH);
        self.write_address(regs::AENQ_BASE_LO_OFF, regs::AENQ_BASE_HI_OFF, AENQ);
        self.write_register(regs::AENQ_CAPS_OFF, (64 << 16) | 16);
        self.write_register(regs::AENQ_CONS_DB_OFF, 0);
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) -> Option<Duration> {
        self.now += time;
        self.model.poll(self.now)
    }

    pub fn entry_size(&self) -> usize {
        if self.version >= ApiVersion::V0_3 {
            128
        } else {
            64
        }
    }

    /// A well-formed submission entry for the next slot.
    pub fn entry(&self, opcode: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut entry = vec![0; self.entry_size()];
        entry[..2].copy_from_slice(&self.next_id().to_le_bytes());
        entry[2] = opcode;
        entry[3] = flags | u8::from((self.produced / DEPTH) % 2 == 0);
        let start = if entry.len() == 128 { 12 } else { 4 };
        entry[start..start + payload.len()].copy_from_slice(payload);
        self.seal(&mut entry);
        entry
    }

    /// Puts the right checksum into an entry.
    pub fn seal(&self, entry: &mut [u8]) {
        if self.version >= ApiVersion::V0_3 {
            let checksum = crc::checksum(entry, 4).to_le_bytes();
            entry[4..6].copy_from_slice(&checksum);
        }
    }

    pub fn next_id(&self) -> u16 {
        (self.produced & 0xfff) as u16
    }

    /// Writes an entry into the next slot, without the doorbell.
    pub fn place(&mut self, entry: &[u8]) {
        let slot = u64::from(self.produced % DEPTH) * self.entry_size() as u64;
        self.memory.write(AQ + slot, entry).unwrap();
        self.produced = self.produced.wrapping_add(1);
    }

    pub fn ring(&mut self) {
        self.write_register(regs::AQ_PROD_DB_OFF, self.produced & 0xffff);
    }

    /// Submits an entry, and returns what completed at once.
    pub fn submit(&mut self, entry: &[u8]) -> Option<Completion> {
        self.place(entry);
        self.ring();
        self.completion()
    }

    /// The next completion in the ACQ.
    pub fn completion(&mut self) -> Option<Completion> {
        let slot = u64::from(self.completed % DEPTH) * 64;
        let entry = self.memory.get::<64>(ACQ + slot);
        let common = AcqCommonDesc::parse(&entry).unwrap();
        if common.flags & 1 != u8::from((self.completed / DEPTH) % 2 == 0) {
            return None;
        }
        self.completed = self.completed.wrapping_add(1);
        Some(Completion {
            id: common.command & 0xfff,
            status: Status::from_number(common.status).unwrap(),
            entry,
            checksum_matches: common.checksum == crc::checksum(&entry, 4),
        })
    }

    /// The next event in the AENQ, and tells the device that it was consumed.
    pub fn event(&mut self) -> Option<AenqCommonDesc> {
        let slot = u64::from(self.events % 16) * 64;
        let event = AenqCommonDesc::parse(&self.memory.get::<16>(AENQ + slot)).unwrap();
        if event.flags & 1 != u8::from((self.events / 16) % 2 == 0) {
            return None;
        }
        self.events += 1;
        self.write_register(regs::AENQ_CONS_DB_OFF, self.events);
        Some(event)
    }

    /// Runs a command that must complete at once.
    pub fn command(&mut self, opcode: Opcode, payload: &[u8]) -> Result<[u8; 64], Status> {
        let entry = self.entry(opcode.number(), 0, payload);
        let id = self.next_id();
        let completion = self.submit(&entry).expect("no completion");
        assert_eq!(completion.id, id);
        assert!(completion.checksum_matches || self.version == ApiVersion::V0_1);
        match completion.status {
            Status::Success => Ok(completion.entry),
            status => Err(status),
        }
    }

    pub fn alloc_pd(&mut self) -> Result<u16, Status> {
        let entry = self.command(Opcode::AllocPd, &[])?;
        Ok(AllocPdResp::parse(&entry).unwrap().pd)
    }

    pub fn dealloc_pd(&mut self, pd: u16) -> Result<(), Status> {
        let command = DeallocPdCmd {
            pd,
            ..Default::default()
        };
        self.command(Opcode::DeallocPd, &command.encode()).map(drop)
    }

    pub fn create_ah(&mut self, pd: u16, gid: Gid) -> Result<u16, Status> {
        let command = CreateAhCmd {
            dest_addr: gid.0,
            pd,
            ..Default::default()
        };
        let entry = self.command(Opcode::CreateAh, &command.encode())?;
        Ok(CreateAhResp::parse(&entry).unwrap().ah)
    }

    pub fn destroy_ah(&mut self, pd: u16, ah: u16) -> Result<(), Status> {
        let command = DestroyAhCmd { ah, pd };
        self.command(Opcode::DestroyAh, &command.encode()).map(drop)
    }

    pub fn alloc_uar(&mut self) -> Result<u16, Status> {
        let entry = self.command(Opcode::AllocUar, &[])?;
        Ok(AllocUarResp::parse(&entry).unwrap().uar)
    }

    pub fn dealloc_uar(&mut self, uar: u16) -> Result<(), Status> {
        let command = DeallocUarCmd {
            uar,
            ..Default::default()
        };
        self.command(Opcode::DeallocUar, &command.encode())
            .map(drop)
    }

    pub fn create_eq(&mut self, depth: u16, vector: u8, words: u8) -> Result<u16, Status> {
        let command = CreateEqCmd {
            depth,
            msix_vec: vector,
            caps: words,
            ba: MemAddr {
                mem_addr_low: BUFFER as u32,
                mem_addr_high: 0,
            },
            event_bitmask: 1,
            ..Default::default()
        };
        let entry = self.command(Opcode::CreateEq, &command.encode())?;
        Ok(CreateEqResp::parse(&entry).unwrap().eqn)
    }

    pub fn destroy_eq(&mut self, eqn: u16) -> Result<(), Status> {
        let command = DestroyEqCmd {
            eqn,
            ..Default::default()
        };
        self.command(Opcode::DestroyEq, &command.encode()).map(drop)
    }

    pub fn get_feature<T: Wire>(&mut self, feature: u8) -> Result<T, Status> {
        let command = GetFeatureCmd {
            feature_common: feature_common(feature),
            ..Default::default()
        };
        let entry = self.command(Opcode::GetFeature, &command.encode())?;
        Ok(T::get(&entry, 8).unwrap())
    }

    pub fn enable_groups(&mut self, groups: u32) -> Result<(), Status> {
        let mut command = SetFeatureCmd {
            feature_common: feature_common(2),
            ..Default::default()
        };
        command.raw[1] = groups;
        self.command(Opcode::SetFeature, &command.encode())
            .map(drop)
    }

    /// A request of the control socket, as JSON.
    pub fn try_control(&mut self, request: Value) -> ControlReply {
        let request = serde_json::from_value(request).unwrap();
        self.model.control(request)
    }

    pub fn control(&mut self, request: Value) -> serde_json::Map<String, Value> {
        let reply = self.try_control(request);
        assert!(reply.ok, "{reply:?}");
        reply.body
    }

    pub fn counters(&mut self) -> Counters {
        let mut body = self.control(json!({"op": "counters"}));
        serde_json::from_value(body.remove("counters").unwrap()).unwrap()
    }

    pub fn live(&mut self, kind: &str) -> u64 {
        let body = self.control(json!({"op": "objects"}));
        body["objects"][kind].as_u64().unwrap()
    }

    /// The rules broken since the last call.
    pub fn broken(&mut self) -> Vec<Rule> {
        let mut body = self.control(json!({"op": "violations", "clear": true}));
        let list: Vec<Violation> =
            serde_json::from_value(body.remove("violations").unwrap()).unwrap();
        list.into_iter().map(|violation| violation.rule).collect()
    }
}

pub fn feature_common(feature_id: u8) -> GetSetFeatureCommonDesc {
    GetSetFeatureCommonDesc {
        feature_id,
        ..Default::default()
    }
}

/// The GID fe80::n.
pub fn gid(n: u16) -> Gid {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&[0xfe, 0x80]);
    bytes[14..].copy_from_slice(&n.to_be_bytes());
    Gid(bytes)
}

/// The three versions of the API.
pub fn versions() -> [Config; 3] {
    [ApiVersion::V0_1, ApiVersion::V0_2, ApiVersion::V0_3].map(|api_version| Config {
        api_version,
        ..Config::default()
    })
}
