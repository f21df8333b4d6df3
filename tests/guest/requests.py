# SPDX-License-Identifier: GPL-2.0
"""The verbs requests that write() takes: their parts, and how one is sent (those of ioctl(): ioctl.py).

A request has a part of the RDMA core and one of the driver, and so has its answer. The layouts are
those of the kernel's include/uapi/rdma/{ib_user_verbs,efa-abi}.h.
"""

import ctypes
import os
import struct

from wire import Layout

EXTENDED = 1 << 31


class Request:
    """One kind of request."""

    def __init__(self, number, core, driver="", answer=None, driver_answer="", extended=False):
        self.number = number
        self.core = Layout(core)
        self.driver = Layout(driver)
        self.answer = None if answer is None else Layout(answer)
        self.driver_answer = Layout(driver_answer)
        self.extended = extended

    def send(self, fd, core, driver=None, room=None, at=None):
        """Sends the request; its answer's two parts. OSError with the errno where it fails.

        `driver` is the driver's part, fields or bytes; `room` says how many bytes of the driver's
        answer are wanted, `at` where the whole answer is to be written.
        """
        core = self.core.pack(**core)
        driver = self.driver.pack(**(driver or {})) if not isinstance(driver, bytes) else driver
        room = self.driver_answer.size if room is None else room
        size = 0 if self.answer is None else self.answer.size
        memory = ctypes.create_string_buffer(max(size + room, 1))
        address = ctypes.addressof(memory) if at is None else at
        os.write(fd, self.encoded(core, driver, size, room, address))
        if self.answer is None:
            return None, None
        return self.answer.unpack(memory.raw), self.driver_answer.unpack(memory.raw[size : size + room])

    def encoded(self, core, driver, size, room, address):
        if self.extended:
            header = struct.pack("<IHH", self.number | EXTENDED, len(core) // 8, size // 8)
            where = address if size + room else 0
            return header + struct.pack("<QHHI", where, len(driver) // 8, room // 8, 0) + core + driver
        if self.answer is not None:
            core = struct.pack("<Q", address) + core
        header = struct.pack("<IHH", self.number, (8 + len(core) + len(driver)) // 4, (size + room) // 4)
        return header + core + driver


GET_CONTEXT = Request(
    0,
    "",
    "supported_caps:I reserved:4s",
    "async_fd:I num_comp_vectors:I",
    "comp_mask:I cmds_supp_udata:I sub_cqs_per_cq:H inline_buf_size:H max_llq_size:I max_tx_batch:H min_sq_wr:H"
    " inline_buf_size_ex:H reserved:2s",
)
QUERY_DEVICE = Request(
    1,
    "comp_mask:I reserved:I",
    answer="base:176s comp_mask:I response_length:I rest:120s",
    driver_answer="comp_mask:I max_sq_wr:I max_rq_wr:I max_sq_sge:H max_rq_sge:H max_rdma_size:I device_caps:I",
    extended=True,
)
ALLOC_PD = Request(3, "", answer="handle:I", driver_answer="comp_mask:I number:H reserved:2s")
DEALLOC_PD = Request(4, "handle:I")
CREATE_AH = Request(
    5,
    "user_handle:Q pd:I reserved:I gid:16s flow_label:I sgid_index:B hop_limit:B traffic_class:B reserved2:B"
    " dlid:H sl:B src_path_bits:B static_rate:B is_global:B port:B reserved3:B",
    answer="handle:I",
    driver_answer="comp_mask:I number:H reserved:2s",
)
DESTROY_AH = Request(8, "handle:I")
REG_MR = Request(
    9, "start:Q length:Q iova:Q pd:I access:I", answer="handle:I lkey:I rkey:I"
)
DEREG_MR = Request(13, "handle:I")
CREATE_COMP_CHANNEL = Request(17, "", answer="fd:I")
DESTROY_CQ = Request(20, "handle:I reserved:I", answer="comp_events:I async_events:I")
CREATE_QP = Request(
    24,
    "user_handle:Q pd:I send_cq:I recv_cq:I srq:I max_send_wr:I max_recv_wr:I max_send_sge:I max_recv_sge:I"
    " max_inline_data:I sq_sig_all:B qp_type:B is_srq:B reserved:B comp_mask:I create_flags:I rwq_ind_tbl:I"
    " source_qpn:I",
    "comp_mask:I rq_ring_size:I sq_ring_size:I driver_qp_type:I flags:H sl:B reserved:5s",
    "handle:I number:I max_send_wr:I max_recv_wr:I max_send_sge:I max_recv_sge:I max_inline_data:I reserved:I"
    " comp_mask:I response_length:I",
    "comp_mask:I rq_db_offset:I sq_db_offset:I llq_desc_offset:I rq_mmap_key:Q rq_mmap_size:Q rq_db_mmap_key:Q"
    " sq_db_mmap_key:Q llq_desc_mmap_key:Q send_sub_cq:H recv_sub_cq:H reserved:4s",
    extended=True,
)
QUERY_QP = Request(
    25,
    "handle:I attr_mask:I",
    answer="dest:32s alt_dest:32s max_send_wr:I max_recv_wr:I max_send_sge:I max_recv_sge:I max_inline_data:I"
    " qkey:I rq_psn:I sq_psn:I dest_qp_num:I qp_access_flags:I pkey_index:H alt_pkey_index:H qp_state:B"
    " cur_qp_state:B path_mtu:B path_mig_state:B sq_draining:B max_rd_atomic:B max_dest_rd_atomic:B"
    " min_rnr_timer:B port_num:B timeout:B retry_cnt:B rnr_retry:B alt_port_num:B alt_timeout:B sq_sig_all:B"
    " reserved:5s",
)
MODIFY_QP = Request(
    26,
    "dest:32s alt_dest:32s handle:I attr_mask:I qkey:I rq_psn:I sq_psn:I dest_qp_num:I qp_access_flags:I"
    " pkey_index:H alt_pkey_index:H qp_state:B cur_qp_state:B path_mtu:B path_mig_state:B en_sqd_async_notify:B"
    " max_rd_atomic:B max_dest_rd_atomic:B min_rnr_timer:B port_num:B timeout:B retry_cnt:B rnr_retry:B"
    " alt_port_num:B alt_timeout:B reserved:2s rate_limit:I reserved2:I",
    answer="comp_mask:I response_length:I",
    extended=True,
)
DESTROY_QP = Request(27, "handle:I reserved:I", answer="events:I")
