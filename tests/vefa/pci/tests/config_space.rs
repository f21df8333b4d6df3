// SPDX-License-Identifier: GPL-2.0
//! What a PCI bus driver sees of the function.

use vefa_pci::{regs, Bar, BarKind, ConfigEvent, ConfigSpace, Function, LayoutError, Msix};

const MSIX: Msix = Msix {
    vectors: 33,
    bar: 0,
    table: 0x2000,
    pba: 0x3000,
};

fn memory32(size: u64) -> Option<Bar> {
    let kind = BarKind::Memory32;
    Some(Bar { size, kind })
}

fn llq(size: u64) -> Option<Bar> {
    let kind = BarKind::Memory64Prefetchable;
    Some(Bar { size, kind })
}

fn function() -> Function {
    let bars = [
        memory32(0x4000),
        None,
        llq(0x40_0000),
        None,
        memory32(0x10_0000),
        None,
    ];
    Function::efa(0xefa2, bars, Some(MSIX))
}

fn config() -> ConfigSpace {
    ConfigSpace::new(&function()).unwrap()
}

fn read16(config: &ConfigSpace, offset: usize) -> u16 {
    let mut bytes = [0; 2];
    config.read(offset as u64, &mut bytes);
    u16::from_le_bytes(bytes)
}

fn read32(config: &ConfigSpace, offset: usize) -> u32 {
    let mut bytes = [0; 4];
    config.read(offset as u64, &mut bytes);
    u32::from_le_bytes(bytes)
}

fn write16(config: &mut ConfigSpace, offset: usize, value: u16) -> Vec<ConfigEvent> {
    config.write(offset as u64, &value.to_le_bytes())
}

fn write32(config: &mut ConfigSpace, offset: usize, value: u32) -> Vec<ConfigEvent> {
    config.write(offset as u64, &value.to_le_bytes())
}

#[test]
fn identity_is_that_of_an_efa() {
    let config = config();
    assert_eq!(read16(&config, regs::VENDOR_ID), 0x1d0f);
    assert_eq!(read16(&config, regs::DEVICE_ID), 0xefa2);
    assert_eq!(read32(&config, regs::REVISION_ID), 0x0200_0000);
    assert_eq!(read16(&config, regs::SUBSYSTEM_VENDOR_ID), 0x1d0f);
    assert_eq!(read16(&config, regs::SUBSYSTEM_ID), 0xefa2);
}

#[test]
fn identity_is_read_only() {
    let mut config = config();
    write32(&mut config, regs::VENDOR_ID, 0xffff_ffff);
    assert_eq!(read32(&config, regs::VENDOR_ID), 0xefa2_1d0f);
}

#[test]
fn sizing_a_32_bit_bar_gives_its_size() {
    let mut config = config();
    write32(&mut config, regs::BAR0, u32::MAX);
    assert_eq!(read32(&config, regs::BAR0), 0xffff_c000);
}

#[test]
fn sizing_the_llq_bar_gives_size_and_64_bit_prefetchable() {
    let mut config = config();
    let low = regs::BAR0 + 8;
    assert_eq!(read32(&config, low), 0xc);
    write32(&mut config, low, u32::MAX);
    write32(&mut config, low + 4, u32::MAX);
    assert_eq!(read32(&config, low), 0xffc0_000c);
    assert_eq!(read32(&config, low + 4), 0xffff_ffff);
}

#[test]
fn an_absent_bar_reads_zero_whatever_is_written() {
    let mut absent = function();
    absent.bars[2] = None;
    let mut config = ConfigSpace::new(&absent).unwrap();
    for bar in [1, 2, 3, 5] {
        let offset = regs::BAR0 + bar * 4;
        write32(&mut config, offset, u32::MAX);
        assert_eq!(read32(&config, offset), 0, "BAR {bar}");
    }
}

#[test]
fn a_bar_keeps_the_address_written() {
    let mut config = config();
    write32(&mut config, regs::BAR0, 0xfebd_4000);
    assert_eq!(read32(&config, regs::BAR0), 0xfebd_4000);
}

#[test]
fn capability_list_is_express_then_msix() {
    let config = config();
    assert_eq!(
        read16(&config, regs::STATUS) & regs::STATUS_CAPABILITIES_LIST,
        0x10
    );
    let first = usize::from(read16(&config, regs::CAPABILITIES_POINTER) & 0xff);
    let [id, next] = read16(&config, first).to_le_bytes();
    assert_eq!(id, regs::CAPABILITY_EXPRESS);
    let [id, next] = read16(&config, next.into()).to_le_bytes();
    assert_eq!((id, next), (regs::CAPABILITY_MSIX, 0));
}

#[test]
fn without_msix_the_capability_list_ends_at_express() {
    let mut without = function();
    without.msix = None;
    let config = ConfigSpace::new(&without).unwrap();
    let [_, next] = read16(&config, regs::EXPRESS).to_le_bytes();
    assert_eq!(next, 0);
    assert_eq!(read32(&config, regs::MSIX), 0);
}

#[test]
fn msix_says_vectors_and_placement() {
    let config = config();
    assert_eq!(read16(&config, regs::MSIX_CONTROL), 32);
    assert_eq!(read32(&config, regs::MSIX_TABLE), 0x2000);
    assert_eq!(read32(&config, regs::MSIX_PBA), 0x3000);
}

