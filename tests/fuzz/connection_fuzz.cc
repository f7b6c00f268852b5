// Queue pairs of several programs on several hosts, connected to each other rightly and wrongly: MTUs, PSNs, peers and
// keys that do not match, any state, programs that die, lost and marked packets, and frames that come from outside.
// Whatever happens, every packet ends once, nothing is written outside of what was registered or asked for, and no work
// request waits forever. It all happens in this process, without a socket: program_fuzz has the programs' side.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "fabric/link.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/targets.h"
#include "nic/device.h"
#include "nic/queues/shared_receives.h"
#include "support/models.h"
#include "support/roce_record.h"

namespace {

using weft::fuzz::Input;
using namespace weft;
using engine::Packet;
using fabric::Fate;
using nic::QpState;
using nic::QpType;
using nic::WrOpcode;
using wire::Opcode;

constexpr std::uint32_t kHosts = 3;
constexpr std::uint32_t kOutsidePort = kHosts;
constexpr std::uint32_t kArea_B = 16384;
constexpr std::uint64_t kVa = 0x10000;
constexpr std::size_t kMaxPrograms = 8, kMaxQps = 32, kMaxSteps = 256;

// Registered memory that has no bytes: what is written must lie in one of the buffers that were posted, or anywhere in
// the region when it is `open` to peers.
struct Area {
  struct Buffer {
    std::uint64_t va, end;
  };
  std::vector<Buffer> posted;
  bool open = false;
  bool gone = false;  // its program is
  nic::RegionAccess access{this, &Area::read, &Area::write};
  std::uint32_t key = 0;

  void may_write(std::uint64_t va, std::uint64_t size_B) { posted.push_back({va, va + size_B}); }
  static bool covers(std::uint64_t va, std::size_t size_B) { return va >= kVa && va + size_B <= kVa + kArea_B; }
  static bool read(void* self, std::uint64_t va, std::span<std::uint8_t> out) {
    WEFT_CHECK(covers(va, out.size()), "a read outside of what was registered");
    std::fill(out.begin(), out.end(), 0x11);
    return !static_cast<Area*>(self)->gone;
  }
  static bool write(void* self, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps) {
    const auto& area = *static_cast<Area*>(self);
    WEFT_CHECK(covers(va, in.size()), "a write outside of what was registered");
    bool asked_for = area.open || std::any_of(area.posted.begin(), area.posted.end(), [&](const Buffer& buffer) {
                       return va >= buffer.va && va + in.size() <= buffer.end;
                     });
    WEFT_CHECK(asked_for, "a write outside of the buffer");
    return !area.gone;
  }
};

// One port of a host, without the host.
class Port {
 public:
  Port(engine::Domain& domain, std::uint32_t id) : node(domain.add_node({this, &Port::run})), id_(id) {}
  void attach(const nic::PortQos& qos, bool connectx, bool selective, fabric::LinkDirection& out,
              fabric::LinkDirection& in) {
    nic::DeviceConfig config;
    config.model = connectx ? support::test_connectx() : support::test_nic();
    config.model.selective_repeat = selective;
    config.model.tx_psn_window = 16;
    config.model.max_rd_atomic = 4;
    config.model.end_to_end_credits = id_ == 1;
    config.name = "mlx5_0";
    config.port_id = id_;
    config.seed = 1;
    config.qos = qos;
    config.carry_payload = true;
    config.host = {
        ns(100), ns(200), ns(100), 0, this, [](void*, std::uint32_t, Time_ps) {}, [](void*, std::uint32_t, Time_ps) {}};
    config.host.on_async = [](void*, nic::AsyncKind, std::uint32_t, Time_ps) {};
    card_.functions.emplace_back(nic::PcieLink{5, 16, config.model.pcie_max_payload_B});
    device = std::make_unique<nic::Device>(std::move(config), card_, out, in);
  }
  std::uint32_t node;
  std::unique_ptr<nic::Device> device;

 private:
  static Time_ps run(void* self, Time_ps end_ps) {
    auto& port = *static_cast<Port*>(self);
    static constexpr Time_ps kNoProgram_ps = kNever_ps;
    port.device->run_until(end_ps, &kNoProgram_ps);
    return port.device->next_ps();
  }
  std::uint32_t id_;
  nic::Card card_;
};

// What is between the ports: it forwards by destination, and loses or marks packets on request.
class Hub {
 public:
  explicit Hub(engine::Domain& domain) : node(domain.add_node({this, &Hub::run})), domain_(domain) {}
  void send(Packet& packet, Time_ps now_ps) {
    Time_ps start_ps = std::max(now_ps, free_ps[packet.dst]);
    free_ps[packet.dst] = start_ps + out[packet.dst]->send(packet, fabric::line_B(packet), start_ps);
  }
  std::uint32_t node;
  std::array<fabric::LinkDirection*, kHosts> out{}, in{};
  std::array<Time_ps, kHosts> free_ps{};
  std::uint32_t lose = 0, mark = 0;  // of the next packets, by bit

