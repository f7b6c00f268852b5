#include "workload/tcp/run.h"

#include <algorithm>

#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/tcp.h"

namespace weft::workload {

namespace {

constexpr std::uint16_t kFirstPort = 49152;  // of those that Linux chooses from
constexpr int kFirstDescriptor = 5;
constexpr std::uint32_t kTimestamps_B = 12;

Endpoint in_class(Endpoint end, const Iperf3Options& options, std::optional<std::uint32_t> cpu) {
  if (options.tos) end.tos = *options.tos;
  if (cpu) end.cpu = cpu;
  return end;
}

}  // namespace

Iperf3Run::Iperf3Run(const Iperf3Options& options, const Endpoint& client, const Endpoint& server, const TcpPath& path)
    : options_(options) {
  const auto headers_B =
      static_cast<std::uint32_t>((path.v4 ? wire::kIpv4Size_B : wire::kIpv6Size_B) + wire::kTcpSize_B);
  std::uint32_t mss_B = path.mtu_B - headers_B;
  if (options.mss_B != 0) mss_B = std::min(mss_B, options.mss_B);
  TcpSocketSettings settings;
  settings.tcp.algorithm = options.algorithm;
  settings.tcp.mss_B = (mss_B - kTimestamps_B) & ~3u;
  settings.block_B = options.block_B;
  settings.tcp.window_B = options.window_B;
  settings.tcp.send_buffer_B = options.window_B;
  settings.duration_ps = options.duration_ps;
  settings.interval_ps = options.interval_ps;
  settings.tcp.routed = path.routed;
  result_.mss_B = settings.tcp.mss_B + kTimestamps_B;
  for (std::uint32_t i = 0; i < options.parallel; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirstPort + (client.random_psn() & 0xff) * 32 + 2 * i);
    settings.total_B = options.total_B / options.parallel + (i < options.total_B % options.parallel ? 1 : 0);
    settings.tcp.client = true;
    settings.tcp.sends = !options.reverse;
    settings.tcp.port = port;
    settings.tcp.peer_port = options.port;
    Pair pair;
    pair.client = std::make_unique<TcpSocket>(settings, in_class(client, options, options.client_cpu));
    settings.tcp.client = false;
    settings.tcp.sends = options.reverse;
    settings.tcp.port = options.port;
    settings.tcp.peer_port = port;
    pair.server = std::make_unique<TcpSocket>(settings, in_class(server, options, options.server_cpu));
    pair.client->connect_to(server, pair.server->qpn());
    pair.server->connect_to(client, pair.client->qpn());
    pairs_.push_back(std::move(pair));
    TcpStream& stream = result_.streams.emplace_back();
    stream.id = kFirstDescriptor + 2 * static_cast<int>(i);
    stream.local_port = port;
    stream.remote_port = options.port;
  }
}

bool Iperf3Run::start_phase(Time_ps at_ps) {
  if (started_) return false;
  started_ = true;
  for (Pair& pair : pairs_) {
    pair.server->start(at_ps);
    pair.client->start(at_ps);
  }
  return true;
}

bool Iperf3Run::is_finished() const {
  return std::all_of(pairs_.begin(), pairs_.end(),
                     [](const Pair& pair) { return pair.client->finished() && pair.server->finished(); });
}

void Iperf3Run::finish_phase(bool interrupted) {
  result_.interrupted = interrupted && !is_finished();
  read_out();
  for (Pair& pair : pairs_) {
    pair.client->stop();
    pair.server->stop();
  }
}

void Iperf3Run::read_out() {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& pair = pairs_[i];
    result_.streams[i].sender = (options_.reverse ? pair.server : pair.client)->result();
    result_.streams[i].receiver = (options_.reverse ? pair.client : pair.server)->result();
  }
}

}  // namespace weft::workload