#[test]
fn function_is_an_express_endpoint_that_can_reset() {
    let config = config();
    assert_eq!(read16(&config, regs::EXPRESS_CAPABILITIES), 0x0002);
    let capabilities = read32(&config, regs::EXPRESS_DEVICE_CAPABILITIES);
    assert_ne!(capabilities & regs::DEVICE_CAPABILITIES_FUNCTION_RESET, 0);
}

#[test]
fn bus_master_change_is_an_event_once() {
    let mut config = config();
    let on = vec![ConfigEvent::BusMaster(true)];
    assert_eq!(
        write16(&mut config, regs::COMMAND, regs::COMMAND_BUS_MASTER),
        on
    );
    assert_eq!(
        write16(&mut config, regs::COMMAND, regs::COMMAND_BUS_MASTER),
        vec![]
    );
    let off = vec![ConfigEvent::BusMaster(false)];
    assert_eq!(write16(&mut config, regs::COMMAND, 0), off);
}

#[test]
fn msix_delivers_when_enabled_and_not_masked() {
    let mut config = config();
    let enable = regs::MSIX_CONTROL_ENABLE;
    let masked = enable | regs::MSIX_CONTROL_FUNCTION_MASK;
    assert_eq!(write16(&mut config, regs::MSIX_CONTROL, masked), vec![]);
    let on = vec![ConfigEvent::MsixDelivery(true)];
    assert_eq!(write16(&mut config, regs::MSIX_CONTROL, enable), on);
    let off = vec![ConfigEvent::MsixDelivery(false)];
    assert_eq!(write16(&mut config, regs::MSIX_CONTROL, 0), off);
}

#[test]
fn a_write_of_one_byte_is_seen() {
    let mut config = config();
    let high = (regs::MSIX_CONTROL + 1) as u64;
    assert_eq!(
        config.write(high, &[0x80]),
        vec![ConfigEvent::MsixDelivery(true)]
    );
}

#[test]
fn function_level_reset_clears_what_software_wrote() {
    let mut config = config();
    write16(&mut config, regs::COMMAND, regs::COMMAND_BUS_MASTER);
    write32(&mut config, regs::BAR0, 0xfebd_4000);
    let control = regs::DEVICE_CONTROL_FUNCTION_RESET;
    let events = write16(&mut config, regs::EXPRESS_DEVICE_CONTROL, control);
    assert_eq!(events, vec![ConfigEvent::FunctionReset]);
    assert!(!config.bus_master());
    assert_eq!(read32(&config, regs::BAR0), 0);
    assert_eq!(read16(&config, regs::EXPRESS_DEVICE_CONTROL), 0);
}

#[test]
fn reads_beyond_the_end_are_all_ones() {
    let config = config();
    let mut bytes = [0; 4];
    config.read(regs::CONFIG_SIZE as u64 - 2, &mut bytes);
    assert_eq!(bytes, [0, 0, 0xff, 0xff]);
    config.read(u64::MAX, &mut bytes);
    assert_eq!(bytes, [0xff; 4]);
}

#[test]
fn writes_beyond_the_end_change_nothing() {
    let mut config = config();
    assert_eq!(config.write(u64::MAX, &[0xff; 8]), vec![]);
    assert_eq!(
        config.write(regs::CONFIG_SIZE as u64 - 1, &[0xff; 8]),
        vec![]
    );
}

#[test]
fn impossible_layouts_are_refused() {
    let refused = |change: fn(&mut Function)| {
        let mut function = function();
        change(&mut function);
        ConfigSpace::new(&function).err().unwrap()
    };
    assert_eq!(
        refused(|f| f.bars[0] = memory32(0x3000)),
        LayoutError::BarSize(0, 0x3000)
    );
    assert_eq!(
        refused(|f| f.bars[4] = memory32(0)),
        LayoutError::BarSize(4, 0)
    );
    assert_eq!(
        refused(|f| f.bars[4] = memory32(1 << 32)),
        LayoutError::BarTooLarge(4, 1 << 32)
    );
    assert_eq!(
        refused(|f| f.bars[3] = memory32(16)),
        LayoutError::BarSlot(2)
    );
    assert_eq!(refused(|f| f.bars[5] = llq(16)), LayoutError::BarSlot(5));
}

#[test]
fn msix_structures_must_fit_and_not_overlap() {
    let refused = |change: fn(&mut Msix)| {
        let mut function = function();
        function.msix = function.msix.map(|mut msix| {
            change(&mut msix);
            msix
        });
        ConfigSpace::new(&function).err().unwrap()
    };
    assert_eq!(refused(|m| m.vectors = 0), LayoutError::MsixVectors(0));
    assert_eq!(
        refused(|m| m.vectors = 2049),
        LayoutError::MsixVectors(2049)
    );
    assert_eq!(refused(|m| m.bar = 1), LayoutError::MsixPlacement(1));
    assert_eq!(refused(|m| m.bar = 9), LayoutError::MsixPlacement(9));
    assert_eq!(refused(|m| m.table = 0x4000), LayoutError::MsixPlacement(0));
    assert_eq!(refused(|m| m.pba = 0x2008), LayoutError::MsixPlacement(0));
    assert_eq!(refused(|m| m.table = 0x2004), LayoutError::MsixPlacement(0));
}
