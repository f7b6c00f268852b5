// Looks at corners of the verbs library that no packaged program looks at. Prints what it found; programs_test.cc runs
// it on a node of a world.
//   verbs_probe names    resolves what NCCL resolves, as NCCL does: dlopen, then dlvsym with a version
//   verbs_probe events   two queue pairs of one port and the asynchronous events that they cause
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

[[noreturn]] void fail(const char* what) {
  std::printf("verbs_probe: %s\n", what);
  std::exit(1);
}
template <typename T>
T* need(T* thing, const char* what) {
  if (thing == nullptr) fail(what);
  return thing;
}

// NCCL 2.28, src/misc/ibvsymbols.cc: names and versions that it asks for.
int names() {
  struct {
    const char *name, *version;
  } const asked[] = {{"ibv_get_device_list", "IBVERBS_1.1"}, {"ibv_free_device_list", "IBVERBS_1.1"},
                     {"ibv_get_device_name", "IBVERBS_1.1"}, {"ibv_open_device", "IBVERBS_1.1"},
                     {"ibv_close_device", "IBVERBS_1.1"},    {"ibv_get_async_event", "IBVERBS_1.1"},
                     {"ibv_ack_async_event", "IBVERBS_1.1"}, {"ibv_query_device", "IBVERBS_1.1"},
                     {"ibv_query_port", "IBVERBS_1.1"},      {"ibv_query_gid", "IBVERBS_1.1"},
                     {"ibv_query_qp", "IBVERBS_1.1"},        {"ibv_alloc_pd", "IBVERBS_1.1"},
                     {"ibv_dealloc_pd", "IBVERBS_1.1"},      {"ibv_reg_mr", "IBVERBS_1.1"},
                     {"ibv_dereg_mr", "IBVERBS_1.1"},        {"ibv_create_cq", "IBVERBS_1.1"},
                     {"ibv_destroy_cq", "IBVERBS_1.1"},      {"ibv_create_qp", "IBVERBS_1.1"},
                     {"ibv_modify_qp", "IBVERBS_1.1"},       {"ibv_destroy_qp", "IBVERBS_1.1"},
                     {"ibv_fork_init", "IBVERBS_1.1"},       {"ibv_event_type_str", "IBVERBS_1.1"},
                     {"ibv_reg_mr_iova2", "IBVERBS_1.8"},    {"ibv_query_ece", "IBVERBS_1.10"},
                     {"ibv_set_ece", "IBVERBS_1.10"},        {"ibv_reg_dmabuf_mr", "IBVERBS_1.12"}};
  void* library = need(dlopen("libibverbs.so", RTLD_NOW), "no libibverbs.so");
  int found = 0;
  for (const auto& each : asked) {
    if (dlvsym(library, each.name, each.version) == nullptr) {
      std::printf("missing: %s@%s\n", each.name, each.version);
    } else {
      ++found;
    }
  }
  std::printf("%d of %zu names resolved\n", found, sizeof asked / sizeof asked[0]);
  return found == static_cast<int>(sizeof asked / sizeof asked[0]) ? 0 : 1;
}

struct Ends {
  ibv_context* context;
  ibv_pd* pd;
  ibv_cq* cq;
  ibv_qp* qp[2];
  ibv_mr* mr;
  char memory[4096];
};

void set(ibv_qp* qp, ibv_qp_attr attr, int mask) {
  if (ibv_modify_qp(qp, &attr, mask) != 0) fail("ibv_modify_qp");
}

void bring_up(Ends& ends, int end, ibv_qp_state last) {
  union ibv_gid gid;
  if (ibv_query_gid(ends.context, 1, 3, &gid) != 0) fail("no GID 3");
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  set(ends.qp[end], attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  attr = {};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = ends.qp[1 - end]->qp_num;
  attr.max_dest_rd_atomic = 1;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = gid;
  attr.ah_attr.grh.sgid_index = 3;
  attr.ah_attr.grh.hop_limit = 64;
  set(ends.qp[end], attr,
      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
          IBV_QP_MIN_RNR_TIMER);
  if (last == IBV_QPS_RTR) return;
  attr = {};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  set(ends.qp[end], attr,
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

void post(Ends& ends, ibv_wr_opcode opcode, std::uint32_t rkey) {
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(ends.memory), 64, ends.mr->lkey};
  ibv_send_wr wr{}, *bad;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(ends.memory + 2048);
  wr.wr.rdma.rkey = rkey;
  if (ibv_post_send(ends.qp[0], &wr, &bad) != 0) fail("ibv_post_send");
}

// What comes within a second of the program's clock, and whom it is about.
void print_event(Ends& ends) {
  pollfd wait{ends.context->async_fd, POLLIN, 0};
  if (poll(&wait, 1, 1000) != 1) fail("no asynchronous event");
  ibv_async_event event;
  if (ibv_get_async_event(ends.context, &event) != 0) fail("ibv_get_async_event");
  std::printf("%s of the %s end\n", ibv_event_type_str(event.event_type),
              event.element.qp == ends.qp[1] ? "receiving" : "other");
  ibv_ack_async_event(&event);
}

int events() {
  static Ends ends;
  int count = 0;
  ibv_device** list = need(ibv_get_device_list(&count), "no list of devices");
  ends.context = need(ibv_open_device(need(list[0], "no device")), "ibv_open_device");
  ends.pd = need(ibv_alloc_pd(ends.context), "ibv_alloc_pd");
  ends.cq = need(ibv_create_cq(ends.context, 16, nullptr, nullptr, 0), "ibv_create_cq");
  ends.mr = need(ibv_reg_mr(ends.pd, ends.memory, sizeof ends.memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                 "ibv_reg_mr");
  for (ibv_qp*& qp : ends.qp) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = ends.cq;
    attr.qp_type = IBV_QPT_RC;
    attr.cap = {4, 4, 1, 1, 0};
    qp = need(ibv_create_qp(ends.pd, &attr), "ibv_create_qp");
  }
  bring_up(ends, 0, IBV_QPS_RTS);
  bring_up(ends, 1, IBV_QPS_RTR);
  post(ends, IBV_WR_RDMA_WRITE, ends.mr->rkey);
  print_event(ends);  // the first packet came to a queue pair in RTR
  post(ends, IBV_WR_RDMA_WRITE, ends.mr->rkey + 0x100);
  print_event(ends);  // a request with a key that does not exist
  for (ibv_qp* qp : ends.qp) ibv_destroy_qp(qp);
  ibv_dereg_mr(ends.mr);
  ibv_destroy_cq(ends.cq);
  ibv_dealloc_pd(ends.pd);
  ibv_close_device(ends.context);
  ibv_free_device_list(list);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "names") == 0) return names();
  if (argc == 2 && std::strcmp(argv[1], "events") == 0) return events();
  std::fprintf(stderr, "usage: verbs_probe names|events\n");
  return 2;
}
