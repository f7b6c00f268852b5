// One end of a pair that loads the world: every operation of RC over many queue pairs, each message with a number and a
// CRC that the receiver checks, each completion in its turn and only once. Linked with the plain libibverbs.
//   load_peer serve PORT QPS SIZE              waits for its caller and checks what it sends
//   load_peer call PORT QPS SIZE NODE MS SEED [REST_US]
//                                              sends for MS milliseconds, then compares the counts; may rest in between
// Ends with 0; 1 when something is wrong; 3 when a completion failed and 4 when the other end went away, which a test
// that kills programs expects.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "interop/load_wire.h"

namespace weft::load {
namespace {

constexpr std::uint32_t kSlots = 8;     // messages of a queue pair that nobody has checked yet
constexpr std::uint32_t kAckEvery = 4;  // messages
constexpr std::uint32_t kStamp_B = 1024;
constexpr std::uint8_t kTimeout = 10, kRetries = 7;  // 4.2 ms, eight times

struct Queue {
  ibv_qp* qp = nullptr;
  End peer{};
  std::uint8_t* memory = nullptr;
  std::uint64_t posted = 0, done = 0;     // work requests
  std::uint64_t messages = 0, acked = 0;  // that take a receive
  std::uint64_t atomics = 0;
  bool owes_notice = false;  // of a WRITE that was posted
  struct Expected {
    Kind kind;
    std::uint64_t atomics;
  } expected[kSlots]{};
};

class Peer {
 public:
  Peer(bool calls, std::uint32_t qps, std::uint32_t size_B, std::uint64_t seed)
      : calls_(calls), size_B_(size_B), queues_(qps), random_(seed, 0, RandomPurpose::kTest) {
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    check(count > 0, "no device");
    context_ = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, static_cast<int>(qps * 3 * kSlots), nullptr, nullptr, 0);
    memory_.resize(qps * stride_B() / 8);
    for (std::uint64_t& word : memory_) word = random_.next();
    mr_ = ibv_reg_mr(
        pd_, memory_.data(), memory_.size() * 8,
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    check(pd_ != nullptr && cq_ != nullptr && mr_ != nullptr, "cannot make objects");
  }

  void connect(int socket) {
    std::vector<End> own, peers(queues_.size());
    for (Queue& queue : queues_) own.push_back(make(queue));
    send_all(socket, own.data(), own.size() * sizeof(End));
    if (!receive_all(socket, peers.data(), peers.size() * sizeof(End))) end(kExitAlone, "the peer is gone");
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      queues_[i].peer = peers[i];
      ready(queues_[i], own[i]);
    }
  }

  // Sends until the time is over and everything has come back. Returns the messages of each queue.
  std::vector<std::uint64_t> call(long duration_ms, long rest_ns) {
    const std::int64_t start_ns = now_ns(), end_ns = start_ns + duration_ms * 1'000'000;
    for (bool open = true; open || under_way();) {
      open = open && now_ns() < end_ns;
      bool busy = take_completions();
      for (std::uint32_t i = 0; i < queues_.size(); ++i) busy = post_next(i, open) || busy;
      if (!busy || rest_ns > 0) rest(std::max(rest_ns, kIdle_ns));
    }
    elapsed_ns = now_ns() - start_ns;
    return counts();
  }

  // Checks what comes until there is as much as the caller says it has sent, on `socket`.
  void serve(int socket) {
    std::vector<std::uint64_t> sent(queues_.size());
    std::size_t got_B = 0;
    while (got_B < sent.size() * 8 || counts() != sent || under_way()) {
      (void)now_ns();  // a poll that finds nothing ends after a while: the clock may be what it waits for
      if (take_completions()) continue;
      got_B += receive_some(socket, reinterpret_cast<std::uint8_t*>(sent.data()) + got_B, sent.size() * 8 - got_B);
      rest();
    }
  }

  // The last acknowledgements of the caller's messages may come after its last completion.
  void tear_down() {
    rest();
    std::uint64_t before = operations;
    while (take_completions()) {
    }
    check(operations == before && !under_way(), "a completion too many");
    for (Queue& queue : queues_) check(ibv_destroy_qp(queue.qp) == 0, "ibv_destroy_qp");
    check(ibv_destroy_cq(cq_) == 0, "ibv_destroy_cq");
    check(ibv_dereg_mr(mr_) == 0, "ibv_dereg_mr");
    check(ibv_dealloc_pd(pd_) == 0, "ibv_dealloc_pd");
    check(ibv_close_device(context_) == 0, "ibv_close_device");
  }

