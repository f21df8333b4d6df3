// SPDX-License-Identifier: GPL-2.0
/* The tracepoints, and what Rust calls when one is on (src/trace.rs). */
#define CREATE_TRACE_POINTS
#define CREATE_RUST_TRACE_POINTS
#include <trace/events/efa.h>
