/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the driver can be seen doing. Each event has its Rust function in
 * src/trace.rs, with the same arguments: bindgen reads the prototypes here.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM efa

#if !defined(_TRACE_EFA_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_EFA_H

#include <linux/device.h>
#include <linux/tracepoint.h>

#define show_efa_opcode(opcode)			\
	__print_symbolic(opcode,		\
		{ 1, "CREATE_QP" },		\
		{ 2, "MODIFY_QP" },		\
		{ 3, "QUERY_QP" },		\
		{ 4, "DESTROY_QP" },		\
		{ 5, "CREATE_AH" },		\
		{ 6, "DESTROY_AH" },		\
		{ 7, "REG_MR" },		\
		{ 8, "DEREG_MR" },		\
		{ 9, "CREATE_CQ" },		\
		{ 10, "DESTROY_CQ" },		\
		{ 11, "GET_FEATURE" },		\
		{ 12, "SET_FEATURE" },		\
		{ 13, "GET_STATS" },		\
		{ 14, "ALLOC_PD" },		\
		{ 15, "DEALLOC_PD" },		\
		{ 16, "ALLOC_UAR" },		\
		{ 17, "DEALLOC_UAR" },		\
		{ 18, "CREATE_EQ" },		\
		{ 19, "DESTROY_EQ" },		\
		{ 25, "CREATE_EVENT_COUNTER" },	\
		{ 26, "DESTROY_EVENT_COUNTER" },	\
		{ 27, "ATTACH_EVENT_COUNTER" },	\
		{ 28, "MODIFY_EVENT_COUNTER" },	\
		{ 29, "DETACH_EVENT_COUNTER" })

#define show_efa_ah_opcode(opcode)		\
	__print_symbolic(opcode,		\
		{ 5, "CREATE_AH" },		\
		{ 6, "DESTROY_AH" })

#define show_efa_status(status)				\
	__print_symbolic(status,			\
		{ 0, "success" },			\
		{ 1, "resource allocation failure" },	\
		{ 2, "bad opcode" },			\
		{ 3, "unsupported opcode" },		\
		{ 4, "malformed request" },		\
		{ 5, "illegal parameter" },		\
		{ 6, "unknown error" },			\
		{ 7, "resource busy" })

#define show_efa_aenq_group(group)		\
	__print_symbolic(group,			\
		{ 1, "fatal error" },		\
		{ 2, "warning" },		\
		{ 3, "notification" },		\
		{ 4, "keep-alive" })

#define show_efa_ah_hit(how)			\
	__print_symbolic(how,			\
		{ 0, "at once" },		\
		{ 1, "waited" },		\
		{ 2, "parked" })

#define show_efa_reset_reason(reason)		\
	__print_symbolic(reason,		\
		{ 0, "normal" },		\
		{ 3, "failed probe" },		\
		{ 6, "shutdown" })

#define show_efa_rule(rule)			\
	__print_symbolic(rule,			\
		{ 0, "exactly" },		\
		{ 1, "at most" },		\
		{ 2, "at least" },		\
		{ 3, "only bits of" },		\
		{ 4, "all bits of" },		\
		{ 5, "a power of two" },	\
		{ 6, "a multiple of" },		\
		{ 7, "a state after" },		\
		{ 8, "memory that can be pinned" },	\
		{ 9, "what can be mapped" })

/* Where the type of an event is in the first word of its entry. */
#define EFA_EQE_TYPE_SHIFT 1

/* The device was given a command. */
TRACE_EVENT(efa_admin_submit,
	TP_PROTO(const struct device *dev, u16 id, u8 opcode),
	TP_ARGS(dev, id, opcode),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__field(u16, id)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->id = id;
		__entry->opcode = opcode;
	),
	TP_printk("%s: %s id=%#x", __get_str(dev), show_efa_opcode(__entry->opcode), __entry->id)
);