  std::uint64_t operations = 0, bytes = 0, by_kind[8] = {};
  std::int64_t elapsed_ns = 0;

 private:
  // Of a queue pair: places for payload or for what is read, or written by the peer; receives; what the peer reads; the
  // counter of its atomics.
  std::size_t stride_B() const { return (2 * kSlots + 1) * std::size_t{size_B_} + 64; }
  std::uint64_t slot_at(std::uint64_t index) const { return index % kSlots * size_B_; }
  std::uint64_t receive_at(std::uint64_t index) const { return (kSlots + index % kSlots) * size_B_; }
  std::uint64_t source_at() const { return std::uint64_t{2} * kSlots * size_B_; }
  std::uint64_t counter_at() const { return source_at() + size_B_; }

  End make(Queue& queue) {
    auto index = static_cast<std::size_t>(&queue - queues_.data());
    queue.memory = reinterpret_cast<std::uint8_t*>(memory_.data()) + index * stride_B();
    std::memset(queue.memory + counter_at(), 0, 8);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {kSlots, kSlots, 1, 1, 0};
    queue.qp = ibv_create_qp(pd_, &init);
    check(queue.qp != nullptr, "ibv_create_qp");
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    check(ibv_modify_qp(queue.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "INIT");
    for (std::uint32_t i = 0; i < kSlots; ++i) post_receive(queue, i);
    End own{queue.qp->qp_num,
            static_cast<std::uint32_t>(random_.below(1 << 24)),
            mr_->rkey,
            crc_of(queue.memory + source_at(), size_B_),
            reinterpret_cast<std::uint64_t>(queue.memory),
            {}};
    check(ibv_query_gid(context_, 1, 3, reinterpret_cast<ibv_gid*>(own.gid)) == 0, "ibv_query_gid");
    return own;
  }

  void ready(Queue& queue, const End& own) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = queue.peer.qpn;
    attr.rq_psn = queue.peer.psn;
    attr.max_dest_rd_atomic = 4;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    std::memcpy(&attr.ah_attr.grh.dgid, queue.peer.gid, sizeof(queue.peer.gid));
    attr.ah_attr.grh.sgid_index = 3;
    attr.ah_attr.grh.hop_limit = 64;
    attr.ah_attr.port_num = 1;
    check(ibv_modify_qp(queue.qp, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "RTR");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = kTimeout;
    attr.retry_cnt = kRetries;
    attr.rnr_retry = 7;
    attr.sq_psn = own.psn;
    attr.max_rd_atomic = 4;
    check(ibv_modify_qp(queue.qp, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "RTS");
  }

  void post_receive(Queue& queue, std::uint64_t index) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(queue.memory) + receive_at(index), size_B_, mr_->lkey};
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = number_of(queue);
    wr.sg_list = &sge;
    wr.num_sge = 1;
    check(ibv_post_recv(queue.qp, &wr, &bad) == 0, "ibv_post_recv");
  }

  std::uint64_t number_of(const Queue& queue) const { return static_cast<std::uint64_t>(&queue - queues_.data()); }

  bool under_way() const {
    for (const Queue& queue : queues_) {
      if (queue.posted != queue.done || queue.owes_notice) return true;
    }
    return false;
  }
  std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> counts;
    for (const Queue& queue : queues_) counts.push_back(queue.messages);
    return counts;
  }

  // The payload is the old one with stamps of its number.
  void write_message(std::uint8_t* to, Kind kind, std::uint64_t number, std::uint32_t length_B) {
    for (std::uint32_t at = sizeof(Head); at + 8 <= length_B; at += kStamp_B) {
      std::uint64_t stamp = mix64(number ^ at);
      std::memcpy(to + at, &stamp, 8);
    }
    Head head{number, kind, length_B, crc_of(to + sizeof(Head), length_B - sizeof(Head)), 0};
    std::memcpy(to, &head, sizeof(head));
  }
  void check_message(const std::uint8_t* from, Kind kind, std::uint64_t number) {
    Head head;
    std::memcpy(&head, from, sizeof(head));
    check(head.number == number && head.kind == kind, "a message out of its turn");
    check(head.length_B >= sizeof(Head) && head.length_B <= size_B_, "a length that was not sent");
    check(crc_of(from + sizeof(Head), head.length_B - sizeof(Head)) == head.crc, "payload");
    bytes += head.length_B;
    ++by_kind[static_cast<std::size_t>(kind)];
  }

