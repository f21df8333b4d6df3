// SPDX-License-Identifier: GPL-2.0
//! How the control socket lists live objects.

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};

use super::{Ah, Cq, EventCounter, EventQueue, Mr, Objects, Qp};

/// One live object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectDetail {
    /// `pd`, `ah`, `uar`, `eq`, `cq`, `qp`, `mr` or `event_counter`.
    pub kind: String,
    /// Its number; an MR's local key, an event counter's handle.
    pub id: u32,
    /// What it belongs to, and what it is like.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

fn detail(kind: &str, id: u32, fields: Value) -> ObjectDetail {
    ObjectDetail {
        kind: kind.to_owned(),
        id,
        fields: match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        },
    }
}

impl Objects {
    /// Every live object.
    pub fn detail(&self) -> Vec<ObjectDetail> {
        let number = |number: &u16| u32::from(*number);
        let pds = self
            .pds
            .iter()
            .map(|pd| detail("pd", number(pd), json!({})));
        let uars = self
            .uars
            .keys()
            .map(|uar| detail("uar", number(uar), json!({})));
        let ahs = self
            .ahs
            .iter()
            .map(|(id, it)| detail("ah", id.into(), ah(it)));
        let eqs = self
            .eqs
            .iter()
            .map(|(id, it)| detail("eq", number(id), eq(it)));
        let cqs = self
            .cqs
            .iter()
            .map(|(id, it)| detail("cq", number(id), cq(it)));
        let qps = self
            .qps
            .iter()
            .map(|it| detail("qp", it.number.into(), qp(it)));
        let mrs = self.mrs.iter().map(|(id, it)| detail("mr", id, mr(it)));
        let counters = self.counters.iter();
        let counters = counters.map(|(id, it)| detail("event_counter", id, counter(it)));
        pds.chain(uars)
            .chain(ahs)
            .chain(eqs)
            .chain(cqs)
            .chain(qps)
            .chain(mrs)
            .chain(counters)
            .collect()
    }
}

fn ah(ah: Ah) -> Value {
    json!({ "pd": ah.pd, "gid": ah.gid })
}

fn eq(eq: &EventQueue) -> Value {
    json!({
        "vector": eq.vector,
        "depth": eq.ring.depth(),
        "base": eq.ring.base(),
        "completions": eq.completions,
        "armed": eq.armed,
    })
}

fn cq(cq: &Cq) -> Value {
    json!({
        "uar": cq.uar,
        "eq": cq.eq,
        "depth": cq.depth,
        "sub_cqs": cq.sub_cqs.len(),
        "entry_size": cq.entry_size,
        "base": cq.base,
        "with_source_gid": cq.with_source_gid,
        "wide_req_id": cq.wide_req_id,
        "armed": cq.armed,
    })
}

fn qp(qp: &Qp) -> Value {
    json!({
        "handle": qp.handle,
        "type": qp.kind,
        "state": qp.state,
        "pd": qp.pd,
        "uar": qp.uar,
        "qkey": qp.qkey,
        "sq_psn": qp.sq_psn,
        "rnr_retry": qp.rnr_retry,
        "notify_drained": qp.notify_drained,
        "sl": qp.sl,
        "send_cq": qp.send_cq.cq,
        "send_sub_cq": qp.send_cq.sub,
        "recv_cq": qp.receive_cq.cq,
        "recv_sub_cq": qp.receive_cq.sub,
        "sq_offset": qp.send.map(|queue| queue.offset),
        "sq_depth": qp.send.map_or(0, |queue| queue.depth),
        "sq_entries": qp.send.map_or(0, |queue| queue.entries),
        "sq_entry_size": qp.send.map(|queue| queue.entry_size()),
        "rq_base": qp.receive.map(|queue| queue.base),
        "rq_depth": qp.receive.map_or(0, |queue| queue.depth),
        "rq_entries": qp.receive.map_or(0, |queue| queue.entries),
        "unsolicited_write_recv": qp.unsolicited_write_recv,
        "wide_req_id": qp.wide_req_id,
        "event_counters": qp.counters.len(),
    })
}

fn mr(mr: &Mr) -> Value {
    json!({
        "pd": mr.pd,
        "iova": mr.iova,
        "len": mr.len,
        "page_shift": mr.page_shift,
        "pages": mr.pages.len(),
        "local_write": mr.access.local_write,
        "remote_write": mr.access.remote_write,
        "remote_read": mr.access.remote_read,
    })
}

fn counter(counter: &EventCounter) -> Value {
    json!({ "uar": counter.uar, "address": counter.address, "value": counter.value })
}
