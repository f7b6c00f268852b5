"""The rarer verbs through Debian's pyverbs, on one device with itself: a line for each that worked.

Run inside a world: python3 rare_verbs.py
"""
import os
import tempfile

import pyverbs.device as d
import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.mr import DMMR, MR, MW, MWBindInfo
from pyverbs.pd import PD, ParentDomain, ParentDomainInitAttr
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqInitAttrEx
from pyverbs.wr import RecvWR, SGE, SendWR
from pyverbs.xrcd import XRCD, XRCDInitAttr

GID_INDEX, SIZE = 3, 3000
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ

ctx = d.Context(name="mlx5_0")
pd = PD(ctx)


def attributes(peer):
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ACCESS
    attr.path_mtu = e.IBV_MTU_1024
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
    route = GlobalRoute(dgid=ctx.query_gid(1, GID_INDEX), sgid_index=GID_INDEX)
    attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=route)
    attr.dest_qp_num = peer.qp_num
    return attr


def poll(cq, status=e.IBV_WC_SUCCESS):
    while True:
        count, wcs = cq.poll()
        if count:
            assert wcs[0].status == status, f"{wcs[0].status} instead of {status}"
            return wcs[0]


def pair(cq):
    cap = QPCap(max_send_wr=8, max_recv_wr=8)
    start = QPAttr(port_num=1)
    start.qp_access_flags = ACCESS
    both = [QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap), start) for _ in range(2)]
    both[0].to_rts(attributes(both[1]))
    both[1].to_rts(attributes(both[0]))
    return both


def write(qp, mr, remote, rkey, status=e.IBV_WC_SUCCESS, cq=None):
    wr = SendWR(opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=[SGE(mr.buf, SIZE, mr.lkey)])
    wr.set_wr_rdma(rkey, remote)
    qp.post_send(wr)
    poll(cq, status)


def windows():
    cq = CQ(ctx, 16)
    one, two = pair(cq)
    source = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
    target = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_MW_BIND)
    source.write("w" * SIZE, SIZE)
    mw = MW(pd, e.IBV_MW_TYPE_2)
    bind = SendWR(opcode=e.IBV_WR_BIND_MW)
    bind.set_bind_wr(mw, MWBindInfo(target, target.buf, SIZE, e.IBV_ACCESS_REMOTE_WRITE))
    two.post_send(bind)
    poll(cq)
    write(one, source, target.buf, bind.rkey, cq=cq)
    assert target.read(SIZE, 0) == b"w" * SIZE
    end = SendWR(opcode=e.IBV_WR_LOCAL_INV)
    end.imm_data = bind.rkey
    two.post_send(end)
    poll(cq)
    write(one, source, target.buf, bind.rkey, e.IBV_WC_REM_ACCESS_ERR, cq=cq)
    mw.close()


def extended_connection():
    cq = CQEX(ctx, CqInitAttrEx(cqe=16, wc_flags=e.IBV_WC_STANDARD_FLAGS | e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP))
    with tempfile.NamedTemporaryFile() as file:
        fd = os.open(file.name, os.O_RDONLY)
        xrcd = XRCD(ctx, XRCDInitAttr(e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS, os.O_CREAT, fd))
        init = SrqInitAttrEx(max_wr=8)
        init.srq_type, init.pd, init.xrcd, init.cq = e.IBV_SRQT_XRC, pd, xrcd, cq
        init.comp_mask = e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_PD | e.IBV_SRQ_INIT_ATTR_CQ | \
            e.IBV_SRQ_INIT_ATTR_XRCD
        srq = SRQ(ctx, init)
        start = QPAttr(port_num=1)
        start.qp_access_flags = ACCESS
        target = QP(ctx, QPInitAttrEx(qp_type=e.IBV_QPT_XRC_RECV, comp_mask=e.IBV_QP_INIT_ATTR_XRCD, xrcd=xrcd), start)
        cap = QPCap(max_send_wr=8, max_recv_wr=0, max_recv_sge=0)
        initiator = QP(ctx, QPInitAttrEx(qp_type=e.IBV_QPT_XRC_SEND, sq_sig_all=1, comp_mask=e.IBV_QP_INIT_ATTR_PD,
                                         pd=pd, scq=cq, cap=cap), start)
        target.to_rts(attributes(initiator))
        initiator.to_rts(attributes(target))
        source, into = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE), MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        source.write("x" * SIZE, SIZE)
        srq.post_recv(RecvWR(num_sge=1, sg=[SGE(into.buf, SIZE, into.lkey)]))
        wr = SendWR(num_sge=1, sg=[SGE(source.buf, SIZE, source.lkey)])
        wr.set_qp_type_xrc(srq.get_srq_num())
        initiator.post_send(wr)
        seen, stamps = set(), []
        while len(seen) < 2:
            if cq.start_poll(PollCqAttr()) != 0:
                continue
            while True:
                assert cq.status == e.IBV_WC_SUCCESS
                seen.add(cq.read_opcode())
                stamps.append(cq.read_timestamp())
                if cq.poll_next() != 0:
                    break
            cq.end_poll()
        assert seen == {e.IBV_WC_SEND, e.IBV_WC_RECV}, seen
        assert 0 < stamps[0] <= stamps[1], stamps
        assert into.read(SIZE, 0) == b"x" * SIZE
        os.close(fd)


def device_memory():
    cq = CQ(ctx, 16)
    one, _ = pair(cq)
    dm = d.DM(ctx, d.AllocDmAttr(length=4096))
    inside = DMMR(pd, 4096, e.IBV_ACCESS_ZERO_BASED | ACCESS, dm, 0)
    source = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
    source.write("d" * SIZE, SIZE)
    write(one, source, 0, inside.rkey, cq=cq)
    assert dm.copy_from_dm(0, SIZE) == b"d" * SIZE
    inside.close()
    dm.close()


def changed_objects():
    cq = CQ(ctx, 2)
    cq.resize(100)
    assert cq.cqe >= 100
    one, _ = pair(cq)
    source = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
    target = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
    target.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, None, 0, 0, ACCESS)
    write(one, source, target.buf, target.rkey, cq=cq)


def on_demand():
    cq = CQ(ctx, 16)
    one, _ = pair(cq)
    source = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
    everything = MR(pd, 0, ACCESS | e.IBV_ACCESS_ON_DEMAND, implicit=True)
    target = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
    write(one, source, target.buf, everything.rkey, cq=cq)


def drained():
    cq = CQ(ctx, 16)
    one, _ = pair(cq)
    attr = QPAttr(qp_state=e.IBV_QPS_SQD)
    one.modify(attr, e.IBV_QP_STATE)
    assert one.query(e.IBV_QP_STATE)[0].qp_state == e.IBV_QPS_SQD
    one.modify(QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE)
    try:
        QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap())).modify(
            QPAttr(qp_state=e.IBV_QPS_INIT), e.IBV_QP_STATE)
    except Exception:  # it needs more than the state
        return
    raise AssertionError("INIT without its attributes")


def imported():
    other = d.Context(cmd_fd=os.dup(ctx.cmd_fd))
    again = PD(other, handle=pd.handle)
    mr = MR(pd, SIZE, ACCESS)
    same = MR(again, handle=mr.handle)
    assert same.rkey == mr.rkey
    same.unimport()
    again.unimport()


def parent():
    with ParentDomain(ctx, attr=ParentDomainInitAttr(pd=pd)) as domain:
        MR(domain, SIZE, e.IBV_ACCESS_LOCAL_WRITE)


for each in (windows, extended_connection, device_memory, changed_objects, on_demand, drained, imported, parent):
    each()
    print(each.__name__, flush=True)
