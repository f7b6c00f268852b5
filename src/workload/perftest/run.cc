#include "workload/perftest/run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "nic/device_control.h"
#include "tools/perftest/message_budget.h"
#include "tools/perftest/report.h"
#include "workload/perftest/port_account.h"

namespace weft::workload {

namespace {

constexpr std::uint64_t kLargestSize_B = 1 << 23;
constexpr std::uint32_t kDscpMask = 0xfc, kEcnMask = 3;  // the NIC decides on ECN, as mlx5 does
constexpr std::uint64_t kBufferBase = 0x7f2e40000000;

}  // namespace

PerftestRun::PerftestRun(PerftestOptions options, const Endpoint& client, const Endpoint& server)
    : options_(std::move(options)) {
  ConnectionSettings settings;
  settings.ud = options_.ud;
  settings.qps = options_.qps;
  settings.mtu_B = options_.mtu_B;
  settings.send_depth = options_.tx_depth;
  settings.receive_depth = options_.rx_depth;
  settings.max_rd_atomic = options_.outstanding_reads;
  settings.timeout = static_cast<std::uint8_t>(options_.qp_timeout);
  Endpoint client_end = client;
  Endpoint server_end = server;
  for (Endpoint* end : {&client_end, &server_end}) {
    if (options_.traffic_class)
      end->tos = static_cast<std::uint8_t>((*options_.traffic_class & kDscpMask) | (end->tos & kEcnMask));
    if (options_.service_level) end->priority = static_cast<std::uint8_t>(*options_.service_level);
  }
  Connection connection = connect(client_end, server_end, settings);

  // A datagram is one packet; perftest, too, goes down to the MTU and carries on.
  if (options_.ud) options_.size_B = std::min<std::uint64_t>(options_.size_B, connection.mtu_B);
  std::uint64_t largest_B = options_.size_B;
  if (options_.all_sizes) {
    largest_B = options_.ud ? connection.mtu_B : kLargestSize_B;
    for (std::uint64_t size_B = 2; size_B <= largest_B; size_B *= 2) sizes_B_.push_back(size_B);
  } else {
    sizes_B_.push_back(options_.size_B);
  }
  client_ = side(client_end, server_end, connection, true);
  server_ = side(server_end, client_end, connection, false);
  nic::Access everything{true, true, true, true};
  for (PerftestSide* each : {&client_, &server_}) {
    each->stride_B = std::max<std::uint64_t>(largest_B, kCycleBuffer_B) + (options_.ud ? nic::kGrh_B : 0);
    each->va = kBufferBase + (std::uint64_t{each->end.port_id()} << 32);
    each->key = each->end.device->memory().add(each->va, each->stride_B * options_.qps, everything);
  }
  for (const PerftestSide* each : {&client_, &server_}) {
    std::string error = each->end.memory_error;
    const auto wanted_B = static_cast<std::int64_t>(each->stride_B * options_.qps);
    if (error.empty() && each->end.most_memory_B > 0 && wanted_B > each->end.most_memory_B)
      error = "ibv_reg_mr: errno 12 (Cannot allocate memory): the buffer is larger than the BAR of the GPU";
    if (error.empty()) continue;
    // As perftest ends when it has no memory region: nothing is sent.
    PerftestRow row;
    row.size_B = sizes_B_.front();
    row.failure = "Couldn't allocate MR: " + error;
    result_.rows.push_back(std::move(row));
    break;
  }
  client_.remote_key = server_.key;
  client_.remote_va = server_.va;
  server_.remote_key = client_.key;
  server_.remote_va = client_.va;

  result_.device = client.device->name();
  result_.mtu_B = connection.mtu_B;
  for (const QpPair& pair : connection.qps) {
    PerftestEndpoint local{pair.client, pair.client_psn, client_.key, client_.va, {}};
    PerftestEndpoint remote{pair.server, pair.server_psn, server_.key, server_.va, {}};
    std::memcpy(local.gid, client.gid, sizeof local.gid);
    std::memcpy(remote.gid, server.gid, sizeof remote.gid);
    result_.local.push_back(local);
    result_.remote.push_back(remote);
  }
}

PerftestSide PerftestRun::side(const Endpoint& end, const Endpoint& peer, const Connection& connection,
                               bool client) const {
  PerftestSide side;
  side.end = end;
  side.send_cq = client ? connection.client_send_cq : connection.server_send_cq;
  side.receive_cq = client ? connection.client_receive_cq : connection.server_receive_cq;
  side.remote_port = peer.port_id();
  for (const QpPair& pair : connection.qps) {
    side.qps.push_back(client ? pair.client : pair.server);
    side.remote_qps.push_back(client ? pair.server : pair.client);
  }
  return side;
}

bool PerftestRun::start_phase(Time_ps at_ps) {
  if (next_size_ == sizes_B_.size() || (!result_.rows.empty() && !result_.rows.back().failure.empty())) return false;
  std::uint64_t size_B = sizes_B_[next_size_++];
  set_trace(true);
  if (options_.latency) {
    start_latency(at_ps, size_B);
  } else {
    start_bandwidth(at_ps, size_B);
  }
  return true;
}

void PerftestRun::start_bandwidth(Time_ps at_ps, std::uint64_t size_B) {
  nic::Device& sender = *payload_side().end.device;
  nic::Bond::count_idle_from(sender, at_ps);
  before_ = nic::Bond::counters_of(sender, payload_side().qps);
  before_around_ = surroundings_of(receiving_end(), losses_);
  if (options_.verb == PerftestVerb::kSend) {
    if (!server_receiver_) server_receiver_ = std::make_unique<BandwidthReceiver>(options_, server_);
    server_receiver_->start(at_ps);
    if (options_.bidirectional) {
      if (!client_receiver_) client_receiver_ = std::make_unique<BandwidthReceiver>(options_, client_);
      client_receiver_->start(at_ps);
    }
  }
  senders_.push_back(std::make_unique<BandwidthSender>(options_, client_, size_B));
  if (options_.bidirectional) senders_.push_back(std::make_unique<BandwidthSender>(options_, server_, size_B));
  if (tracing_) senders_.front()->follow(*trace_);
  for (auto& each : senders_) each->start(at_ps);
}

void PerftestRun::start_latency(Time_ps at_ps, std::uint64_t size_B) {
  latency_.push_back(std::make_unique<LatencyProgram>(options_, client_, size_B, true));
  latency_.back()->start(at_ps);
  if (options_.verb == PerftestVerb::kWrite || options_.verb == PerftestVerb::kSend) {
    latency_.push_back(std::make_unique<LatencyProgram>(options_, server_, size_B, false));
    latency_.back()->start(at_ps);
  }
  if (tracing_) {
    for (auto& program : latency_) program->follow(*trace_);
  }
}

void PerftestRun::finish_phase(bool interrupted) {
  PerftestRow row;
  row.size_B = sizes_B_[next_size_ - 1];
  auto end_of = [&](const auto& program) {
    if (!row.failure.empty()) return;
    row.failure = program.failure();
    if (row.failure.empty() && !program.done()) {
      row.failure = interrupted ? kInterrupted : "stalled: nothing is in flight and nothing more will happen";
    }
  };
  if (options_.latency) {
    const LatencyProgram& client = *latency_.front();
    end_of(client);
    row.iterations = options_.duration_s > 0 ? client.counted() : options_.iterations;
    if (options_.duration_s > 0) {
      row.duration_iterations = client.counted();
      row.duration_elapsed_ps = (options_.duration_s - 2 * options_.margin_s) * kSecond_ps;
    } else {
      row.samples_ps = client.samples_ps();
    }
  } else {
    for (const auto& sender : senders_) {
      end_of(*sender);
      row.bw.push_back(sender->measure());
    }
    row.iterations = senders_.front()->iterations();
    row.account = account_of(*senders_.front());
    // What turns round inside the NIC is not on the line.
    if (client_.end.device != server_.end.device) row.account.elapsed_ps = row.bw.front().elapsed_ps;
    row.account.payload_B = row.bw.front().messages * row.size_B;
    if (options_.duration_s > 0) fit_to_stretch(*senders_.front(), row.account);
  }
  if (tracing_ && row.failure.empty()) row.message = message_of(row);
  set_trace(false);
  senders_.clear();
  latency_.clear();
  result_.rows.push_back(std::move(row));
}

PortAccount PerftestRun::account_of(const BandwidthSender& sender) const {
  nic::Device& device = *payload_side().end.device;
  // Others may use the port before and after; of READ the other host's port is not the program's to look at.
  const bool own = payload_side().end.device == client_.end.device;
  PortAccount account =
      account_between(own ? sender.counters_at_start() : before_,
                      own ? sender.counters_at_end() : nic::Bond::counters_of(device, payload_side().qps));
  account.cpu_ps = sender.cpu_ps();
  account.contention_ps = sender.contention_ps();
  add_surroundings(account, {&device, payload_side().qps.front(), nic::Bond::ports_of(device, payload_side().qps)},
                   receiving_end(), before_around_, losses_, sender.posted() * sizes_B_[next_size_ - 1]);
  return account;
}

// With -D what is counted lies between the margins. The sender has looked at its own port there; of what others have
// counted in all, a share is taken.
void PerftestRun::fit_to_stretch(const BandwidthSender& sender, PortAccount& account) const {
  const auto duration_ps = static_cast<double>(options_.duration_s * kSecond_ps);
  const auto share_of = [](Time_ps time_ps, double share) {
    return static_cast<Time_ps>(static_cast<double>(time_ps) * share);
  };
  const auto payload_B = static_cast<std::int64_t>(account.payload_B);
  account.receiver_paused_ps =
      share_of(account.receiver_paused_ps, static_cast<double>(account.elapsed_ps) / duration_ps);
  if (payload_side().end.device == client_.end.device) {
    account.uncounted_B = std::max<std::int64_t>(sender.sent_B() - payload_B, 0);
    return;
  }
  // A READ that was posted is answered, also after the end.
  const auto all_B = static_cast<double>(sender.posted() * sizes_B_[next_size_ - 1]);
  const double share = all_B > 0 ? static_cast<double>(payload_B) / all_B : 0;
  account.line_B = static_cast<std::uint64_t>(static_cast<double>(account.line_B) * share);
  account.resent_packets = static_cast<std::uint64_t>(static_cast<double>(account.resent_packets) * share);
  for (Time_ps& idle_ps : account.idle_ps) idle_ps = share_of(idle_ps, share);
}

nic::MessageTrace& PerftestRun::follow(std::vector<std::string> port_names) {
  port_names_ = std::move(port_names);
  trace_ = std::make_unique<nic::MessageTrace>(nic::MessageTrace::End{client_.end.device, client_.qps.front()},
                                               nic::MessageTrace::End{server_.end.device, server_.qps.front()},
                                               !options_.latency || !ping_pong());
  return *trace_;
}

// A device that another workload follows meanwhile stays with that. Messages of a bond are not followed.
void PerftestRun::set_trace(bool on) {
  if (trace_ == nullptr || on == tracing_) return;
  nic::DeviceControl client(*client_.end.device), server(*server_.end.device);
  if (client_.end.device->sibling() != nullptr || server_.end.device->sibling() != nullptr) return;
  if (on && (client.is_traced() || server.is_traced())) return;
  tracing_ = on;
  for (nic::DeviceControl* each : {&client, &server}) each->set_trace(on ? trace_.get() : nullptr);
}

// Of the message that took what the test reports; where that is a mean, of the nearest.
MessageBudget PerftestRun::message_of(const PerftestRow& row) const {
  if (!options_.latency) {
    const std::vector<nic::Span>& spans = senders_.front()->traced_spans();
    return spans.empty() ? MessageBudget{} : message_budget(spans, 1, 0, port_names_);
  }
  const auto& chains = latency_.front()->chains();
  const bool average = options_.duration_s > 0;  // -D reports nothing else
  const std::vector<Time_ps> samples_ps = average ? latency_.front()->samples_ps() : row.samples_ps;
  const std::uint64_t counted = std::max<std::uint64_t>(row.duration_iterations, 1);
  const Time_ps reported_ps =
      average ? row.duration_elapsed_ps / static_cast<Time_ps>(counted) / (ping_pong() ? 2 : 1) : typical_ps(row);
  const std::size_t known = std::min(chains.size(), samples_ps.size());
  if (known == 0) return {};
  const auto nearest =
      std::min_element(samples_ps.begin(), samples_ps.begin() + static_cast<std::ptrdiff_t>(known),
                       [&](Time_ps a, Time_ps b) { return std::abs(a - reported_ps) < std::abs(b - reported_ps); });
  const auto index = static_cast<std::size_t>(nearest - samples_ps.begin());
  MessageBudget budget = message_budget(chains[index], ping_pong() ? 2 : 1, reported_ps, port_names_);
  if (average) budget.measured = "t_avg";
  return budget;
}

}  // namespace weft::workload
