// Two ends that do SEND, WRITE, READ and FETCH_ADD to each other over RC, in sizes that are multiples of nothing, and
// look at every byte. A plain verbs program: it runs on a node of a world and on any Linux with an RDMA device.
//   rdma_check [-d DEVICE] [-g GID_INDEX] [-p PORT] [-n ROUNDS] [-t TIMEOUT] [-r RETRIES] [SERVER]
#include <infiniband/verbs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t kSizes_B[] = {1, 3, 4, 255, 256, 1000, 1024, 4095, 4096, 4097, 9999, 65536, 65537};
constexpr std::uint32_t kMax_B = 65537;
constexpr int kPatience_s = 120;
constexpr std::uint64_t kReceiveId = 100;

struct Options {
  std::string device, server;
  int gid_index = 3, port = 18515, rounds = 26;
  std::uint8_t timeout = 18, retries = 7;
};

[[noreturn]] void fail(const char* what, long number = 0) {
  std::fprintf(stderr, "rdma_check: %s (%ld)\n", what, number);
  std::exit(1);
}

// What each end tells the other.
struct Ticket {
  std::uint32_t qpn, psn;
  std::uint64_t written, read, counter;  // addresses
  std::uint32_t written_key, read_key, counter_key, unused;
  std::uint8_t gid[16];
};

class Line {
 public:
  explicit Line(const Options& options) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = options.server.empty() ? AI_PASSIVE : 0;
    addrinfo* found = nullptr;
    const char* name = options.server.empty() ? nullptr : options.server.c_str();
    if (getaddrinfo(name, std::to_string(options.port).c_str(), &hints, &found) != 0) fail("no such host");
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    if (name != nullptr) {
      if (connect(fd_, found->ai_addr, found->ai_addrlen) != 0) fail("Couldn't connect");
    } else {
      const int on = 1;
      setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (bind(fd_, found->ai_addr, found->ai_addrlen) != 0 || listen(fd_, 1) != 0) fail("cannot listen");
      const int listener = fd_;
      fd_ = accept(listener, nullptr, nullptr);
      close(listener);
    }
    freeaddrinfo(found);
    if (fd_ < 0) fail("no connection");
  }
  template <typename T>
  T exchange(const T& mine) const {
    if (write(fd_, &mine, sizeof mine) != static_cast<ssize_t>(sizeof mine)) fail("the other end is gone");
    T theirs;
    std::size_t got = 0;
    while (got < sizeof theirs) {
      const ssize_t part = read(fd_, reinterpret_cast<char*>(&theirs) + got, sizeof theirs - got);
      if (part <= 0) fail("the other end is gone");
      got += static_cast<std::size_t>(part);
    }
    return theirs;
  }
  void meet() const { exchange('.'); }

 private:
  int fd_;
};

void fill(std::vector<std::uint8_t>& bytes, std::uint32_t seed) {
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
}
// What lies behind the message must be as it was.
void check(const std::vector<std::uint8_t>& bytes, std::uint32_t size_B, std::uint32_t seed, const char* what) {
  std::vector<std::uint8_t> wanted(bytes.size());
  fill(wanted, seed);
  for (std::uint32_t i = 0; i < size_B; ++i) {
    if (bytes[i] != wanted[i]) fail(what, i);
  }
  for (std::uint32_t i = size_B; i < bytes.size(); ++i) {
    if (bytes[i] != 0) fail("bytes behind the message were written", i);
  }
}

