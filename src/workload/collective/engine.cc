#include "workload/collective/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "nccl/schedule/schedule.h"
#include "workload/collective/host.h"
#include "workload/collective/socket.h"

namespace weft::workload {

namespace {

constexpr std::uint32_t kSendDepth = 32, kReceiveDepth = 32;
constexpr std::uint64_t kFifoRegion_B = 256 * 64;
constexpr std::uint64_t kConnectionBuffer_B = 8 << 20;  // what is beyond a buffer is not used
constexpr std::uint64_t kCollectiveBuffers = 0x7fe000000000, kCollectiveFifos = 0x7fdf00000000;
constexpr std::uint8_t kTosEcn = 3;

}  // namespace

CollectiveNetSettings CollectiveNetSettings::from(const nccl::Environment& environment) {
  CollectiveNetSettings net;
  net.qps_per_connection = static_cast<std::uint32_t>(std::max<std::int64_t>(environment.ib_qps_per_connection, 1));
  net.split_data_on_qps = environment.ib_split_data_on_qps;
  net.timeout = static_cast<std::uint8_t>(environment.ib_timeout);
  net.retry_cnt = static_cast<std::uint8_t>(environment.ib_retry_cnt);
  if (environment.ib_tc >= 0) net.tc = environment.traffic_class();
  if (environment.ib_sl >= 0) net.sl = environment.service_level();
  return net;
}

CollectiveEngine::CollectiveEngine(Setup setup) : setup_(std::move(setup)) {
  for (std::uint32_t i = 0; i < setup_.cluster.machines.size(); ++i)
    hosts_.push_back(std::make_unique<CollectiveHost>(*this, i, *setup_.hosts[i]));
}

CollectiveEngine::~CollectiveEngine() = default;

std::uint32_t CollectiveEngine::add_communicator(std::shared_ptr<const nccl::Communicator> communicator) {
  communicators_.push_back(std::move(communicator));
  return static_cast<std::uint32_t>(communicators_.size() - 1);
}

void CollectiveEngine::prepare(std::uint32_t communicator, const nccl::Operation& operation,
                               std::optional<std::uint32_t> rank) {
  const nccl::Communicator& decided = *communicators_[communicator];
  const nccl::Plan plan = nccl::make_plan(decided, operation);
  const std::uint32_t first = rank.value_or(0);
  const std::uint32_t end = rank ? *rank + 1 : static_cast<std::uint32_t>(decided.ranks().size());
  for (std::uint32_t each = first; each < end; ++each) {
    for (const nccl::Lane& lane : nccl::lanes_of(decided, plan, each)) {
      for (std::int32_t peer : lane.to) {
        if (peer != nccl::kNoRank)
          connect({communicator, lane.channel, each, static_cast<std::uint32_t>(peer), lane.point_to_point,
                   lane.nvls != nullptr});
      }
      for (std::int32_t peer : lane.from) {
        if (peer != nccl::kNoRank)
          connect({communicator, lane.channel, static_cast<std::uint32_t>(peer), each, lane.point_to_point,
                   lane.nvls != nullptr});
      }
    }
  }
}

// Of the link between two GPUs that have no switch between them.
std::int64_t CollectiveEngine::pair_Bps(const nccl::Communicator& ranks, std::uint32_t rank) const {
  const nccl::RankPlace place = ranks.ranks()[rank];
  const std::size_t gpus = setup_.cluster.machines[place.machine].places.gpus.size();
  if (ranks.nodes()[ranks.node_of(rank)].topology->nvswitch >= 0 || gpus < 2) return 0;
  return hosts_[place.machine]->gpu_model(place.gpu).link_Bps / static_cast<std::int64_t>(gpus - 1);
}

void CollectiveEngine::connect(const ConnectionKey& key) {
  if (connected_.contains(key)) return;
  const nccl::Communicator& ranks = *communicators_[key.communicator];
  const nccl::RankPlace from = ranks.ranks()[key.from], to = ranks.ranks()[key.to];
  const nccl::Route route = key.nvls             ? ranks.nvls_route(key.channel, key.from, key.to)
                            : key.point_to_point ? ranks.p2p_route(key.channel, key.from, key.to)
                                                 : ranks.route(key.channel, key.from, key.to);
  if (!may_connect(ranks, key.from, key.to, route)) return;
  CollectiveSendHalf send;
  CollectiveReceiveHalf receive;
  send.communicator = receive.communicator = key.communicator;
  send.channel = receive.channel = key.channel;
  send.from = receive.from = key.from;
  send.to = receive.to = key.to;
  send.point_to_point = receive.point_to_point = key.point_to_point;
  send.gpu = from.gpu;
  send.peer_gpu = receive.gpu = to.gpu;
  if (route.transport == nccl::Transport::kIb) {
    connected_.emplace(key, connect_network(ranks, route, send, receive));
    return;
  }
  if (route.transport == nccl::Transport::kSocket) {
    connected_.emplace(key, connect_sockets(ranks, route, send, receive));
    return;
  }
  CollectiveHost& host = *hosts_[from.machine];
  send.way = route.transport == nccl::Transport::kShm ? CollectiveWay::kShared
             : route.path <= nccl::PathType::kC2c     ? CollectiveWay::kNvlink
                                                      : CollectiveWay::kPcie;
  receive.way = send.way;
  send.pair_Bps = pair_Bps(ranks, key.from);
  const Halves halves{host.add_send_half(send), host.add_receive_half(receive)};
  host.send_half(halves.send).peer = halves.receive;
  host.receive_half(halves.receive).peer = halves.send;
  connected_.emplace(key, halves);
}

// Ranks on rails that do not meet: NCCL would try until the transport's retries are exhausted.
bool CollectiveEngine::may_connect(const nccl::Communicator& ranks, std::uint32_t from, std::uint32_t to,
                                   const nccl::Route& route) {
  if (!setup_.no_way || (route.transport != nccl::Transport::kIb && route.transport != nccl::Transport::kSocket))
    return true;
  const std::string reason =
      setup_.no_way(ranks.ranks()[from].machine, route.send_nic, ranks.ranks()[to].machine, route.receive_nic);
  if (reason.empty()) return true;
  if (unconnectable_.empty())
    unconnectable_ = fmt::format(
        "rank {} cannot reach rank {}: {}; {}", from, to, reason,
        ranks.environment().pxn_disable
            ? "set NCCL_PXN_DISABLE=0 (the GPU beside the NIC of the other's rail sends), or join the rails with spines"
            : "join the rails with spines, or give the hosts' NICs the same order of rails");
  return false;
}

Endpoint CollectiveEngine::network_end(std::uint32_t machine, std::uint32_t nic, std::uint32_t gpu,
                                       bool in_gpu_memory) const {
  Endpoint end = setup_.endpoint_of(machine, nic, gpu, in_gpu_memory);
  WEFT_CHECK(end.is_here(), "collectives run in one engine");
  if (setup_.net.tc) end.tos = static_cast<std::uint8_t>((*setup_.net.tc & ~kTosEcn) | (end.tos & kTosEcn));
  if (setup_.net.sl) end.priority = *setup_.net.sl;
  return end;
}

CollectiveEngine::Halves CollectiveEngine::connect_network(const nccl::Communicator& ranks, const nccl::Route& route,
                                                           CollectiveSendHalf& send, CollectiveReceiveHalf& receive) {
  const nccl::RankPlace from = ranks.ranks()[send.from], to = ranks.ranks()[send.to];
  const std::uint32_t proxy_gpu = ranks.ranks()[route.proxy_rank].gpu;
  send.way = receive.way = CollectiveWay::kNet;
  send.peer_gpu = proxy_gpu;
  if (proxy_gpu != from.gpu) send.pair_Bps = pair_Bps(ranks, send.from);
  send.proxy = proxy_gpu;
  receive.proxy = to.gpu;
  send.staged = !route.send_gdr;
  receive.staged = !route.receive_gdr;
  const Endpoint a = network_end(from.machine, route.send_nic, proxy_gpu, route.send_gdr);
  const Endpoint b = network_end(to.machine, route.receive_nic, to.gpu, route.receive_gdr);
  send.host_function =
      route.send_gdr ? network_end(from.machine, route.send_nic, proxy_gpu, false).function : a.function;
  receive.host_function =
      route.receive_gdr ? network_end(to.machine, route.receive_nic, to.gpu, false).function : b.function;
  CollectiveHost& sender = *hosts_[from.machine];
  CollectiveHost& receiver = *hosts_[to.machine];
  const auto nic_slot = [&](std::uint32_t machine, std::uint32_t nic) {
    return setup_.cluster.machines[machine].nics[nic].slot;
  };
  send.nic_uplink = sender.uplink_of(nic_slot(from.machine, route.send_nic));
  receive.nic_uplink = receiver.uplink_of(nic_slot(to.machine, route.receive_nic));
  send.function = a.function;
  receive.function = b.function;
  send.mtu_B = std::min(a.active_mtu_B, b.active_mtu_B);
  send.device = a.device;
  receive.device = b.device;
  send.qps = receive.qps = std::min(std::max(setup_.net.qps_per_connection, 1U), kMostConnectionQps);
  send.split = receive.split = setup_.net.split_data_on_qps && send.qps > 1;
  send.slot_B = ranks.buffer_B(nccl::Protocol::kSimple) / nccl::kBufferSteps;
  receive.flush = route.flush;
  send.lkey = sender.buffer_key(*a.device);
  send.rkey = receiver.buffer_key(*b.device);
  receive.lkey = send.rkey;
  const std::uint64_t buffer = connected_.size() * kConnectionBuffer_B;
  send.local_va = send.remote_va = kCollectiveBuffers + buffer % (std::uint64_t{1} << 38);
  send.fifo_va = receive.fifo_va = kCollectiveFifos;
  send.fifo_key = receive.fifo_rkey = a.memory().add(kCollectiveFifos, kFifoRegion_B, {true, true, true, true});
  ConnectionSettings settings;
  settings.timeout = setup_.net.timeout;
  settings.retry_cnt = setup_.net.retry_cnt;
  settings.max_rd_atomic = 1;
  const std::uint32_t a_cq = sender.completion_queue(*a.device, 2 * kSendDepth * send.qps);
  const std::uint32_t b_cq = receiver.completion_queue(*b.device, 2 * kSendDepth * send.qps);
  for (std::uint32_t i = 0; i < send.qps; ++i) {
    QpPair pair;
    pair.client = a.create_qp(nic::QpType::kRc, a_cq, a_cq, kSendDepth, 1);
    pair.server = b.create_qp(nic::QpType::kRc, b_cq, b_cq, kSendDepth, kReceiveDepth);
    pair.client_psn = a.random_psn();
    pair.server_psn = b.random_psn();
    bring_up(a, b, settings, send.mtu_B, pair);
    send.qpn[i] = pair.client;
    receive.qpn[i] = pair.server;
  }
  return {sender.add_send_half(send), receiver.add_receive_half(receive)};
}

CollectiveEngine::Halves CollectiveEngine::connect_sockets(const nccl::Communicator& ranks, const nccl::Route& route,
                                                           CollectiveSendHalf& send, CollectiveReceiveHalf& receive) {
  const nccl::RankPlace from = ranks.ranks()[send.from], to = ranks.ranks()[send.to];
  send.way = receive.way = CollectiveWay::kSocket;
  send.peer_gpu = send.gpu;
  send.proxy = from.gpu;
  receive.proxy = to.gpu;
  send.staged = receive.staged = true;
  const Endpoint a = setup_.endpoint_of(from.machine, route.send_nic, from.gpu, false);
  const Endpoint b = setup_.endpoint_of(to.machine, route.receive_nic, to.gpu, false);
  CollectiveHost& sender = *hosts_[from.machine];
  CollectiveHost& receiver = *hosts_[to.machine];
  const Halves halves{sender.add_send_half(send), receiver.add_receive_half(receive)};
  auto client =
      std::make_unique<CollectiveSocket>(setup_.net, a, true, sender, halves.send, sender.proxy_cpu(from.gpu));
  auto server =
      std::make_unique<CollectiveSocket>(setup_.net, b, false, receiver, halves.receive, receiver.proxy_cpu(to.gpu));
  client->connect_to(b, server->qpn());
  server->connect_to(a, client->qpn());
  sender.send_half(halves.send).socket = client.get();
  sender.send_half(halves.send).mtu_B = client->mss_B();
  receiver.receive_half(halves.receive).socket = server.get();
  sockets_.push_back(std::move(client));
  sockets_.push_back(std::move(server));
  return halves;
}

void CollectiveEngine::start(Time_ps at_ps) {
  for (auto& host : hosts_) host->start(at_ps);
  for (auto& socket : sockets_) socket->start(at_ps);
}

void CollectiveEngine::stop() {
  for (auto& socket : sockets_) socket->stop();
}

void CollectiveEngine::enqueue(std::uint32_t communicator, std::uint32_t rank, const nccl::Operation& operation,
                               Time_ps earliest_ps, std::uint64_t tag, std::uint32_t stream) {
  const nccl::RankPlace place = communicators_[communicator]->ranks()[rank];
  CollectiveItem item;
  item.communicator = communicator;
  item.rank = rank;
  item.operation = operation;
  item.earliest_ps = earliest_ps;
  item.tag = tag;
  hosts_[place.machine]->enqueue(item, {place.machine, place.gpu, stream});
}

void CollectiveEngine::compute(const StreamPlace& place, Time_ps duration_ps, Time_ps earliest_ps, std::uint64_t tag,
                               bool on_cpu) {
  CollectiveItem item;
  item.is_compute = true;
  item.on_cpu = on_cpu;
  item.duration_ps = duration_ps;
  item.earliest_ps = earliest_ps;
  item.tag = tag;
  hosts_[place.machine]->enqueue(item, place);
}

std::size_t CollectiveEngine::unfinished(std::uint32_t machine) const {
  return hosts_[machine]->unfinished();
}

std::string CollectiveEngine::failure() const {
  if (!unconnectable_.empty()) return unconnectable_;
  for (const auto& host : hosts_) {
    if (!host->failure().empty()) return host->failure();
  }
  return "";
}

CollectiveUse CollectiveEngine::use() const {
  CollectiveUse use;
  for (const auto& host : hosts_) host->add_use(use);
  std::map<std::pair<const CollectiveHost*, std::uint32_t>, Time_ps> proxies;
  for (const auto& socket : sockets_) {
    Time_ps& copied_ps = proxies[{&socket->machine(), socket->cpu()}];
    copied_ps += socket->copied_ps();
    use.proxy_ps = std::max(use.proxy_ps, copied_ps);
  }
  return use;
}

}  // namespace weft::workload