  // The caller's next request, if there is room for one.
  bool post_next(std::uint32_t index, bool open) {
    Queue& queue = queues_[index];
    if (queue.posted - queue.done == kSlots || (!open && !queue.owes_notice)) return false;
    Kind kind = queue.owes_notice ? Kind::kNotice : static_cast<Kind>(random_.below(7));
    if (kind == Kind::kNotice && !queue.owes_notice) kind = Kind::kSend;
    bool takes_receive = kind == Kind::kSend || kind == Kind::kWriteImm || kind == Kind::kNotice;
    bool has_credit = queue.messages - queue.acked < kSlots;
    if (!has_credit && (takes_receive || kind == Kind::kWrite)) return false;
    bool small = random_.below(8) == 0;
    auto length_B = static_cast<std::uint32_t>(
        small || kind == Kind::kNotice ? sizeof(Head) + random_.below(size_B_ - sizeof(Head)) / 16 : size_B_);
    std::uint64_t slot = slot_at(queue.posted);
    std::uint8_t* at = queue.memory + slot;
    ibv_sge sge{reinterpret_cast<std::uint64_t>(at), length_B, mr_->lkey};
    ibv_send_wr wr{};
    wr.wr.rdma.rkey = queue.peer.rkey;
    wr.wr.rdma.remote_addr = queue.peer.memory + slot_at(queue.messages);
    switch (kind) {
      case Kind::kSend:
      case Kind::kNotice:
        wr.opcode = IBV_WR_SEND;
        break;
      case Kind::kWriteImm:
        wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        wr.imm_data = static_cast<std::uint32_t>(queue.messages);
        break;
      case Kind::kWrite:
        wr.opcode = IBV_WR_RDMA_WRITE;
        break;
      case Kind::kRead:
        wr.opcode = IBV_WR_RDMA_READ;
        wr.wr.rdma.remote_addr = queue.peer.memory + source_at();
        sge.length = size_B_;
        break;
      default:
        wr.opcode = kind == Kind::kFetchAdd ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
        wr.wr.atomic = {queue.peer.memory + counter_at(), kind == Kind::kFetchAdd ? 1 : queue.atomics,
                        queue.atomics + 1, queue.peer.rkey};
        sge.length = 8;
    }
    if (takes_receive || kind == Kind::kWrite) {
      write_message(at, kind, queue.messages, length_B);
      bytes += length_B;
      ++by_kind[static_cast<std::size_t>(kind)];
    }
    queue.expected[queue.posted % kSlots] = {kind, queue.atomics};
    if (kind == Kind::kFetchAdd || kind == Kind::kSwap) ++queue.atomics;
    queue.owes_notice = kind == Kind::kWrite;
    if (takes_receive) ++queue.messages;
    post(queue, wr, &sge);
    return true;
  }

  void post(Queue& queue, ibv_send_wr& wr, ibv_sge* sge) {
    ibv_send_wr* bad = nullptr;
    wr.wr_id = queue.posted++ << 32 | number_of(queue);
    wr.sg_list = sge;
    wr.num_sge = sge == nullptr ? 0 : 1;
    wr.send_flags = IBV_SEND_SIGNALED;
    check(ibv_post_send(queue.qp, &wr, &bad) == 0, "ibv_post_send");
    ++operations;
  }

  bool take_completions() {
    ibv_wc entries[32];
    int count = ibv_poll_cq(cq_, 32, entries);
    check(count >= 0, "ibv_poll_cq");
    for (int i = 0; i < count; ++i) {
      const ibv_wc& wc = entries[i];
      if (wc.status != IBV_WC_SUCCESS)
        end(kExitFailed, "status " + std::to_string(wc.status) + " " + ibv_wc_status_str(wc.status));
      Queue& queue = queues_.at(wc.wr_id & 0xffffffff);
      check(wc.qp_num == queue.qp->qp_num, "the completion of another queue");
      if ((wc.opcode & IBV_WC_RECV) != 0) {
        received(queue, wc);
      } else {
        check(wc.wr_id >> 32 == (queue.done & 0xffffffff), "a completion out of its turn");
        finished(queue, wc);
      }
    }
    return count > 0;
  }