 private:
  static Time_ps run(void* self, Time_ps end_ps) { return static_cast<Hub*>(self)->run(end_ps); }
  Time_ps run(Time_ps end_ps) {
    for (;;) {
      fabric::LinkDirection* next = *std::min_element(in.begin(), in.end(), [](const auto* a, const auto* b) {
        return a->next_arrival_ps() < b->next_arrival_ps();
      });
      Time_ps now_ps = next->next_arrival_ps();
      if (now_ps >= end_ps) return now_ps;
      Packet packet = next->take();
      bool lost = (lose & 1) != 0, marked = (mark & 1) != 0;
      lose >>= 1;
      mark >>= 1;
      if (packet.transport == engine::kLinkControl) {
        next->received.count(Fate::kPause);
      } else if (lost || packet.dst >= kHosts) {
        next->received.count(lost ? Fate::kFaultDrop : Fate::kNoRoute);
        domain_.release(packet);
      } else {
        next->received.count(Fate::kForwarded);
        if (marked) packet.tos |= 3;
        send(packet, now_ps);
      }
    }
  }
  engine::Domain& domain_;
};

struct Program {
  std::uint32_t host = 0, pd = 0, cq = 0, srq = 0;
  bool alive = true;
  std::unique_ptr<Area> open = std::make_unique<Area>();   // for peers
  std::unique_ptr<Area> local = std::make_unique<Area>();  // for itself: buffers of READs and receives
};
struct Qp {
  std::size_t program = 0;
  std::uint32_t qpn = 0;
  QpType type = QpType::kRc;
  bool shares = false;
  bool alive = true;
};

class World {
 public:
  explicit World(Input& input) : input_(input) {
    std::uint32_t bits = input_.byte();
    nic::PortQos qos;
    qos.congestion.kind = static_cast<nic::CongestionKind>(bits % 5);
    for (std::uint32_t i = 0; i < kHosts; ++i) ports_[i] = std::make_unique<Port>(domain(), i);
    hub_ = std::make_unique<Hub>(domain());
    for (std::uint32_t i = 0; i < kHosts; ++i) {
      fabric::LinkTiming timing{80, us(1), ns(100), ns(300), 0};
      Time_ps latency_ps = timing.flight_ps + timing.pipeline_ps;
      for (bool up : {true, false}) {
        engine::LinkEnds ends = engine_.connect(0, 0, up ? hub_->node : ports_[i]->node, latency_ps);
        links_.push_back(std::make_unique<fabric::LinkDirection>(ends, &domain(), &domain(), timing));
      }
      hub_->in[i] = links_[2 * i].get();
      hub_->out[i] = links_[2 * i + 1].get();
      ports_[i]->attach(qos, (bits >> 4 & 1) != 0 && i == 2, (bits >> 5 & 1) != 0 && i != 1, *hub_->in[i],
                        *hub_->out[i]);
    }
    for (std::uint32_t host : {0U, 1U, 2U, 0U}) add_program(host);
    for (QpType type : {QpType::kRc, QpType::kUc, QpType::kUd}) {
      for (std::size_t i = 0; i < (type == QpType::kRc ? 4 : 2); ++i) add_qp(i, type, (bits & 0x80) != 0 && i == 1);
    }
    for (std::size_t i = 0; i < qps_.size(); i += 2) connect(i, i + 1, (bits & 0x20) != 0, false);
  }

