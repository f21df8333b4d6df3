// SPDX-License-Identifier: GPL-2.0
//! Tests of the data path: two devices, or one, whose queue pairs exchange
//! messages; the data is checked.

mod datagrams;
mod errors;
mod events;
mod limits;
mod pair;
mod rdma;
mod scripts;
mod sends;
mod sessions;
mod side;
mod statistics;
mod wr;
