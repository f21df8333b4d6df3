// SPDX-License-Identifier: GPL-2.0

//! The address handle cache without a device, to be measured: /dev/ah_cache_rust.
//!
//! Each open file has a cache of its own, which the processes that inherit the file share. What the
//! requests mean is in tests/guest/bench_cache.py; cache_c.ko serves the same ones.

#![forbid(unsafe_code)]

// Its tests are compiled in, too, and not all of it is used here.
#[allow(dead_code)]
mod ah_cache;

use ah_cache::{
    AhCache,
    AhCommands,
    Domain,
    Entry,
    Event,
    Node,
    Observer,
    PdId, //
};
use kernel::{
    fs::File,
    miscdevice::{
        MiscDevice,
        MiscDeviceOptions,
        MiscDeviceRegistration, //
    },
    prelude::*,
    time::{
        Instant,
        Monotonic, //
    },
};
use rdma::attr::Gid;

/// So many pairs.
const PAIRS: u32 = 0x6501;
/// As many pairs as there is time for, in milliseconds.
const MILLISECONDS: u32 = 0x6502;
/// Where the key begins in a request's argument; the amount is below it.
const KEY_SHIFT: u32 = 24;
/// After how many pairs the time is looked at.
const BATCH: usize = 64;

const PD: PdId = PdId {
    generation: 1,
    number: 1,
};

module! {
    type: CacheModule,
    name: "cache_rust",
    authors: ["The efa-rs authors"],
    description: "The address handle cache alone",
    license: "GPL",
}

#[pin_data]
struct CacheModule {
    #[pin]
    _device: MiscDeviceRegistration<OpenCache>,
}

impl kernel::InPlaceModule for CacheModule {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            _device <- MiscDeviceRegistration::register(MiscDeviceOptions {
                name: c"ah_cache_rust",
            }),
        })
    }
}

/// A device whose commands succeed at once.
struct NoDevice;

impl AhCommands for NoDevice {
    fn is_current(&self, _generation: u32) -> bool {
        true
    }

    fn create_ah(&self, _pd: PdId, _gid: &Gid) -> Result<u16> {
        Ok(1)
    }

    fn destroy_ah(&self, _pd: PdId, _ah: u16) -> Result {
        Ok(())
    }
}

impl Observer for NoDevice {
    type Start = ();

    fn start(&self) {}

    fn observe(&self, _entry: &Node<Entry>, _event: Event<()>) {}
}

#[pin_data]
struct OpenCache {
    #[pin]
    cache: AhCache,
    #[pin]
    pd: Domain,
}

impl OpenCache {
    /// One hit, and the end of it.
    fn pair(&self, gid: &Gid) -> Result {
        let ah = self.cache.get(&NoDevice, &self.pd, gid)?;
        self.cache.put(&NoDevice, &self.pd, ah);
        Ok(())
    }

    /// Pairs until `enough` says so of their number, while there is another user. Returns how many.
    fn pairs(&self, gid: &Gid, enough: impl Fn(usize) -> bool) -> Result<usize> {
        let held = self.cache.get(&NoDevice, &self.pd, gid)?;
        let mut done = 0;
        while !enough(done) {
            self.pair(gid)?;
            done += 1;
        }
        self.cache.put(&NoDevice, &self.pd, held);
        Ok(done)
    }
}

#[vtable]
impl MiscDevice for OpenCache {
    type Ptr = Pin<KBox<Self>>;

    fn open(_file: &File, _misc: &MiscDeviceRegistration<Self>) -> Result<Self::Ptr> {
        KBox::try_pin_init(
            try_pin_init!(Self {
                cache <- AhCache::new(),
                pd <- Domain::new(PD),
            }),
            GFP_KERNEL,
        )
    }

    fn ioctl(me: Pin<&Self>, _file: &File, request: u32, arg: usize) -> Result<isize> {
        let (key, amount) = (arg >> KEY_SHIFT, arg & ((1 << KEY_SHIFT) - 1));
        let mut gid = Gid([0xfe; 16]);
        gid.0[15] = key as u8;
        let done = match request {
            PAIRS => me.pairs(&gid, |done| done >= amount)?,
            MILLISECONDS => {
                let start = Instant::<Monotonic>::now();
                let limit = i64::try_from(amount)?;
                me.pairs(&gid, |done| {
                    done % BATCH == 0 && start.elapsed().as_millis() >= limit
                })?
            }
            _ => return Err(ENOTTY),
        };
        Ok(done.try_into()?)
    }
}