  void received(Queue& queue, const ibv_wc& wc) {
    if (calls_) {
      check((wc.wc_flags & IBV_WC_WITH_IMM) != 0 && wc.byte_len == 0, "an acknowledgement");
      check(wc.imm_data == static_cast<std::uint32_t>(queue.acked + kAckEvery), "an acknowledgement out of its turn");
      queue.acked += kAckEvery;
      post_receive(queue, 0);
      return;
    }
    std::uint64_t number = queue.messages++;
    const std::uint8_t* received = queue.memory + receive_at(number);
    if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
      check(wc.imm_data == static_cast<std::uint32_t>(number), "immediate data");
      check_message(queue.memory + slot_at(number), Kind::kWriteImm, number);
    } else {
      Head head;
      std::memcpy(&head, received, sizeof(head));
      check(wc.byte_len == head.length_B, "byte_len");
      check_message(received, head.kind == Kind::kNotice ? Kind::kNotice : Kind::kSend, number);
      if (head.kind == Kind::kNotice) check_message(queue.memory + slot_at(number), Kind::kWrite, number);
    }
    post_receive(queue, number);
    if (queue.messages % kAckEvery != 0) return;
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND_WITH_IMM;
    wr.imm_data = static_cast<std::uint32_t>(queue.messages);
    queue.expected[queue.posted % kSlots] = {Kind::kAck, 0};
    check(queue.posted - queue.done < kSlots, "acknowledgements that do not end");
    post(queue, wr, nullptr);
  }

  void finished(Queue& queue, const ibv_wc& wc) {
    const Queue::Expected& expected = queue.expected[queue.done % kSlots];
    const std::uint8_t* at = queue.memory + slot_at(queue.done++);
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    switch (expected.kind) {
      case Kind::kRead:
        check(wc.opcode == IBV_WC_RDMA_READ && crc_of(at, size_B_) == queue.peer.read_crc, "what was read");
        bytes += size_B_;
        ++by_kind[static_cast<std::size_t>(Kind::kRead)];
        break;
      case Kind::kFetchAdd:
      case Kind::kSwap:
        check(value == expected.atomics, "an atomic was done more or less than once");
        ++by_kind[static_cast<std::size_t>(expected.kind)];
        break;
      default:
        break;
    }
  }

  bool calls_;
  std::uint32_t size_B_;
  std::vector<Queue> queues_;
  RandomStream random_;
  std::vector<std::uint64_t> memory_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
};

int run(int argc, char** argv) {
  check(argc >= 5, "usage: load_peer serve PORT QPS SIZE | call PORT QPS SIZE NODE MS SEED");
  const bool calls = std::string_view(argv[1]) == "call";
  check(!calls || argc >= 8, "call PORT QPS SIZE NODE MS SEED [REST_US]");
  Peer peer(calls, static_cast<std::uint32_t>(std::atoi(argv[3])), static_cast<std::uint32_t>(std::atoi(argv[4])),
            calls ? std::strtoull(argv[7], nullptr, 10) : 0);
  const int socket = calls ? connect_to(argv[5], argv[2]) : accept_at(argv[2]);
  peer.connect(socket);
  char ready = 0;
  send_all(socket, &ready, 1);
  if (!receive_all(socket, &ready, 1)) end(kExitAlone, "the peer is gone");
  if (calls) {
    std::printf("sending\n");
    std::fflush(stdout);
    std::vector<std::uint64_t> counts = peer.call(std::atol(argv[6]), argc > 8 ? std::atol(argv[8]) * 1000 : 0);
    send_all(socket, counts.data(), counts.size() * 8);
  } else {
    peer.serve(socket);
    send_all(socket, &ready, 1);
  }
  // Nobody goes before both are done.
  if (calls && !receive_all(socket, &ready, 1)) end(kExitAlone, "the peer is gone");
  peer.tear_down();
  std::printf("operations %llu bytes %llu ns %lld kinds", static_cast<unsigned long long>(peer.operations),
              static_cast<unsigned long long>(peer.bytes), static_cast<long long>(peer.elapsed_ns));
  for (std::uint64_t each : peer.by_kind) std::printf(" %llu", static_cast<unsigned long long>(each));
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace weft::load

int main(int argc, char** argv) {
  return weft::load::run(argc, argv);
}
