// Two queue pairs of one device that are connected to each other, with one completion queue and its channel.
#pragma once

#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdlib.h>

struct Verbs {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* near = nullptr;
  ibv_qp* far = nullptr;
  char* memory = nullptr;
  ibv_mr* region = nullptr;

  Verbs() {
    ibv_device** devices = ibv_get_device_list(nullptr);
    context = devices == nullptr || devices[0] == nullptr ? nullptr : ibv_open_device(devices[0]);
    if (context == nullptr) exit(1);
    pd = ibv_alloc_pd(context);
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, 256, nullptr, channel, 0);
    memory = static_cast<char*>(calloc(1, 8192));
    region = ibv_reg_mr(pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    near = make_qp();
    far = make_qp();
    if (near == nullptr || far == nullptr || region == nullptr) exit(1);
    connect_qp(near, far);
    connect_qp(far, near);
  }
  ibv_qp* make_qp() const {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = cq;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {128, 4, 1, 1, 0};
    return ibv_create_qp(pd, &wanted);
  }
  void connect_qp(ibv_qp* qp, const ibv_qp* to) const {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    int error = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = to->qp_num;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = 3;
    attr.ah_attr.grh.hop_limit = 64;
    ibv_query_gid(context, 1, 3, &attr.ah_attr.grh.dgid);
    error |= ibv_modify_qp(qp, &attr,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    error |= ibv_modify_qp(
        qp, &attr,
        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
    if (error != 0) exit(1);
  }
  int post() const {
    ibv_sge part{reinterpret_cast<uint64_t>(memory), 64, region->lkey};
    ibv_send_wr wanted{}, *bad = nullptr;
    wanted.sg_list = &part;
    wanted.num_sge = 1;
    wanted.opcode = IBV_WR_RDMA_WRITE;
    wanted.send_flags = IBV_SEND_SIGNALED;
    wanted.wr.rdma = {reinterpret_cast<uint64_t>(memory) + 4096, region->rkey};
    return ibv_post_send(near, &wanted, &bad);
  }
  void set_error(ibv_qp* qp) const {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(qp, &attr, IBV_QP_STATE);
  }
};
