// SPDX-License-Identifier: GPL-2.0

//! Device reset, and what the device tells in registers before its queues run.

use super::mmio::Registers;
use crate::{
    hw::regs::*,
    trace, //
};
use kernel::{
    device::Device,
    prelude::*,
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    }, //
};
use rdma::dma::DmaEnded;

/// Why the device is reset. The other reasons belong to recovery, which is not implemented yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Reason {
    /// The driver begins or ends.
    Normal = 0,
    /// Probe failed.
    InitError = 3,
    /// The machine shuts down or starts another kernel.
    Shutdown = 6,
}

/// CAPS counts timeouts in these.
const TIMEOUT_UNIT_MS: u32 = 100;

/// Timeout of an admin command, where the device does not tell one.
const DEFAULT_COMMAND_TIMEOUT_MS: u32 = 30_000;

/// First and longest pause between two looks at the status.
const POLL_INTERVAL_MIN: Delta = Delta::from_micros(20);
const POLL_INTERVAL_MAX: Delta = Delta::from_millis(10);

/// Resets the device and waits until that is done. A reset that was seen to begin and to end proves
/// that the device knows of no memory any more; `None`: it was silent when it should have begun.
///
/// # Errors
///
/// * `ENODEV`: the device is not ready to be reset.
/// * `EINVAL`: it tells no reset timeout.
/// * `ETIME`: it does not answer, or the reset took too long.
pub(crate) fn reset(
    dev: &Device,
    registers: &Registers,
    reason: Reason,
) -> Result<Option<DmaEnded>> {
    let start = Instant::now();
    let result = try_reset(dev, registers, reason);
    let errno = result.map_or_else(Error::to_errno, |_| 0);
    trace::efa_reset(dev, reason as u32, errno, start);
    result.map(|was_seen| was_seen.then(DmaEnded::by_reset))
}

/// Says whether the reset was seen to begin.
fn try_reset(dev: &Device, registers: &Registers, reason: Reason) -> Result<bool> {
    // Whoever resets the function behind the driver's back clears it.
    registers.set_answer_address();
    check_ready(dev, registers)?;
    let timeout_units = registers.read::<CAPS>()?.reset_timeout().get();
    if timeout_units == 0 {
        dev_err!(dev, "the device tells no reset timeout\n");
        return Err(EINVAL);
    }
    let timeout = Delta::from_millis((timeout_units * TIMEOUT_UNIT_MS).into());

    registers.write(
        DEV_CTL::zeroed()
            .with_const_dev_reset::<1>()
            .try_with_reset_reason(reason as u32)?,
    );
    // The reset clears it.
    registers.set_answer_address();
    let was_seen = match wait(registers, timeout, |status| status.reset_in_progress()) {
        Ok(()) => true,
        // It may be one that does not answer while it is being reset.
        Err(Late::Silent) => false,
        Err(Late::Unchanged) => {
            dev_err!(dev, "reset did not begin ({reason:?})\n");
            return Err(ETIME);
        }
    };

    registers.write(DEV_CTL::zeroed());
    match wait(registers, timeout, |status| !status.reset_in_progress()) {
        Ok(()) => Ok(was_seen),
        Err(_) => {
            dev_err!(dev, "reset did not end ({reason:?})\n");
            Err(ETIME)
        }
    }
}

/// Checks that the device can be used.
///
/// # Errors
///
/// * `ENODEV`: it is not ready.
/// * `ETIME`: it does not answer.
pub(crate) fn check_ready(dev: &Device, registers: &Registers) -> Result {
    if !registers.read::<DEV_STS>()?.ready() {
        dev_err!(dev, "the device is not ready\n");
        return Err(ENODEV);
    }
    Ok(())
}

/// How the time ended in which the status was to change.
enum Late {
    /// The device did not answer each read.
    Silent,
    /// It told another status.
    Unchanged,
}

/// Waits for the status to become something. The device may fail to answer meanwhile.
fn wait(
    registers: &Registers,
    timeout: Delta,
    reached: impl Fn(DEV_STS) -> bool,
) -> Result<(), Late> {
    let start = Instant::<Monotonic>::now();
    let mut pause = POLL_INTERVAL_MIN;
    let mut was_silent = false;
    loop {
        // Looked at before the register, so that the last look comes after the timeout.
        let late = start.elapsed() > timeout;
        let status = registers.read::<DEV_STS>();
        was_silent |= status.is_err();
        if status.is_ok_and(&reached) {
            return Ok(());
        }
        if late {
            return Err(match was_silent {
                true => Late::Silent,
                false => Late::Unchanged,
            });
        }
        fsleep(pause);
        pause = POLL_INTERVAL_MAX.min(pause + pause);
    }
}