  void step() {
    std::uint32_t what = input_.byte() % 64;
    if (what < 26) return post_send();
    if (what < 32) return post_receive();
    if (what < 41) return inject();
    if (what < 48) return pass(Time_ps{1 + input_.byte()} * us(1));
    if (what < 54) {
      std::uint32_t bits = input_.byte();
      std::size_t a = input_.byte() % qps_.size();
      connect(a, (bits & 0x30) == 0 ? input_.byte() % qps_.size() : (a ^ 1) % qps_.size(), (bits & 3) == 3,
              (bits & 12) == 12);
      return;
    }
    switch (what) {
      case 54: {
        std::uint32_t bits = input_.byte();
        return add_qp(bits % programs_.size(), static_cast<QpType>((bits >> 3 & 3) % 3), (bits & 0x80) != 0);
      }
      case 55:
      case 56:
        return modify();
      case 57:
        hub_->lose = input_.byte();
        return;
      case 58:
        hub_->mark = input_.byte();
        return;
      case 59:
        return destroy();
      case 60: {
        std::uint32_t bits = input_.byte();
        if ((bits & 1) != 0) return kill(bits / 2 % programs_.size());
        if (programs_.size() < kMaxPrograms) add_program(bits / 2 % kHosts);
        return;
      }
      default:
        return poll();
    }
  }

  // Nothing is left to happen.
  void finish() {
    hub_->lose = 0;
    for (int i = 0; i < 4; ++i) {
      pass(10 * kSecond_ps);
      poll();
    }
    for (const auto& link : links_)
      WEFT_CHECK(link->sent.sent == link->sent.ended() + link->received.ended() && link->in_flight() == 0,
                 "every packet ends once");
    WEFT_CHECK(domain().cold.in_use() == 0 && domain().payload.in_use() == 0, "no packet leaves anything behind");
    for (const Qp& qp : qps_) {
      if (!qp.alive) continue;
      const nic::QueuePair& state = device(qp).qp(qp.qpn);
      WEFT_CHECK(state.state != QpState::kRts || state.req.head == state.req.tail, "no work request waits forever");
    }
  }

 private:
  engine::Domain& domain() { return engine_.domain(0); }
  nic::Device& device(const Qp& qp) { return *ports_[programs_[qp.program].host]->device; }
  nic::Device& device(const Program& program) { return *ports_[program.host]->device; }
  void wake(const Program& program) { domain().wake(ports_[program.host]->node, now_ps_); }
  void pass(Time_ps time_ps) {
    now_ps_ += time_ps;
    engine_.run(now_ps_);
  }

  void register_memory(Program& program) {
    program.open->key =
        device(program).memory().add(kVa, kArea_B, {true, true, true, true}, program.open->access, program.pd);
    program.open->open = true;
    program.local->key =
        device(program).memory().add(kVa, kArea_B, {true, false, false, false}, program.local->access, program.pd);
  }
  void add_program(std::uint32_t host) {
    Program program;
    program.host = host;
    program.pd = static_cast<std::uint32_t>(programs_.size() + 1);
    program.cq = device(program).create_cq(64);
    program.srq = nic::SharedReceives(device(program)).create(16);
    register_memory(program);
    programs_.push_back(std::move(program));
  }
  void add_qp(std::size_t index, QpType type, bool shares) {
    const Program& program = programs_[index];
    if (qps_.size() == kMaxQps || !program.alive) return;
    std::uint32_t qpn = device(program).create_qp(type, program.cq, program.cq, 8, 8, 0,
                                                  shares ? program.srq : nic::kNoSrq, program.pd);
    qps_.push_back({index, qpn, type, shares, true});
  }
  // Everything on the way to a connection may be a little wrong.
  nic::QpAttributes attributes(const Qp& qp, const Qp& peer, std::uint32_t mtu, std::uint32_t sq_psn,
                               std::uint32_t rq_psn) const {
    nic::QpAttributes a;
    a.path_mtu_B = 256U << mtu % 5;
    a.access = {true, true, true, true};
    a.qkey = 0x11;
    a.remote_port = programs_[peer.program].host;
    a.remote_qpn = peer.qpn;
    a.sq_psn = sq_psn & 0xffffff;
    a.rq_psn = rq_psn & 0xffffff;
    a.max_rd_atomic = a.max_dest_rd_atomic = 4;
    a.timeout = static_cast<std::uint8_t>(1 + qp.qpn % 4);
    a.retry_cnt = 2;
    a.rnr_retry = 2;
    a.min_rnr_timer = 1;
    return a;
  }
  void connect(std::size_t a, std::size_t b, bool other_mtu, bool other_psn) {
    std::uint32_t mtu = input_.byte();
    for (std::uint32_t side = 0; side < 2; ++side) {
      const Qp& qp = qps_[side == 0 ? a : b];
      const Qp& peer = qps_[side == 0 ? b : a];
      if (!qp.alive) continue;
      std::uint32_t psn = 0xfffff0;  // wraps soon
      nic::QpAttributes to =
          attributes(qp, peer, mtu + (other_mtu ? side : 0), psn, psn + (other_psn && side == 1 ? mtu : 0));
      for (QpState state : {QpState::kReset, QpState::kInit, QpState::kRtr, QpState::kRts})
        device(qp).modify(qp.qpn, state, to, now_ps_);
      wake(programs_[qp.program]);
    }
  }
  void modify() {
    std::uint32_t bits = input_.byte();
    const Qp& qp = qps_[input_.byte() % qps_.size()];
    if (!qp.alive) return;
    const Qp& peer = qps_[input_.byte() % qps_.size()];
    nic::QpAttributes to = attributes(qp, peer, bits >> 3, 0xfffff0 + input_.byte(), 0xfffff0 + input_.byte());
    if ((bits & 0x80) != 0) {
      std::uint32_t odd = input_.byte();
      to.remote_port = odd % (kHosts + 1);
      to.max_rd_atomic = odd >> 2 & 7;
      to.max_dest_rd_atomic = odd >> 5 & 3;
      to.access.remote_read = (odd & 1) != 0;
      to.access.remote_write = (odd & 2) != 0;
      to.qkey = odd & 0x11;
      to.retry_cnt = odd & 3;
    }
    device(qp).modify(qp.qpn, static_cast<QpState>(bits % 6), to, now_ps_);
    wake(programs_[qp.program]);
  }

