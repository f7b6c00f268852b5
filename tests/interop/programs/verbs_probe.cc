// Looks at corners of the verbs library that no packaged program looks at. Prints what it found; programs_test.cc runs
// it on a node of a world.
//   verbs_probe names    resolves what NCCL resolves, as NCCL does: dlopen, then dlvsym with a version
//   verbs_probe events   two queue pairs of one port and the asynchronous events that they cause
//   verbs_probe unmapped a WRITE whose source is unmapped while it is on its way
//   verbs_probe vendor   what libmlx5 says of the first device, as perftest asks it
//   verbs_probe threads  threads whose first call is a post to a queue that they share
//   verbs_probe rarely   a completion in a queue that is polled once for many polls of another, as by Open MPI
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

// The structure of mlx5dv.h begins with these; a library fills in what the mask asks for.
struct VendorContext {
  std::uint8_t version;
  std::uint64_t flags, asked;
  std::uint8_t rest[512];
};

int vendor() {
  void* library = need(dlopen("libmlx5.so.1", RTLD_NOW), "no libmlx5.so.1");
  auto query = reinterpret_cast<int (*)(ibv_context*, VendorContext*)>(
      need(dlsym(library, "mlx5dv_query_device"), "no mlx5dv_query_device"));
  ibv_device** devices = need(ibv_get_device_list(nullptr), "ibv_get_device_list");
  ibv_context* context = need(ibv_open_device(need(devices[0], "no device")), "ibv_open_device");
  VendorContext answer{};
  answer.asked = ~std::uint64_t{0};
  const int error = query(context, &answer);
  std::printf("%s: %s, capabilities %#llx\n", ibv_get_device_name(devices[0]), std::strerror(error),
              static_cast<unsigned long long>(answer.asked));
  ibv_close_device(context);
  ibv_free_device_list(devices);
  return 0;
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

// A device, and two queue pairs that are not connected yet.
Ends& open_ends(std::uint32_t depth) {
  static Ends ends;
  int count = 0;
  ibv_device** list = need(ibv_get_device_list(&count), "no list of devices");
  ends.context = need(ibv_open_device(need(list[0], "no device")), "ibv_open_device");
  ends.pd = need(ibv_alloc_pd(ends.context), "ibv_alloc_pd");
  ends.cq = need(ibv_create_cq(ends.context, static_cast<int>(4 * depth), nullptr, nullptr, 0), "ibv_create_cq");
  ends.mr = need(ibv_reg_mr(ends.pd, ends.memory, sizeof ends.memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                 "ibv_reg_mr");
  for (ibv_qp*& qp : ends.qp) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = ends.cq;
    attr.qp_type = IBV_QPT_RC;
    attr.cap = {depth, depth, 1, 1, 0};
    qp = need(ibv_create_qp(ends.pd, &attr), "ibv_create_qp");
  }
  ibv_free_device_list(list);
  return ends;
}

int events() {
  Ends& ends = open_ends(4);
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
  return 0;
}

int unmapped() {
  constexpr std::size_t kSize_B = 1 << 20;
  Ends& ends = open_ends(4);
  bring_up(ends, 0, IBV_QPS_RTS);
  bring_up(ends, 1, IBV_QPS_RTR);
  void* pages = mmap(nullptr, kSize_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* target = static_cast<unsigned char*>(std::calloc(1, kSize_B));
  std::memset(pages, 0x5a, kSize_B);
  ibv_mr* source = need(ibv_reg_mr(ends.pd, pages, kSize_B, 0), "ibv_reg_mr");
  ibv_mr* sink =
      need(ibv_reg_mr(ends.pd, target, kSize_B, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE), "ibv_reg_mr");
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(pages), kSize_B, source->lkey};
  ibv_send_wr wr{}, *bad;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(target);
  wr.wr.rdma.rkey = sink->rkey;
  if (ibv_post_send(ends.qp[0], &wr, &bad) != 0) fail("ibv_post_send");
  if (munmap(pages, kSize_B) != 0) fail("munmap");
  ibv_wc wc;
  while (ibv_poll_cq(ends.cq, 1, &wc) == 0) {
  }
  std::size_t right = 0;
  while (right < kSize_B && target[right] == 0x5a) ++right;
  std::printf("%s, %zu of %zu bytes\n", ibv_wc_status_str(wc.status), right, kSize_B);
  return 0;
}

constexpr std::uint32_t kThreads = 8, kPosts = 16;

struct Crew {
  Ends& ends;
  pthread_barrier_t start;
};

void* post_many(void* of) {
  Crew& crew = *static_cast<Crew*>(of);
  pthread_barrier_wait(&crew.start);
  for (std::uint32_t i = 0; i < kPosts; ++i) post(crew.ends, IBV_WR_SEND, 0);
  return nullptr;
}

void* receive_many(void* of) {
  Crew& crew = *static_cast<Crew*>(of);
  pthread_barrier_wait(&crew.start);
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(crew.ends.memory + 2048), 64, crew.ends.mr->lkey};
  ibv_recv_wr wr{}, *bad;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  for (std::uint32_t i = 0; i < kPosts; ++i) {
    if (ibv_post_recv(crew.ends.qp[1], &wr, &bad) != 0) fail("ibv_post_recv");
  }
  return nullptr;
}

