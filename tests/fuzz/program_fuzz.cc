// Hostile programs: whatever they send, put into their rings and ring for, the world lives, keeps its hands off memory
// that was not registered, and serves the next program. There are two at a time on two hosts, one with two threads,
// connected to each other rightly and wrongly, and each thread may die at any time. An input is a list of steps, each a
// byte that says which program does what and the bytes that it needs; what a step does not find is 0. What queue pairs
// make of each other's packets is tried more quickly by connection_fuzz.
//   program_fuzz CORPUS
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "fuzz/targets.h"
#include "support/live_program.h"
#include "verbs/extended_protocol.h"
#include "verbs/wait_protocol.h"

namespace {

using namespace weft;
using verbs::Op;

constexpr std::uint32_t kRegistered_B = 16384;
constexpr std::uint8_t kSecret = 0x5e;
constexpr std::size_t kFence_B = 4096;

// What programs may register, between two fences that they may not. No two bytes of a fence are read or written, or
// its mark would turn up where it must not be.
struct Memory {
  std::array<std::uint8_t, kFence_B> before;
  std::array<std::uint8_t, kRegistered_B> registered;
  std::array<std::uint8_t, kFence_B> behind;
};
alignas(4096) Memory memory;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool empty() const { return rest_.empty(); }
  template <typename T>
  T take() {
    T value{};
    std::size_t size_B = std::min(sizeof(T), rest_.size());
    if (size_B > 0) std::memcpy(&value, rest_.data(), size_B);
    rest_ = rest_.subspan(size_B);
    return value;
  }
  std::vector<std::byte> bytes(std::size_t size_B) {
    size_B = std::min(size_B, rest_.size());
    auto first = reinterpret_cast<const std::byte*>(rest_.data());
    std::vector<std::byte> out(first, first + size_B);
    rest_ = rest_.subspan(size_B);
    return out;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

// Who can be connected to: every queue pair that any program of this input has made.
struct Target {
  std::uint32_t number;
  const char* address;
  std::uint32_t rkey;
};
using Targets = std::vector<Target>;

class Attack {
 public:
  Attack(const LiveWorld& world, bool on_b, Input& input, Targets& targets)
      : program_(world, on_b ? "b" : "a", LiveProgram::Deferred{}, 20),
        address_(on_b ? "\x0a\0\0\x02" : "\x0a\0\0\x01"),
        input_(input),
        targets_(targets) {}
  int fd() const { return program_.fd(); }

  // Its turn: the world has answered, and waits for it alone until it sleeps. False: the program is over.
  bool turn() {
    if (pd_ == verbs::kNoHandle ? !begin() : !program_.hear().came) return false;
    if (std::exchange(cancels_, false) && !hear_cancel_done()) return false;
    wait_ps_ = 0;
    for (int i = 0; i < 4 && wait_ps_ == 0 && !input_.empty(); ++i) {
      if (!step(input_.take<std::uint8_t>())) return false;
    }
    return program_.begin_sleep(us(1) + wait_ps_) && (!cancels_ || say_cancel());
  }

 private:
  bool begin() {
    if (!program_.finish_hello()) return false;
    pd_ = program_.make(Op::kAllocPd, verbs::OnDevice{0});
    keys_ = program_
                .ask(Op::kRegMr, verbs::RegMr{pd_, 0x1f, reinterpret_cast<std::uint64_t>(memory.registered.data()),
                                              kRegistered_B, 0})
                .as<verbs::MrKeys>();
    cq_ = program_.make_cq(16);
    srq_ = program_.make_srq(pd_, 8);
    rings_ = {cq_, srq_};
    window_ = program_.ask(Op::kAllocMw, verbs::AllocMw{pd_, IBV_MW_TYPE_2}).as<verbs::MrKeys>().rkey;
    // A file of everybody: both programs of a node share its domain.
    xrcd_ = program_.make(Op::kOpenXrcd, verbs::OpenXrcd{0, O_CREAT, 1, 1, 1, 0});
    program_.make(Op::kCreateXrcSrq, verbs::CreateXrcSrq{verbs::CreateSrq{pd_, 4, 1, 0, 0}, xrcd_, cq_.info.handle});
    add_qp(IBV_QPT_RC, false);
    return pd_ != verbs::kNoHandle;
  }

  bool say_cancel() { return program_.say(static_cast<std::uint32_t>(Op::kCancel), {}, 0, program_.now_ps()); }
  // After the reply to what was cancelled, if anything was.
  bool hear_cancel_done() {
    for (;;) {
      Answer answer = program_.hear();
      LiveProgram::close_fds(answer);
      if (!answer.came || answer.error == verbs::kCancelDone) return answer.came;
    }
  }

  // False: the world has hung up, or the program waits for something that does not come.
  bool step(std::uint8_t what) {
    switch (what % 14) {
      case 12:
        cancels_ = true;  // the sleep that ends this turn
        return true;
      case 13: {
        // A request that may wait, and its end.
        auto op = input_.take<std::uint8_t>();
        std::vector<std::byte> body = input_.bytes(input_.take<std::uint8_t>());
        if (op == static_cast<std::uint8_t>(Op::kCancel)) return say_cancel() && hear_cancel_done();
        if (op == static_cast<std::uint8_t>(Op::kRegMr) || op == static_cast<std::uint8_t>(Op::kCreateTimer))
          return true;
        return program_.say(op, body, static_cast<std::uint32_t>(body.size()), program_.now_ps()) && say_cancel() &&
               hear_cancel_done();
      }
      case 0:
        return raw_request();
      case 1: {
        auto type = input_.take<std::uint8_t>();
        if (type % 16 == 8) add_target();
        if (type % 16 == 9) add_qp(IBV_QPT_XRC_SEND, false);
        if (type % 16 == 8 || type % 16 == 9) return true;
        add_qp(type % 4 == 0 ? IBV_QPT_UD : type % 4 == 1 ? IBV_QPT_UC : IBV_QPT_RC, (type & 4) != 0);
        return true;
      }
      case 2:
      case 3:
      case 4:
        write_entry();
        return true;
      case 5: {
        LiveProgram::Mapped& ring = some_ring();
        if (ring.memory == nullptr) return true;
        (input_.take<std::uint8_t>() % 2 == 0 ? ring.head().produced : ring.head().consumed)
            .store(input_.take<std::uint32_t>());
        return true;
      }
      case 6:
        program_.ring(input_.take<std::uint16_t>());
        return true;
      case 7:
        wait_ps_ = 1 + input_.take<std::uint16_t>() * ns(100);
        return true;
      case 8: {
        auto kind = static_cast<verbs::Kind>(input_.take<std::uint8_t>() % 11);
        return program_.ask(Op::kDestroy, verbs::Destroy{kind, input_.take<std::uint8_t>()}).came;
      }
      case 9:
        return what % 36 != 9;  // or it dies
      default: {
        if (qps_.empty()) return true;
        const auto& qp = qps_[input_.take<std::uint8_t>() % qps_.size()];
        auto how = input_.take<std::uint8_t>();
        const Target& peer = some_target();
        if ((how & 0x80) == 0) return come_up(qp, peer, how);
        return come_to(qp, how % 8, peer, 0);
      }
    }
  }

  void add_target() {
    Answer answer = program_.ask(Op::kCreateXrcTarget, verbs::CreateXrcTarget{xrcd_, 0, 0});
    if (!answer.came || answer.error != 0) return;
    const auto info = answer.as<verbs::QpInfo>();
    targets_.push_back({info.qpn, address_, keys_.rkey});
    come_up({info.qpn, info.send.handle, {}, {}, IBV_QPT_XRC_RECV}, some_target(), 0);
  }

  void add_qp(std::uint32_t type, bool shared) {
    auto qp = program_.make_qp(pd_, cq_.info.handle, 8, shared ? srq_.info.handle : verbs::kNoHandle, type);
    if (qp.handle == verbs::kNoHandle) return;
    targets_.push_back({qp.number, address_, keys_.rkey});
    // The first of two waits for the second, which connects both ends' numbers as they are.
    come_up(qp, targets_[targets_.size() < 2 ? 0 : targets_.size() - 2], 0);
    rings_.push_back(qp.send);
    if (!shared) rings_.push_back(qp.receive);
    qps_.push_back(qp);
  }
  const Target& some_target() { return targets_[input_.take<std::uint8_t>() % targets_.size()]; }
  // MTU, PSN and peer that may not be those of the other end.
  bool come_to(const LiveProgram::Qp& qp, std::uint32_t state, const Target& peer, std::uint8_t odd) {
    program_.path_mtu = (odd & 1) != 0 ? IBV_MTU_256 + (odd >> 4 & 3) : IBV_MTU_1024;
    program_.rq_psn = (odd & 2) != 0 ? 3 : 0;
    program_.modify(qp, state, peer.number, peer.address);
    return true;
  }
  bool come_up(const LiveProgram::Qp& qp, const Target& peer, std::uint8_t odd) {
    for (std::uint32_t state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      if (!come_to(qp, state, peer, odd)) return false;
    }
    return true;
  }
  LiveProgram::Mapped& some_ring() { return rings_[input_.take<std::uint8_t>() % rings_.size()]; }

  bool raw_request() {
    auto op = input_.take<std::uint8_t>();
    auto size_B = input_.take<std::uint8_t>();
    std::vector<std::byte> body = input_.bytes(size_B);
    // Memory of this program that is not meant for it, and signals to it, would be an end that says nothing.
    if (op == static_cast<std::uint8_t>(Op::kRegMr) && body.size() == sizeof(verbs::RegMr)) {
      verbs::RegMr ask;
      std::memcpy(&ask, body.data(), sizeof(ask));
      ask.address = reinterpret_cast<std::uint64_t>(memory.registered.data()) + ask.address % kRegistered_B;
      std::uint64_t room_B = reinterpret_cast<std::uint64_t>(memory.behind.data()) - ask.address;
      ask.length_B = ask.length_B % (room_B + 1);
      std::memcpy(body.data(), &ask, sizeof(ask));
    }
    if (op == static_cast<std::uint8_t>(Op::kReregMr) && body.size() == sizeof(verbs::ReregMr)) {
      verbs::ReregMr ask;
      std::memcpy(&ask, body.data(), sizeof(ask));
      ask.address = reinterpret_cast<std::uint64_t>(memory.registered.data()) + ask.address % kRegistered_B;
      ask.length_B %= reinterpret_cast<std::uint64_t>(memory.behind.data()) - ask.address + 1;
      std::memcpy(body.data(), &ask, sizeof(ask));
    }
    if (op == static_cast<std::uint8_t>(Op::kCreateTimer) && body.size() == sizeof(verbs::CreateTimer)) {
      verbs::CreateTimer ask;
      std::memcpy(&ask, body.data(), sizeof(ask));
      ask.signal = SIGALRM;
      ask.tid = 0;
      std::memcpy(body.data(), &ask, sizeof(ask));
    }
    Answer answer = program_.ask_bytes(op, body);
    LiveProgram::close_fds(answer);
    return answer.came;
  }

  // Half of it makes sense, or nothing would ever be sent.
  void write_entry() {
    LiveProgram::Mapped& ring = some_ring();
    if (ring.memory == nullptr || ring.info.entries == 0) return;
    auto what = input_.take<std::uint8_t>();
    std::uint32_t number = ring.head().produced.load();
    std::uint8_t* at = ring.entry(number);
    std::vector<std::byte> noise = input_.bytes(what % 64);
    if (!noise.empty()) std::memcpy(at, noise.data(), std::min<std::size_t>(noise.size(), ring.info.stride_B));
    verbs::Sge sge{input_.take<std::uint16_t>(), input_.take<std::uint16_t>(), keys_.lkey};
    if ((what & 0x80) == 0) {
      bool send = ring.info.stride_B > 64;
      if (send) {
        verbs::SendEntry entry{};
        entry.opcode = input_.take<std::uint8_t>() % 10;
        entry.flags = input_.take<std::uint8_t>();
        entry.sges = 1;
        entry.inline_B = input_.take<std::uint8_t>();
        entry.remote_va = input_.take<std::uint16_t>();
        entry.rkey = some_target().rkey;
        entry.remote_qpn = input_.take<std::uint8_t>();  // of XRC: the queue; of a bind: the rights
        if (entry.opcode == IBV_WR_BIND_MW || entry.opcode == IBV_WR_LOCAL_INV) {
          entry.rkey = entry.imm = (window_ & ~0xffu) | input_.take<std::uint8_t>() % 4;
          entry.qkey = keys_.lkey;
          entry.swap = input_.take<std::uint16_t>();
        }
        std::memcpy(at, &entry, sizeof(entry));
        std::memcpy(at + sizeof(entry), &sge, sizeof(sge));
      } else {
        verbs::ReceiveEntry entry{0, number, 1, 0};
        std::memcpy(at, &entry, sizeof(entry));
        std::memcpy(at + sizeof(entry), &sge, sizeof(sge));
      }
    }
    ring.head().produced.store(number + 1);
    program_.ring(ring.info.doorbell);
  }

  LiveProgram program_;
  std::uint32_t window_ = 0, xrcd_ = verbs::kNoHandle;
  const char* address_;
  Input& input_;
  Targets& targets_;
  std::uint32_t pd_ = verbs::kNoHandle;
  Time_ps wait_ps_ = 0;
  bool cancels_ = false;
  verbs::MrKeys keys_{};
  LiveProgram::Mapped cq_, srq_;
  std::vector<LiveProgram::Mapped> rings_;
  std::vector<LiveProgram::Qp> qps_;
};

bool is_whole(const std::array<std::uint8_t, kFence_B>& fence) {
  return std::all_of(fence.begin(), fence.end(), [](std::uint8_t byte) { return byte == kSecret; });
}

}  // namespace

int weft::fuzz::program_fuzz(const std::uint8_t* data, std::size_t size) {
  static LiveWorld& world = *new LiveWorld;
  signal(SIGALRM, SIG_IGN);  // the world's, for programs that set a timer
  memory.before.fill(kSecret);
  memory.behind.fill(kSecret);
  memory.registered.fill(0x11);
  Input input(data, size);
  {
    Targets targets;
    std::array<std::unique_ptr<Attack>, 3> attacks;
    for (int i = 0; i < 96 && !input.empty(); ++i) {
      std::array<pollfd, 3> fds;
      for (std::size_t who = 0; who < 3; ++who) {
        if (!attacks[who]) attacks[who] = std::make_unique<Attack>(world, who == 1, input, targets);
        fds[who] = {attacks[who]->fd(), POLLIN, 0};
      }
      if (poll(fds.data(), fds.size(), 100) <= 0) break;  // one waits for what does not come, and the others for it
      for (std::size_t who = 0; who < 3; ++who) {
        if (fds[who].revents != 0 && !attacks[who]->turn()) attacks[who].reset();
      }
    }
  }
  WEFT_CHECK(is_whole(memory.before) && is_whole(memory.behind), "a write outside of what was registered");
  std::size_t run = 0;
  for (std::uint8_t byte : memory.registered) {
    run = byte == kSecret ? run + 1 : 0;
    WEFT_CHECK(run < 64, "a read outside of what was registered");
  }
  LiveProgram next(world, "b");
  WEFT_CHECK(next.make(Op::kAllocPd, verbs::OnDevice{0}) != verbs::kNoHandle, "the next program is served");
  return 0;
}