class Ends {
 public:
  explicit Ends(const Options& options) : options_(options), line_(options) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    for (int i = 0; i < count && context_ == nullptr; ++i) {
      if (options.device.empty() || options.device == ibv_get_device_name(list[i])) context_ = ibv_open_device(list[i]);
    }
    if (context_ == nullptr) fail("no RDMA device");
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 64, nullptr, nullptr, 0);
    for (auto* bytes : {&source_, &received_, &written_, &offered_, &fetched_}) {
      bytes->resize(kMax_B + 64);
      keys_.push_back(ibv_reg_mr(pd_, bytes->data(), bytes->size(), kAccess));
    }
    counter_key_ = ibv_reg_mr(pd_, words_, sizeof words_, kAccess);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.cap = {16, 16, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    qp_ = pd_ == nullptr || cq_ == nullptr ? nullptr : ibv_create_qp(pd_, &init);
    if (qp_ == nullptr || counter_key_ == nullptr) fail("cannot make a queue pair");
    connect_qp();
  }

  // This end acts, or the other does.
  void turn(bool active) {
    std::uint64_t sum = 0;
    words_[0] = 0;
    for (int round = 0; round < options_.rounds; ++round) {
      const auto number = static_cast<std::uint32_t>(round);
      const std::uint32_t size_B = kSizes_B[number % std::size(kSizes_B)];
      if (active) {
        act(number, size_B, sum);
      } else {
        prepare(number);
      }
      sum += number + 1;
      if (!active) verify(number, size_B, sum);
      line_.meet();
    }
  }

 private:
  static constexpr int kAccess =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

  void connect_qp() {
    ibv_port_attr port{};
    ibv_gid gid{};
    if (ibv_query_port(context_, 1, &port) != 0 || ibv_query_gid(context_, 1, options_.gid_index, &gid) != 0)
      fail("no such GID", options_.gid_index);
    Ticket mine{qp_->qp_num,
                static_cast<std::uint32_t>(getpid()) * 7919u & 0xffffff,
                address(written_),
                address(offered_),
                reinterpret_cast<std::uint64_t>(words_),
                keys_[2]->rkey,
                keys_[3]->rkey,
                counter_key_->rkey,
                0,
                {}};
    std::memcpy(mine.gid, gid.raw, sizeof mine.gid);
    theirs_ = line_.exchange(mine);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = kAccess;
    modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = theirs_.qpn;
    attr.rq_psn = theirs_.psn;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.hop_limit = 64;
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(options_.gid_index);
    std::memcpy(attr.ah_attr.grh.dgid.raw, theirs_.gid, 16);
    modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = options_.timeout;
    attr.retry_cnt = options_.retries;
    attr.rnr_retry = 7;
    attr.sq_psn = mine.psn;
    attr.max_rd_atomic = 1;
    modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                     IBV_QP_MAX_QP_RD_ATOMIC);
    line_.meet();
  }
  void modify(ibv_qp_attr& attr, int mask) const {
    if (const int error = ibv_modify_qp(qp_, &attr, mask); error != 0) fail("modify_qp", error);
  }
  static std::uint64_t address(std::vector<std::uint8_t>& bytes) {
    return reinterpret_cast<std::uint64_t>(bytes.data());
  }

  void post(ibv_wr_opcode opcode, std::uint64_t local, std::uint32_t lkey, std::uint32_t size_B, std::uint64_t remote,
            std::uint32_t rkey, std::uint64_t add) const {
    ibv_sge sge{local, size_B, lkey};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = static_cast<std::uint64_t>(opcode);
    wr.opcode = opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {remote, add, 0, rkey};
    } else {
      wr.wr.rdma = {remote, rkey};
    }
    if (const int error = ibv_post_send(qp_, &wr, &bad); error != 0) fail("post_send", error);
  }
  ibv_wc complete() const {
    ibv_wc wc{};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kPatience_s);
    int count = 0;
    while ((count = ibv_poll_cq(cq_, 1, &wc)) == 0) {
      if (std::chrono::steady_clock::now() > end) fail("no completion in time", kPatience_s);
    }
    if (count < 0) fail("poll_cq", count);
    if (wc.status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(wc.status), static_cast<long>(wc.wr_id));
    return wc;
  }

  void act(std::uint32_t round, std::uint32_t size_B, std::uint64_t sum) {
    fill(source_, round * 16);
    std::fill(fetched_.begin(), fetched_.end(), std::uint8_t{0});
    words_[1] = ~std::uint64_t{0};
    line_.meet();  // the other end is ready
    post(IBV_WR_SEND, address(source_), keys_[0]->lkey, size_B, 0, 0, 0);
    post(IBV_WR_RDMA_WRITE, address(source_), keys_[0]->lkey, size_B, theirs_.written, theirs_.written_key, 0);
    post(IBV_WR_RDMA_READ, address(fetched_), keys_[4]->lkey, size_B, theirs_.read, theirs_.read_key, 0);
    post(IBV_WR_ATOMIC_FETCH_AND_ADD, reinterpret_cast<std::uint64_t>(&words_[1]), counter_key_->lkey, 8,
         theirs_.counter, theirs_.counter_key, round + 1);
    for (int i = 0; i < 4; ++i) complete();
    check(fetched_, size_B, round * 16 + 1, "READ brought a wrong byte");
    if (words_[1] != sum) fail("FETCH_ADD brought a wrong value", static_cast<long>(words_[1]));
    line_.meet();  // everything is there
  }
  void prepare(std::uint32_t round) {
    fill(offered_, round * 16 + 1);
    std::fill(received_.begin(), received_.end(), std::uint8_t{0});
    std::fill(written_.begin(), written_.end(), std::uint8_t{0});
    ibv_sge sge{address(received_), kMax_B, keys_[1]->lkey};
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = kReceiveId;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    if (const int error = ibv_post_recv(qp_, &wr, &bad); error != 0) fail("post_recv", error);
    line_.meet();
  }
  void verify(std::uint32_t round, std::uint32_t size_B, std::uint64_t sum) {
    line_.meet();
    const ibv_wc wc = complete();
    if (wc.wr_id != kReceiveId || wc.byte_len != size_B) fail("a receive of a wrong length", wc.byte_len);
    check(received_, size_B, round * 16, "SEND brought a wrong byte");
    check(written_, size_B, round * 16, "WRITE brought a wrong byte");
    if (words_[0] != sum) fail("FETCH_ADD left a wrong value", static_cast<long>(words_[0]));
  }

  const Options& options_;
  Line line_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  std::vector<std::uint8_t> source_, received_, written_, offered_, fetched_;
  std::vector<ibv_mr*> keys_;               // in this order
  alignas(8) std::uint64_t words_[2] = {};  // the counter that the other end adds to; what it was there
  ibv_mr* counter_key_ = nullptr;
  Ticket theirs_{};
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int option; (option = getopt(argc, argv, "d:g:p:n:t:r:")) != -1;) {
    if (option == '?') return 2;
    if (option == 'd') options.device = optarg;
    if (option == 'g') options.gid_index = std::atoi(optarg);
    if (option == 'p') options.port = std::atoi(optarg);
    if (option == 'n') options.rounds = std::atoi(optarg);
    if (option == 't') options.timeout = static_cast<std::uint8_t>(std::atoi(optarg));
    if (option == 'r') options.retries = static_cast<std::uint8_t>(std::atoi(optarg));
  }
  if (optind < argc) options.server = argv[optind];
  Ends ends(options);
  ends.turn(!options.server.empty());
  ends.turn(options.server.empty());
  std::printf("rdma_check: %d rounds each way, every byte right\n", options.rounds);
}
