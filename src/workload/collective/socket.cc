#include "workload/collective/socket.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/tcp.h"
#include "workload/collective/host.h"

namespace weft::workload {

namespace {

constexpr std::uint32_t kTcpTimestamps_B = 12;
constexpr std::uint64_t kHeader_B = 8;  // the size, as NCCL's socket plugin sends it before the data
constexpr Time_ps kSocketCall_ps = ns(500);
constexpr std::uint16_t kFirstCollectivePort = 40000;

TcpSettings settings_of(const CollectiveNetSettings& net, const Endpoint& end, bool sends, std::uint32_t half) {
  TcpSettings settings;
  settings.client = sends;
  settings.sends = sends;
  settings.mss_B =
      static_cast<std::uint32_t>(net.mtu_B - wire::kIpv4Size_B - wire::kTcpSize_B - kTcpTimestamps_B) & ~3u;
  const auto port = static_cast<std::uint16_t>(kFirstCollectivePort + (half & 0x3fff));
  settings.port = sends ? port : static_cast<std::uint16_t>(port + 1);
  settings.peer_port = sends ? static_cast<std::uint16_t>(port + 1) : port;
  (void)end;
  return settings;
}

}  // namespace

CollectiveSocket::CollectiveSocket(const CollectiveNetSettings& settings, const Endpoint& end, bool sends,
                                   CollectiveHost& host, std::uint32_t half, std::uint32_t cpu)
    : TcpConnection(settings_of(settings, end, sends, half), end), host_(host), half_(half), cpu_(cpu) {
  sender_.set_short(TcpSender::Short::kAtOnce);  // NCCL sets TCP_NODELAY
}

CollectiveSocket::~CollectiveSocket() {
  stop();
  end_.host->stop(thread_number_);
}

void CollectiveSocket::start(Time_ps at_ps) {
  if (running_) return;
  running_ = true;
  start_interrupt();
  thread_number_ = end_.host->start_thread(thread_, tcp_.client ? at_ps : kNever_ps, end_.guest);
  asleep_ = !tcp_.client;
}

void CollectiveSocket::stop() {
  if (!running_) return;
  running_ = false;
  cpus_.release(interrupt_cpu_);
}

void CollectiveSocket::wake(Time_ps now_ps) {
  if (!asleep_) return;
  asleep_ = false;
  end_.host->wake(thread_number_, now_ps + 1);
}

void CollectiveSocket::send(std::uint32_t size_B, Time_ps now_ps) {
  messages_.push_back(size_B + kHeader_B);
  wake(now_ps);
}

void CollectiveSocket::add_room(Time_ps now_ps) {
  ++room_;
  wake(now_ps);
}

Time_ps CollectiveSocket::step(Time_ps now_ps) {
  if (copying_B_ > 0) {
    if (now_ps < copy_end_ps_) return copy_end_ps_;
    end_copy(now_ps);
  }
  if (!is_connected(now_ps)) {
    asleep_ = true;
    return kNever_ps;
  }
  return tcp_.sends ? write_more(now_ps) : read_more(now_ps);
}

void CollectiveSocket::end_copy(Time_ps now_ps) {
  const std::uint64_t size_B = copying_B_;
  copying_B_ = 0;
  left_B_ -= size_B;
  if (tcp_.sends) {
    sender_.append(size_B);
    debt_ps_ += push(now_ps);
    if (left_B_ > 0) return;
    messages_.pop_front();
    host_.socket_sent(half_, now_ps);
  } else {
    if (receiver_.read(size_B, now_ps)) {
      TcpConnection::send_ack(now_ps);
      debt_ps_ += cost_.tcp_ack_ps;
    }
    if (left_B_ > 0) return;
    --room_;
    sizes_.pop_front();
    host_.socket_received(half_, now_ps);
  }
}

Time_ps CollectiveSocket::copy_ps(std::uint64_t size_B) const {
  const Time_ps remote_ps = cpu_ == interrupt_cpu_ ? 0 : cost_.tcp_remote_KiB_ps;
  const Time_ps per_KiB_ps = tcp_.sends ? cost_.tcp_send_KiB_ps : cost_.tcp_receive_KiB_ps + remote_ps;
  return per_KiB_ps * static_cast<Time_ps>(size_B) / 1024;
}

void CollectiveSocket::add_loads(const MessageLoad& load, CollectiveLoads& loads) const {
  constexpr double kSegmentOverhead_B =
      fabric::kLineOverhead_B + wire::kEthernetSize_B + wire::kIpv4Size_B + wire::kTcpSize_B + kTcpTimestamps_B;
  double size_B = static_cast<double>(load.messages * kHeader_B), line_B = size_B;
  for (const auto& [segment_B, segments] : load.packets) {
    size_B += static_cast<double>(segment_B) * static_cast<double>(segments);
    line_B += (segment_B + kSegmentOverhead_B) * static_cast<double>(segments);
  }
  const std::string& machine = host_.machine_name();
  const std::string port = fmt::format("{} {}, {}", machine, end_.device->name(), tcp_.sends ? "sends" : "receives");
  const fabric::LinkDirection& link = tcp_.sends ? end_.device->out() : end_.device->in();
  loads.add(&link, 0, "NIC line rate", port, line_B * static_cast<double>(link.timing().ps_per_byte));
  constexpr std::uint64_t kSample_B = std::uint64_t{1} << 20;
  loads.add(&host_, static_cast<int>(cpu_), "kernel TCP, CPU of the proxy", fmt::format("{} CPU {}", machine, cpu_),
            size_B / kSample_B * static_cast<double>(copy_ps(kSample_B)));
}

Time_ps CollectiveSocket::write_more(Time_ps now_ps) {
  if (messages_.empty()) {
    asleep_ = true;
    return kNever_ps;
  }
  if (left_B_ == 0) {
    left_B_ = messages_.front();
    debt_ps_ += kSocketCall_ps;
  }
  const std::uint64_t size_B = std::min(left_B_, kChunk_B);
  if (used_B() + size_B > send_buffer_B() && used_B() > 0) {
    asleep_ = true;
    return kNever_ps;
  }
  copying_B_ = size_B;
  const Time_ps work_ps = debt_ps_ + copy_ps(size_B);
  debt_ps_ = 0;
  copy_end_ps_ = std::max(cpus_.run(cpu_, host::CpuWork::kThread, now_ps, work_ps), now_ps + 1);
  copied_ps_ += work_ps;
  return copy_end_ps_;
}

Time_ps CollectiveSocket::read_more(Time_ps now_ps) {
  if (room_ > 0 && left_B_ == 0 && !sizes_.empty()) left_B_ = sizes_.front() + kHeader_B;
  const std::uint64_t size_B = std::min({receiver_.unread_B(), left_B_, kChunk_B});
  if (size_B == 0) {
    asleep_ = true;
    return kNever_ps;
  }
  copying_B_ = size_B;
  const Time_ps work_ps = debt_ps_ + kSocketCall_ps / 2 + copy_ps(size_B);
  debt_ps_ = 0;
  copy_end_ps_ = std::max(cpus_.run(cpu_, host::CpuWork::kThread, now_ps, work_ps), now_ps + 1);
  copied_ps_ += work_ps;
  return copy_end_ps_;
}

}  // namespace weft::workload
