// SPDX-License-Identifier: GPL-2.0
//! Tests of the device as a driver sees it. A test's name is the rule it holds.

mod admin_queue;
mod attributes;
mod configuration;
mod control;
mod documentation;
mod driver;
mod events;
mod faults;
mod hostile;
mod registers;
mod resources;
