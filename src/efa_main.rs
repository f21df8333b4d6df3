// SPDX-License-Identifier: GPL-2.0

//! The driver of the AWS Elastic Fabric Adapter (EFA).

#![forbid(unsafe_code)]

mod admin;
mod ah_cache;
mod driver;
mod hw;
mod page_list;
mod quarantine;
mod retries;
mod trace;
mod uapi;
mod users;
mod verbs;

kernel::module_driver!(<T>, rdma::pci_driver::Adapter<T>, {
    type: verbs::Efa,
    name: "efa",
    authors: ["The efa-rs authors"],
    description: "Elastic Fabric Adapter (EFA)",
    license: "GPL",
    params: {
        indirect_page_lists: bool {
            default: false,
            description: "Register all memory with indirect page lists (for tests)",
        },
    },
});
