// SPDX-License-Identifier: GPL-2.0
//! Tests of the device as a driver sees it. A test's name is the rule it holds.

mod admin_queue;
mod answers;
mod attributes;
mod completion_queues;
mod configuration;
mod control;
mod documentation;
mod driver;
mod event_counters;
mod events;
mod faults;
mod hostile;
mod memory_regions;
mod queue_pairs;
mod registers;
mod resources;
mod traffic;
mod verbs;