void run_threads(Ends& ends, void* (*work)(void*)) {
  Crew crew{ends, {}};
  pthread_barrier_init(&crew.start, nullptr, kThreads);
  pthread_t threads[kThreads];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, work, &crew);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}

int threads() {
  Ends& ends = open_ends(kThreads * kPosts);
  bring_up(ends, 0, IBV_QPS_RTS);
  bring_up(ends, 1, IBV_QPS_RTR);
  run_threads(ends, receive_many);
  run_threads(ends, post_many);
  std::uint32_t received = 0;
  for (std::uint32_t i = 0; i < 2 * kThreads * kPosts;) {
    ibv_wc wc;
    if (ibv_poll_cq(ends.cq, 1, &wc) == 0) continue;
    if (wc.status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(wc.status));
    received += wc.opcode == IBV_WC_RECV ? 1 : 0;
    ++i;
  }
  std::printf("%u messages from %u threads\n", received, kThreads);
  return 0;
}

double now_s() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double posted_s = 0;

void* post_later(void* ends) {
  sleep(1);  // long enough for the other thread to be taken to wait for nothing but its queue
  posted_s = now_s();
  post(*static_cast<Ends*>(ends), IBV_WR_RDMA_WRITE, static_cast<Ends*>(ends)->mr->rkey);
  sleep(1000);
  fail("the completion was not found");
}

int rarely() {
  Ends& ends = open_ends(4);
  ibv_cq* often = need(ibv_create_cq(ends.context, 4, nullptr, nullptr, 0), "ibv_create_cq");
  bring_up(ends, 0, IBV_QPS_RTS);
  bring_up(ends, 1, IBV_QPS_RTS);  // no asynchronous event comes
  pthread_t thread;
  pthread_create(&thread, nullptr, post_later, &ends);
  ibv_wc wc;
  for (int i = 1; i % 150 != 0 || ibv_poll_cq(ends.cq, 1, &wc) == 0; ++i) ibv_poll_cq(often, 1, &wc);
  std::printf("%s, found %s\n", ibv_wc_status_str(wc.status), now_s() - posted_s < 1e-4 ? "at once" : "late");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "names") == 0) return names();
  if (argc == 2 && std::strcmp(argv[1], "events") == 0) return events();
  if (argc == 2 && std::strcmp(argv[1], "threads") == 0) return threads();
  if (argc == 2 && std::strcmp(argv[1], "unmapped") == 0) return unmapped();
  if (argc == 2 && std::strcmp(argv[1], "vendor") == 0) return vendor();
  if (argc == 2 && std::strcmp(argv[1], "rarely") == 0) return rarely();
  std::fprintf(stderr, "usage: verbs_probe names|events|unmapped|threads|vendor|rarely\n");
  return 2;
}