  std::size_t peer_of(const Qp& qp) {
    const nic::QpAttributes& to = device(qp).qp(qp.qpn).attributes;
    for (std::size_t i = 0; i < qps_.size(); ++i) {
      if (qps_[i].qpn == to.remote_qpn && programs_[qps_[i].program].host == to.remote_port) return i;
    }
    return 0;
  }
  std::uint32_t length() {
    static constexpr std::uint32_t kLengths_B[] = {0, 1, 8, 64, 255, 256, 257, 1024, 1025, 2048, 4096, 4097, 9000};
    std::uint32_t choice = input_.byte();
    return choice < 0xf8 ? kLengths_B[choice % std::size(kLengths_B)] : choice < 0xfc ? 0x80000001 : 0xffffffff;
  }
  void post_send() {
    const Qp& qp = qps_[input_.byte() % qps_.size()];
    if (!qp.alive) return;
    const Program& program = programs_[qp.program];
    std::uint32_t bits = input_.byte();
    nic::SendRequest request;
    request.opcode = static_cast<WrOpcode>(bits & 7);
    request.signaled = (bits & 8) != 0;
    request.solicited = (bits & 16) != 0;
    request.length_B = nic::is_atomic(request.opcode) ? 8 : length();
    bool answered = nic::needs_response(request.opcode);
    const Area& area = answered || (bits & 32) != 0 ? *program.local : *program.open;
    request.local_va = kVa + input_.byte() * 8;
    std::uint32_t wrong = input_.byte();
    request.lkey = wrong == 1 ? area.key ^ 1 : area.key;
    // The program that its queue pair is connected to, or any other.
    const Qp& peer = qps_[wrong >= 0xf0 ? input_.byte() % qps_.size() : peer_of(qp)];
    const Program& target = programs_[peer.program];
    std::uint32_t where = input_.byte();
    request.remote_va = kVa + where * ((where & 1) != 0 ? 8 : 64) + (wrong == 2 ? 1 : 0);
    request.rkey = wrong == 3 ? target.local->key : wrong == 4 ? target.open->key ^ 1 : target.open->key;
    request.imm = target.open->key;
    request.dest_port = target.host;
    request.dest_qp = peer.qpn;
    request.qkey = 0x11;
    if (answered) program.local->may_write(request.local_va, request.length_B);
    device(qp).post_send(qp.qpn, request, now_ps_);
    wake(program);
  }
  void post_receive() {
    const Qp& qp = qps_[input_.byte() % qps_.size()];
    if (!qp.alive) return;
    const Program& program = programs_[qp.program];
    std::uint32_t bits = input_.byte();
    nic::ReceiveRequest request{0, kVa + 4096 + (bits & 0x7f) * 64, program.local->key, length()};
    if ((bits & 0x80) != 0) request.lkey = program.open->key;
    if (request.length_B < 64) request.length_B = 4096;
    program.local->may_write(request.va, request.length_B);
    if (qp.shares) {
      nic::SharedReceives(device(qp)).post(program.srq, request);
    } else {
      device(qp).post_receive(qp.qpn, request);
    }
    wake(program);
  }

