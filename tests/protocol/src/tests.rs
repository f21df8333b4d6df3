// SPDX-License-Identifier: GPL-2.0

//! The rules of the address handle cache, each in all orders in which its threads can meet.
//!
//! Which change of the sources each must notice is in `tests/mutations/protocol.toml`.

mod bench;
mod count;
mod device;
mod faults;
mod ledger;
mod small_mutex;
mod table;
mod three;
mod two;
