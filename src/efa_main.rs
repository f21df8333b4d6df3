// SPDX-License-Identifier: GPL-2.0

//! The driver of the AWS Elastic Fabric Adapter (EFA).

#![forbid(unsafe_code)]

mod ah_cache;

use kernel::prelude::*;

struct EfaModule;

impl kernel::Module for EfaModule {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(EfaModule)
    }
}

module! {
    type: EfaModule,
    name: "efa",
    authors: ["The efa-rs authors"],
    description: "Elastic Fabric Adapter (EFA)",
    license: "GPL",
}
