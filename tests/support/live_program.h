// A world of two hosts in a thread of the test, and a program that speaks the protocol to it byte by byte, as one that
// means no good would. Its memory is the test's own: the world reaches it as it reaches any program's.
#pragma once

#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "labfile/reader.h"
#include "live/server.h"
#include "verbs/stream_protocol.h"

namespace weft {

inline constexpr const char* kTwoHosts = R"(version: 1
name: two
nodes:
  a: {kind: host, nics: [{model: cx4-lx-25g, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}}}]}
  b: {kind: host, nics: [{model: cx4-lx-25g, ports: {p0: {address: 10.0.0.2/24, mtu: 4200 B}}}]}
links:
  - {endpoints: ["a:p0", "b:p0"], cable: {kind: dac, length: 2 m}}
)";

class LiveWorld {
 public:
  LiveWorld() {
    auto read = lab::read_lab(kTwoHosts, "two");
    WEFT_CHECK(read.has_value(), "the lab is well");
    lab_ = std::move(*read);
    // An abstract address: nothing stays behind in a file system.
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    sockaddr_un any{};
    any.sun_family = AF_UNIX;
    WEFT_CHECK(bind(listener, reinterpret_cast<sockaddr*>(&any), sizeof(sa_family_t)) == 0 && listen(listener, 64) == 0,
               "a socket");
    size_ = sizeof(address_);
    getsockname(listener, reinterpret_cast<sockaddr*>(&address_), &size_);
    lab::SessionOptions options;
    options.open_ended = true;
    session_ = std::move(*lab::Session::open(lab_, options));
    session_->subscribe([this](const lab::SessionProgress& progress) { reached_ps_ = progress.now_ps; });
    server_.emplace(*session_, listener, verbs::Clock::kVirtual);
    thread_ = std::thread([this] {
      server_->run(stop_);
      ended_ = true;
    });
  }
  ~LiveWorld() {
    stop_ = true;
    close(connect());  // it looks up
    thread_.join();
  }
  int connect() const {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    WEFT_CHECK(::connect(fd, reinterpret_cast<const sockaddr*>(&address_), size_) == 0, "the world listens");
    return fd;
  }