/* The submitter of a command has its completion. */
TRACE_EVENT(efa_admin_complete,
	TP_PROTO(const struct device *dev, u16 id, u8 opcode, u8 status, u64 latency_ns),
	TP_ARGS(dev, id, opcode, status, latency_ns),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__field(u64, latency_ns)
		__field(u16, id)
		__field(u8, opcode)
		__field(u8, status)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->latency_ns = latency_ns;
		__entry->id = id;
		__entry->opcode = opcode;
		__entry->status = status;
	),
	TP_printk("%s: %s id=%#x status=%u (%s) latency_ns=%llu", __get_str(dev),
		  show_efa_opcode(__entry->opcode), __entry->id, __entry->status,
		  show_efa_status(__entry->status), __entry->latency_ns)
);

/* The submitter of a command stopped waiting: for too long, or since the queue was closed. */
TRACE_EVENT(efa_admin_timeout,
	TP_PROTO(const struct device *dev, u16 id, u8 opcode, u64 latency_ns),
	TP_ARGS(dev, id, opcode, latency_ns),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__field(u64, latency_ns)
		__field(u16, id)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->latency_ns = latency_ns;
		__entry->id = id;
		__entry->opcode = opcode;
	),
	TP_printk("%s: %s id=%#x latency_ns=%llu", __get_str(dev),
		  show_efa_opcode(__entry->opcode), __entry->id, __entry->latency_ns)
);

/* The device reported something on its own. */
TRACE_EVENT(efa_aenq,
	TP_PROTO(const struct device *dev, u16 group, u16 syndrome),
	TP_ARGS(dev, group, syndrome),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__field(u16, group)
		__field(u16, syndrome)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->group = group;
		__entry->syndrome = syndrome;
	),
	TP_printk("%s: group=%u (%s) syndrome=%#x", __get_str(dev), __entry->group,
		  show_efa_aenq_group(__entry->group), __entry->syndrome)
);

/* An entry of an event queue: type 0 is a completion event of CQ cqn. */
TRACE_EVENT(efa_eq,
	TP_PROTO(const struct device *dev, u16 eqn, u32 kind, u16 cqn),
	TP_ARGS(dev, eqn, kind, cqn),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__field(u16, eqn)
		__field(u16, cqn)
		__field(u8, type)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->eqn = eqn;
		__entry->cqn = cqn;
		__entry->type = kind >> EFA_EQE_TYPE_SHIFT;
	),
	TP_printk("%s: eqn=%u type=%u cqn=%u", __get_str(dev), __entry->eqn, __entry->type,
		  __entry->cqn)
);

/* The driver refused a request: a field of it is not what it has to be. */
TRACE_EVENT(efa_refused,
	TP_PROTO(const struct device *dev, const char *verb, const char *field, u64 value, u8 rule,
		 u64 limit, int error),
	TP_ARGS(dev, verb, field, value, rule, limit, error),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__string(verb, verb)
		__string(field, field)
		__field(u64, value)
		__field(u64, limit)
		__field(int, error)
		__field(u8, rule)
	),
	TP_fast_assign(
		__assign_str(dev);
		__assign_str(verb);
		__assign_str(field);
		__entry->value = value;
		__entry->limit = limit;
		__entry->error = error;
		__entry->rule = rule;
	),
	TP_printk("%s: verb=%s field=%s value=%llu (%#llx) rule=%u (%s) limit=%llu (%#llx) error=%d",
		  __get_str(dev), __get_str(verb), __get_str(field), __entry->value, __entry->value,
		  __entry->rule, show_efa_rule(__entry->rule), __entry->limit, __entry->limit,
		  __entry->error)
);

/* A handle was found without a command; users counts the finder. */
TRACE_EVENT(efa_ah_hit,
	TP_PROTO(const struct device *dev, u16 pd, const u8 (*gid)[16], u16 ah, int users, u8 how),
	TP_ARGS(dev, pd, gid, ah, users, how),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__array(u8, gid, 16)
		__field(int, users)
		__field(u16, pd)
		__field(u16, ah)
		__field(u8, how)
	),
	TP_fast_assign(
		__assign_str(dev);
		memcpy(__entry->gid, *gid, sizeof(*gid));
		__entry->users = users;
		__entry->pd = pd;
		__entry->ah = ah;
		__entry->how = how;
	),
	TP_printk("%s: pd=%u gid=%pI6 ah=%u users=%d how=%u (%s)", __get_str(dev), __entry->pd,
		  __entry->gid, __entry->ah, __entry->users, __entry->how,
		  show_efa_ah_hit(__entry->how))
);