/// The version of the admin API that the device speaks: the register, which counts as a whole.
///
/// What is above the major version is reserved. Should a device have anything there, it is newer
/// than one that has not, as the C driver sees it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ApiVersion(u32);

impl ApiVersion {
    const MINIMUM: Self = Self(0x0001);
    const WITH_CHECKSUMS: Self = Self(0x0002);
    const WITH_LONG_ENTRIES: Self = Self(0x0003);

    /// Completion entries have a checksum.
    pub(crate) fn has_checksums(self) -> bool {
        self >= Self::WITH_CHECKSUMS
    }

    /// Submission entries have 128 bytes, and a checksum.
    pub(crate) fn has_long_entries(self) -> bool {
        self >= Self::WITH_LONG_ENTRIES
    }
}

impl kernel::fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        let version = VERSION::from(self.0);
        write!(
            f,
            "{}.{}",
            version.major_version().get(),
            version.minor_version().get()
        )
    }
}

impl From<VERSION> for ApiVersion {
    fn from(version: VERSION) -> Self {
        Self(version.into())
    }
}

/// Reads the versions of the admin API and of the controller.
///
/// # Errors
///
/// * `EOPNOTSUPP`: the device is older than this driver can serve.
/// * `ETIME`: it does not answer.
pub(crate) fn api_version(dev: &Device, registers: &Registers) -> Result<ApiVersion> {
    let version = ApiVersion::from(registers.read::<VERSION>()?);
    let controller = registers.read::<CONTROLLER_VERSION>()?;
    if version < ApiVersion::MINIMUM {
        dev_err!(
            dev,
            "admin API version {version} is older than {}, which this driver needs\n",
            ApiVersion::MINIMUM
        );
        return Err(EOPNOTSUPP);
    }
    let parts = [
        controller.major_version().get(),
        controller.minor_version().get(),
        controller.subminor_version().get(),
    ];
    if parts < [0, 0, 1] {
        dev_err!(dev, "controller version {parts:?} is older than 0.0.1\n");
        return Err(EOPNOTSUPP);
    }
    dev_info!(
        dev,
        "admin API version {version}, controller version {parts:?}, implementation {}\n",
        controller.impl_id().get()
    );
    Ok(version)
}

/// What register CAPS says.
pub(crate) struct Limits {
    /// Bits of a DMA address, 32 to 64.
    pub(crate) dma_address_bits: u32,
    /// Timeout of an admin command.
    pub(crate) command_timeout_ms: u32,
}

impl Limits {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// * `EINVAL`: the DMA address width is not sensible.
    /// * `ETIME`: the device does not answer.
    pub(crate) fn read(dev: &Device, registers: &Registers) -> Result<Self> {
        let caps = registers.read::<CAPS>()?;
        Self::from_caps(caps).ok_or(EINVAL).inspect_err(|_| {
            dev_err!(
                dev,
                "DMA addresses of {} bits are not possible\n",
                caps.dma_addr_width().get()
            )
        })
    }

    fn from_caps(caps: CAPS) -> Option<Self> {
        let dma_address_bits = caps.dma_addr_width().get();
        let command_timeout_ms = match caps.admin_cmd_to().get() {
            0 => DEFAULT_COMMAND_TIMEOUT_MS,
            units => units * TIMEOUT_UNIT_MS,
        };
        (32..=64).contains(&dma_address_bits).then_some(Self {
            dma_address_bits,
            command_timeout_ms,
        })
    }
}

#[kernel::macros::kunit_tests(efa_admin_reset)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_long_entries_come_with_their_versions() {
        for (raw, checksums, long) in [
            (0x0001_u32, false, false),
            (0x0002, true, false),
            (0x0003, true, true),
            (0x0100, true, true),
            (0x0001_0001, true, true),
        ] {
            let version = ApiVersion::from(VERSION::from(raw));
            assert!(version >= ApiVersion::MINIMUM);
            assert_eq!(version.has_checksums(), checksums);
            assert_eq!(version.has_long_entries(), long);
        }
        assert!(ApiVersion::from(VERSION::from(0)) < ApiVersion::MINIMUM);
    }

    #[test]
    fn a_dma_address_has_32_to_64_bits() {
        for (bits, good) in [(0, false), (31, false), (32, true), (64, true), (65, false)] {
            let limits = Limits::from_caps(CAPS::from(bits << 8));
            assert_eq!(limits.is_some_and(|l| l.dma_address_bits == bits), good);
        }
    }

    #[test]
    fn the_command_timeout_has_a_default_and_a_unit() {
        for (units, expected_ms) in [(0, 30_000), (1, 100), (15, 1500)] {
            let limits = Limits::from_caps(CAPS::from(units << 16 | 48 << 8));
            assert_eq!(limits.map(|l| l.command_timeout_ms), Some(expected_ms));
        }
    }
}