  // A packet that comes from a port to the outside, or from a host that says it is another, near the PSNs in use.
  void inject() {
    const Qp& qp = qps_[input_.byte() % qps_.size()];
    std::uint32_t bits = input_.byte();
    auto byte = static_cast<std::uint8_t>(input_.byte());
    if (!wire::is_valid_opcode(byte)) byte = byte % 0x18;
    if (!wire::is_valid_opcode(byte)) return;
    auto opcode = static_cast<Opcode>(byte);
    const nic::QueuePair& state = device(qp).qp(qp.qpn);
    Packet packet;
    packet.dst = programs_[qp.program].host;
    packet.src = (bits & 3) == 3 ? input_.byte() % (kOutsidePort + 1) : state.packet.dst;
    packet.endpoint = qp.qpn & engine::kEndpointMask;
    packet.word = (bits & 4) != 0 ? nic::kAckReq : 0u;
    std::uint32_t near_psn = wire::is_response(opcode) ? state.req.una_psn : state.resp.expected_psn;
    support::make_roce(packet, opcode, near_psn + input_.byte() % 16 - 4);
    packet.tos = bits >> 6;
    std::uint32_t payload_B = wire::has_payload(opcode) ? std::min(length(), 4096U) : 0;
    packet.payload_B = payload_B & engine::kPayloadMask;
    const Program& program = programs_[qp.program];
    engine::Cold cold;
    nic::RoceExtension& headers = nic::extension_of(cold);
    cold.aux = input_.byte() << 24;
    headers.va = kVa + input_.byte() * 64;
    headers.rkey = (bits & 8) != 0 ? program.open->key : program.local->key;
    headers.dma_len = (bits & 16) != 0 ? payload_B : length();
    headers.qkey = 0x11;
    if (opcode == Opcode::kAck) {
      packet.aux = cold.aux;
    } else if (opcode != Opcode::kCnp) {
      if (payload_B > 0) {
        cold.payload = domain().payload.take();
        domain().payload[cold.payload].fill(0x5a);
      }
      packet.aux = domain().cold.take();
      packet.flags |= Packet::kHasCold;
      domain().cold[packet.aux] = cold;
    }
    hub_->send(packet, now_ps_);
  }

  void destroy() {
    std::uint32_t bits = input_.byte();
    if ((bits & 1) != 0) {
      Qp& qp = qps_[bits / 2 % qps_.size()];
      if (qp.alive) device(qp).destroy_qp(qp.qpn);
      qp.alive = false;
      return;
    }
    Program& program = programs_[bits / 4 % programs_.size()];
    if (!program.alive) return;
    if ((bits & 2) != 0) {
      device(program).memory().remove(program.open->key);
      device(program).memory().remove(program.local->key);
      register_memory(program);
    } else {
      device(program).destroy_cq(program.cq);  // refused as long as it is in use
      if (!uses_cq(program)) program.cq = device(program).create_cq(64);
    }
  }
  bool uses_cq(const Program& program) const {
    return std::any_of(qps_.begin(), qps_.end(),
                       [&](const Qp& qp) { return qp.alive && &programs_[qp.program] == &program; });
  }
  // As the world does it for a program that is gone.
  void kill(std::size_t index) {
    Program& program = programs_[index];
    if (!program.alive) return;
    program.alive = false;
    program.open->gone = program.local->gone = true;
    for (Qp& qp : qps_) {
      if (qp.program != index || !qp.alive) continue;
      device(qp).destroy_qp(qp.qpn);
      qp.alive = false;
    }
    WEFT_CHECK(nic::SharedReceives(device(program)).destroy(program.srq) && device(program).destroy_cq(program.cq),
               "nobody uses them");
    device(program).memory().remove(program.open->key);
    device(program).memory().remove(program.local->key);
  }
  void poll() {
    for (Program& program : programs_) {
      if (!program.alive) continue;
      nic::CompletionQueue& cq = device(program).cq(program.cq);
      while (cq.peek(kNever_ps) != nullptr) cq.pop();
    }
  }

  Input& input_;
  engine::Engine engine_{1};
  std::array<std::unique_ptr<Port>, kHosts> ports_;
  std::unique_ptr<Hub> hub_;
  std::vector<std::unique_ptr<fabric::LinkDirection>> links_;
  std::vector<Program> programs_;
  std::vector<Qp> qps_;
  Time_ps now_ps_ = us(1);
};

}  // namespace

int weft::fuzz::connection_fuzz(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  World world(input);
  for (std::size_t i = 0; i < kMaxSteps && !input.empty(); ++i) world.step();
  world.finish();
  return 0;
}