/* There was no handle: CREATE_AH follows. */
TRACE_EVENT(efa_ah_miss,
	TP_PROTO(const struct device *dev, u16 pd, const u8 (*gid)[16]),
	TP_ARGS(dev, pd, gid),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__array(u8, gid, 16)
		__field(u16, pd)
	),
	TP_fast_assign(
		__assign_str(dev);
		memcpy(__entry->gid, *gid, sizeof(*gid));
		__entry->pd = pd;
	),
	TP_printk("%s: pd=%u gid=%pI6", __get_str(dev), __entry->pd, __entry->gid)
);

/* A command for a handle succeeded. The latency of one that began before anybody listened is 0. */
DECLARE_EVENT_CLASS(efa_ah_command,
	TP_PROTO(const struct device *dev, u16 pd, const u8 (*gid)[16], u16 ah, int users,
		 u64 latency_ns),
	TP_ARGS(dev, pd, gid, ah, users, latency_ns),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__array(u8, gid, 16)
		__field(u64, latency_ns)
		__field(int, users)
		__field(u16, pd)
		__field(u16, ah)
	),
	TP_fast_assign(
		__assign_str(dev);
		memcpy(__entry->gid, *gid, sizeof(*gid));
		__entry->latency_ns = latency_ns;
		__entry->users = users;
		__entry->pd = pd;
		__entry->ah = ah;
	),
	TP_printk("%s: pd=%u gid=%pI6 ah=%u users=%d latency_ns=%llu", __get_str(dev), __entry->pd,
		  __entry->gid, __entry->ah, __entry->users, __entry->latency_ns)
);

/* CREATE_AH succeeded. */
DEFINE_EVENT(efa_ah_command, efa_ah_create,
	TP_PROTO(const struct device *dev, u16 pd, const u8 (*gid)[16], u16 ah, int users,
		 u64 latency_ns),
	TP_ARGS(dev, pd, gid, ah, users, latency_ns)
);

/* DESTROY_AH succeeded. */
DEFINE_EVENT(efa_ah_command, efa_ah_destroy,
	TP_PROTO(const struct device *dev, u16 pd, const u8 (*gid)[16], u16 ah, int users,
		 u64 latency_ns),
	TP_ARGS(dev, pd, gid, ah, users, latency_ns)
);

/* CREATE_AH or DESTROY_AH failed. */
TRACE_EVENT(efa_ah_failure,
	TP_PROTO(const struct device *dev, u16 pd, const u8 (*gid)[16], u16 ah, u8 opcode, int error,
		 u64 latency_ns),
	TP_ARGS(dev, pd, gid, ah, opcode, error, latency_ns),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__array(u8, gid, 16)
		__field(u64, latency_ns)
		__field(int, error)
		__field(u16, pd)
		__field(u16, ah)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__assign_str(dev);
		memcpy(__entry->gid, *gid, sizeof(*gid));
		__entry->latency_ns = latency_ns;
		__entry->error = error;
		__entry->pd = pd;
		__entry->ah = ah;
		__entry->opcode = opcode;
	),
	TP_printk("%s: pd=%u gid=%pI6 ah=%u opcode=%u (%s) error=%d latency_ns=%llu",
		  __get_str(dev), __entry->pd, __entry->gid, __entry->ah, __entry->opcode,
		  show_efa_ah_opcode(__entry->opcode), __entry->error, __entry->latency_ns)
);

/* A reset ended, well (result 0) or not (an errno). */
TRACE_EVENT(efa_reset,
	TP_PROTO(const struct device *dev, u32 reason, int result, u64 latency_ns),
	TP_ARGS(dev, reason, result, latency_ns),
	TP_STRUCT__entry(
		__string(dev, dev_name(dev))
		__field(u64, latency_ns)
		__field(u32, reason)
		__field(int, result)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->latency_ns = latency_ns;
		__entry->reason = reason;
		__entry->result = result;
	),
	TP_printk("%s: reason=%u (%s) result=%d latency_ns=%llu", __get_str(dev), __entry->reason,
		  show_efa_reset_reason(__entry->reason), __entry->result, __entry->latency_ns)
);

#endif

/* Must be outside of the guard. */
#include <trace/define_trace.h>