  // What a subscriber of the world's session has seen.
  Time_ps reached_ps() const { return reached_ps_; }
  void cancel() { session_->cancel(); }
  bool has_ended() const { return ended_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
  lab::Lab lab_;
  std::unique_ptr<lab::Session> session_;
  std::atomic<Time_ps> reached_ps_ = 0;
  std::atomic<bool> ended_ = false;
  std::optional<live::Server> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

struct Answer {
  bool came = false;  // false: the world has hung up, or does not answer yet
  int error = 0;
  std::vector<std::byte> body;
  int fds[3] = {-1, -1, -1};

  template <typename T>
  T as() const {
    T value{};
    if (!body.empty()) std::memcpy(&value, body.data(), std::min(body.size(), sizeof(T)));
    return value;
  }
};

class LiveProgram {
 public:
  struct Mapped {
    std::uint8_t* memory = nullptr;
    std::size_t size_B = 0;
    verbs::QueueInfo info{};
    verbs::RingHead& head() const { return *reinterpret_cast<verbs::RingHead*>(memory + info.offset_B); }
    std::uint8_t* entry(std::uint32_t number) const {
      return memory + info.offset_B + sizeof(verbs::RingHead) +
             std::size_t{number & (info.entries - 1)} * info.stride_B;
    }
  };

  LiveProgram(const LiveWorld& world, const char* node, int patience_ms = 5000)
      : LiveProgram(world, node, Deferred{}, patience_ms) {
    finish_hello();
  }
  // Only says hello; to go on, finish_hello() when there is an answer. For those who have several programs and one
  // thread: the world waits for one program at a time, until it sleeps.
  struct Deferred {};
  LiveProgram(const LiveWorld& world, const char* node, Deferred, int patience_ms) : fd_(world.connect()) {
    timeval patience{patience_ms / 1000, patience_ms % 1000 * 1000};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    say_hello(node);
  }
  // The child of a program that has asked for it: says hello on the connection that the world has made.
  LiveProgram(int connection, int patience_ms = 5000) : fd_(connection) {
    timeval patience{patience_ms / 1000, patience_ms % 1000 * 1000};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    say_hello("");
    finish_hello();
  }
  void say_hello(const char* node) const {
    verbs::Hello hello{};
    hello.protocol = verbs::kProtocol;
    hello.pid = getpid();
    hello.tid = static_cast<std::int32_t>(syscall(SYS_gettid));
    std::strncpy(hello.node, node, sizeof(hello.node) - 1);
    say(static_cast<std::uint32_t>(verbs::Op::kHello), std::as_bytes(std::span(&hello, 1)), sizeof(hello), 0);
  }
  bool finish_hello() {
    Answer welcome = hear();
    if (!welcome.came || welcome.error != 0) return false;
    epoch_ns = welcome.as<verbs::Welcome>().epoch_ns;
    thread_page = static_cast<verbs::ThreadPage*>(map(welcome.fds[0], sizeof(verbs::ThreadPage)));
    page = static_cast<verbs::ProcessPage*>(map(welcome.fds[1], sizeof(verbs::ProcessPage)));
    return true;
  }
  int fd() const { return fd_; }
  LiveProgram(const LiveProgram&) = delete;
  LiveProgram& operator=(const LiveProgram&) = delete;
  ~LiveProgram() {
    close(fd_);
    for (const auto& [memory, size_B] : mappings_) munmap(memory, size_B);
  }

  // Whatever bytes; `size_B` is what the head says of them.
  bool say(std::uint32_t op, std::span<const std::byte> body, std::uint32_t size_B, std::int64_t local_ps) const {
    verbs::RequestHead head{static_cast<verbs::Op>(op), size_B, local_ps};
    iovec parts[2] = {{&head, sizeof(head)}, {const_cast<std::byte*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    return sendmsg(fd_, &message, MSG_NOSIGNAL) >= 0;
  }
  Answer hear() const {
    Answer answer;
    static thread_local std::vector<std::byte> room(verbs::kMaxMessage_B);
    verbs::ReplyHead head{};
    iovec parts[2] = {{&head, sizeof(head)}, {room.data(), room.size()}};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(answer.fds))];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    ssize_t got = recvmsg(fd_, &message, 0);
    if (got < static_cast<ssize_t>(sizeof(head))) return answer;
    answer.came = true;
    answer.error = head.error;
    answer.body.assign(room.begin(), room.begin() + (got - static_cast<ssize_t>(sizeof(head))));
    if (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr)
      std::memcpy(answer.fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    if (thread_page != nullptr) thread_page->local_ps.store(head.now_ps);
    return answer;
  }
  Answer ask_bytes(std::uint32_t op, std::span<const std::byte> body) const {
    std::int64_t local_ps = thread_page == nullptr ? 0 : thread_page->local_ps.load();
    if (!say(op, body, static_cast<std::uint32_t>(body.size()), local_ps)) return {};
    return hear();
  }
  template <typename Body>
  Answer ask(verbs::Op op, const Body& body) const {
    return ask_bytes(static_cast<std::uint32_t>(op), std::as_bytes(std::span(&body, 1)));
  }
  // The handle that the answer begins with; kNoHandle when it failed.
  template <typename Body>
  std::uint32_t make(verbs::Op op, const Body& body) {
    Answer answer = ask(op, body);
    close_fds(answer);
    return answer.came && answer.error == 0 ? answer.as<verbs::Handle>().handle : verbs::kNoHandle;
  }
  static void close_fds(const Answer& answer) {
    for (int fd : answer.fds) {
      if (fd >= 0) close(fd);
    }
  }
  bool sleep(std::int64_t time_ps) const { return ask(verbs::Op::kSleep, verbs::Sleep{now_ps() + time_ps}).came; }
  // Without waiting for the answer.
  bool begin_sleep(std::int64_t time_ps) const {
    verbs::Sleep until{now_ps() + time_ps};
    return say(static_cast<std::uint32_t>(verbs::Op::kSleep), std::as_bytes(std::span(&until, 1)), sizeof(until),
               now_ps());
  }
  std::int64_t now_ps() const { return thread_page == nullptr ? 0 : thread_page->local_ps.load(); }

  Mapped make_cq(std::uint32_t entries) {
    Answer answer = ask(verbs::Op::kCreateCq, verbs::CreateCq{0, entries, verbs::kNoHandle, 0});
    return answer.error == 0 ? mapped(answer, answer.as<verbs::CqInfo>().ring) : Mapped{};
  }
  Mapped make_srq(std::uint32_t pd, std::uint32_t entries) {
    Answer answer = ask(verbs::Op::kCreateSrq, verbs::CreateSrq{pd, entries, 1, 0, 0});
    return answer.error == 0 ? mapped(answer, answer.as<verbs::QueueInfo>()) : Mapped{};
  }
  struct Qp {
    std::uint32_t number = 0, handle = verbs::kNoHandle;
    Mapped send, receive;
    std::uint32_t type = IBV_QPT_RC;
  };
  // What each step needs (IBTA vol 1, 11.2.5.2).
  static std::uint32_t mask_of(std::uint32_t state, std::uint32_t type) {
    bool datagram = type == IBV_QPT_UD, reliable = type == IBV_QPT_RC;
    bool sends = reliable || type == IBV_QPT_XRC_SEND, answers = reliable || type == IBV_QPT_XRC_RECV;
    std::uint32_t mask = IBV_QP_STATE;
    if (state == IBV_QPS_INIT) mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    if (state == IBV_QPS_RTR && !datagram) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (state == IBV_QPS_RTR && answers) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (state == IBV_QPS_RTS) mask |= IBV_QP_SQ_PSN;
    if (state == IBV_QPS_RTS && type == IBV_QPT_XRC_RECV) mask |= IBV_QP_TIMEOUT;
    if (state == IBV_QPS_RTS && sends)
      mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return mask;
  }
  Qp make_qp(std::uint32_t pd, std::uint32_t cq, std::uint32_t depth, std::uint32_t srq = verbs::kNoHandle,
             std::uint32_t type = IBV_QPT_RC) {
    Answer answer = ask(verbs::Op::kCreateQp, verbs::CreateQp{pd, type, cq, cq, srq, depth, depth, 2, 2, 64, 0, 0});
    if (!answer.came || answer.error != 0) return {};
    auto info = answer.as<verbs::QpInfo>();
    Qp qp{info.qpn, info.send.handle, mapped(answer, info.send), {}, type};
    qp.receive = {qp.send.memory, qp.send.size_B, info.receive};
    return qp;
  }
  bool modify(const Qp& qp, std::uint32_t state, std::uint32_t peer, const char* peer_address = "\x0a\0\0\x02") {
    verbs::ModifyQp ask_for{};
    ask_for.qp = qp.handle;
    ask_for.mask = mask_of(state, qp.type);
    verbs::QpAttr& attr = ask_for.attr;
    attr.state = state;
    attr.path_mtu = path_mtu;
    attr.rq_psn = rq_psn;
    attr.dest_qpn = peer;
    attr.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 4;
    attr.timeout = 8;
    attr.retry_cnt = 1;
    attr.rnr_retry = 1;
    attr.min_rnr_timer = 1;
    attr.ah.sgid_index = 3;
    attr.ah.dgid[10] = attr.ah.dgid[11] = 0xff;
    std::memcpy(attr.ah.dgid + 12, peer_address, 4);
    Answer answer = ask(verbs::Op::kModifyQp, ask_for);
    return answer.came && answer.error == 0;
  }
  bool connect(const Qp& qp, std::uint32_t peer, const char* peer_address = "\x0a\0\0\x02") {
    return modify(qp, IBV_QPS_INIT, peer, peer_address) && modify(qp, IBV_QPS_RTR, peer, peer_address) &&
           modify(qp, IBV_QPS_RTS, peer, peer_address);
  }
  void ring(std::uint32_t doorbell) const {
    page->doorbells[doorbell / 64 % verbs::kDoorbellWords].fetch_or(std::uint64_t{1} << (doorbell % 64));
  }
  template <typename Entry>
  void post(const Mapped& queue, Entry entry, std::span<const verbs::Sge> list) const {
    entry.post_ps = now_ps();
    std::uint32_t number = queue.head().produced.load();
    std::memcpy(queue.entry(number), &entry, sizeof(entry));
    if (!list.empty()) std::memcpy(queue.entry(number) + sizeof(entry), list.data(), list.size_bytes());
    queue.head().produced.store(number + 1);
    ring(queue.info.doorbell);
  }
  // The next entry of a completion queue, waiting a millisecond at most.
  std::optional<verbs::CqEntry> take(const Mapped& cq) const {
    for (int i = 0; i < 100; ++i) {
      std::uint32_t consumed = cq.head().consumed.load();
      if (cq.head().produced.load() != consumed) {
        verbs::CqEntry entry;
        std::memcpy(&entry, cq.entry(consumed), sizeof(entry));
        cq.head().consumed.store(consumed + 1);
        return entry;
      }
      if (!sleep(us(100))) break;
    }
    return std::nullopt;
  }

  std::int64_t epoch_ns = 0;
  std::uint32_t path_mtu = IBV_MTU_1024;  // of the next modify()
  std::uint32_t rq_psn = 0;
  verbs::ThreadPage* thread_page = nullptr;
  verbs::ProcessPage* page = nullptr;

 private:
  void* map(int fd, std::size_t size_B) {
    void* memory = mmap(nullptr, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    WEFT_CHECK(memory != MAP_FAILED, "what the world gives can be mapped");
    mappings_.emplace_back(memory, size_B);
    return memory;
  }
  Mapped mapped(const Answer& answer, const verbs::QueueInfo& info) {
    if (answer.fds[0] < 0) return {};
    return {static_cast<std::uint8_t*>(map(answer.fds[0], info.mapping_B)), info.mapping_B, info};
  }

  int fd_;
  std::vector<std::pair<void*, std::size_t>> mappings_;
};

}  // namespace weft
