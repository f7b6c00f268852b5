#include "workload/flow/run.h"

#include <algorithm>

#include "base/check.h"
#include "tools/perftest/budget.h"

namespace weft::workload {

namespace {

constexpr std::uint64_t kFlowBufferBase = 0x7fd000000000;
constexpr std::uint32_t kOutstanding = 16;  // messages of one flow
constexpr std::uint32_t kReceives = 32;     // of one flow: what is on its way, and as much again
constexpr std::uint32_t kFlowPollBatch = 16;
constexpr std::uint64_t kMaxMessage_B = std::uint64_t{1} << 31;  // of InfiniBand
// What is outstanding must stay inside half of the PSN space: 16 messages of 2^18 packets.
constexpr std::uint64_t kMaxMessagePackets = 1 << 18;

std::uint32_t at_most(std::uint32_t most, std::uint64_t messages) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, messages));
}

}  // namespace

FlowRun::FlowRun(FlowOptions options, std::vector<Endpoint> endpoints)
    : options_(std::move(options)), endpoints_(std::move(endpoints)) {
  rows_.reserve(options_.flows.size());
  for (const Flow& flow : options_.flows) {
    WEFT_CHECK(flow.source < endpoints_.size() && flow.destination < endpoints_.size(), "a flow between endpoints");
    WEFT_CHECK(endpoints_[flow.source].port_id() != endpoints_[flow.destination].port_id(), "a flow crosses a cable");
    FlowRow row;
    row.id = flow.id != 0 ? flow.id : static_cast<std::uint32_t>(rows_.size() + 1);
    row.source = flow.source;
    row.destination = flow.destination;
    row.size_B = flow.size_B;
    row.start_ps = flow.start_ps;
    rows_.push_back(row);
  }
}

FlowRun::Dependents::Dependents(std::size_t flows, std::span<const FlowDependency> dependencies) {
  begin_.resize(flows + 1);
  flows_.resize(dependencies.size());
  for (const FlowDependency& each : dependencies) ++begin_[each.before + 1];
  for (std::size_t i = 0; i < flows; ++i) begin_[i + 1] += begin_[i];
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (const FlowDependency& each : dependencies) flows_[next[each.before]++] = each.flow;
}

std::vector<Time_ps> FlowRun::ready_ps() const {
  std::vector<Time_ps> list;
  for (const Wait& wait : waits_)
    list.push_back(wait.left == 0 && wait.ready_ps > 0 ? wait.ready_ps - started_ps_ : kNever_ps);
  return list;
}

// Each dependency is seen at one host, that of the flow that waits.
void FlowRun::plan_dependencies() {
  if (options_.dependencies.empty()) return;
  waits_.resize(rows_.size());
  std::vector<FlowDependency> at_sender, at_receiver;
  for (const FlowDependency& each : options_.dependencies) {
    const host::Host* host = endpoints_[rows_[each.flow].source].host;
    if (endpoints_[rows_[each.before].source].host == host) {
      at_sender.push_back(each);
    } else {
      WEFT_CHECK(endpoints_[rows_[each.before].destination].host == host, "a flow waits for what ends at its host");
      at_receiver.push_back(each);
    }
    ++waits_[each.flow].left;
    rows_[each.flow].start_ps = kNever_ps;
  }
  at_sender_ = Dependents(rows_.size(), at_sender);
  at_receiver_ = Dependents(rows_.size(), at_receiver);
}

std::uint32_t FlowRun::receives_of(std::uint32_t flow) const {
  if (options_.op == FlowOp::kSend) return at_most(kReceives, progress_[flow].messages);
  return at_receiver_.of(flow).empty() ? 0 : 1;
}

std::uint32_t FlowRun::mtu_B(std::uint32_t source, std::uint32_t destination) const {
  std::uint32_t active_B = std::min(endpoints_[source].active_mtu_B, endpoints_[destination].active_mtu_B);
  return options_.mtu_B != 0 ? std::min(active_B, options_.mtu_B) : active_B;
}

// Cuts flows into messages and counts what every endpoint must have room for.
void FlowRun::plan() {
  progress_.resize(rows_.size());
  plan_dependencies();
  for (const Endpoint& end : endpoints_) players_.emplace_back(*this, end);
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const FlowRow& row = rows_[i];
    Progress& progress = progress_[i];
    std::uint64_t message_B = options_.message_B != 0 ? options_.message_B : std::max<std::uint64_t>(row.size_B, 1);
    message_B = std::min({message_B, kMaxMessage_B, kMaxMessagePackets * mtu_B(row)});
    progress.message_B = static_cast<std::uint32_t>(message_B);
    progress.messages = std::max<std::uint64_t>((row.size_B + message_B - 1) / message_B, 1);
    buffer_B_ = std::max(buffer_B_, message_B);
    Player& source = players_[row.source];
    Player& destination = players_[row.destination];
    if (waits_.empty() || waits_[i].left == 0) source.sends.push_back(i);
    source.cq_entries += at_most(kOutstanding, progress.messages);
    ++source.flows;
    ++destination.flows;
    progress.receipts_left = options_.op == FlowOp::kSend ? progress.messages : receives_of(i);
    destination.cq_entries += receives_of(i);
  }
  for (Player& player : players_) {
    std::stable_sort(player.sends.begin(), player.sends.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return rows_[a].start_ps < rows_[b].start_ps; });
  }
}

void FlowRun::connect(std::uint32_t flow) {
  FlowRow& row = rows_[flow];
  Progress& progress = progress_[flow];
  const Endpoint& source = endpoints_[row.source];
  const Endpoint& destination = endpoints_[row.destination];
  Player& receiver = players_[row.destination];
  std::uint32_t receives = receives_of(flow);
  std::uint32_t depth = at_most(kOutstanding, progress.messages);
  QpPair pair;
  pair.client = source.create_qp(nic::QpType::kRc, players_[row.source].cq, players_[row.source].cq, depth, 1);
  pair.server = destination.create_qp(nic::QpType::kRc, receiver.cq, receiver.cq, 1, std::max(receives, 1U));
  pair.client_psn = source.random_psn();
  pair.server_psn = destination.random_psn();
  ConnectionSettings settings;
  settings.timeout = options_.timeout;
  settings.retry_cnt = options_.retry_cnt;
  settings.telemetry = options_.telemetry;
  bring_up(source, destination, settings, mtu_B(row), pair);
  row.qpn = pair.client;
  progress.remote_qpn = row.remote_qpn = pair.server;
  if (!destination.is_here()) return;
  for (std::uint32_t i = 0; i < receives; ++i) receiver.post_receive(flow);
}

bool FlowRun::is_finished() const {
  return std::all_of(rows_.begin(), rows_.end(), [&](const FlowRow& row) {
    return row.state == FlowState::kDone || row.state == FlowState::kFailed || !endpoints_[row.source].is_here();
  });
}

bool FlowRun::start_phase(Time_ps at_ps) {
  if (started_) return false;
  started_ = true;
  started_ps_ = at_ps;
  plan();
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    Player& player = players_[i];
    const Endpoint& end = endpoints_[i];
    if (player.flows == 0) continue;
    if (end.is_here()) {
      end.device->reserve_qps(player.flows);
      player.cq = end.device->create_cq(std::max(player.cq_entries, 1U));
    }
    player.va = kFlowBufferBase + (std::uint64_t{end.port_id()} << 32);
    player.key = end.memory().add(player.va, buffer_B_, {true, true, true, true});
  }
  for (std::uint32_t i = 0; i < rows_.size(); ++i) connect(i);
  for (Player& player : players_) player.start(at_ps);
  return true;
}

// A receiver of WRITEs has nothing to do, unless a flow waits for one.
void FlowRun::Player::start(Time_ps at_ps) {
  if (!sends.empty() && run_.waits_.empty()) at_ps += run_.rows_[sends.front()].start_ps;
  if (cq_entries > 0 && end_.is_here()) program_ = end_.start(*this, at_ps);
}

void FlowRun::Player::post_receive(std::uint32_t flow) {
  Progress& progress = run_.progress_[flow];
  nic::ReceiveRequest receive{flow, va, key, progress.message_B};
  bool taken = end_.device->post_receive(progress.remote_qpn, receive);
  WEFT_CHECK(taken, "the receive queue has room for what was consumed");
  ++progress.receives;
}

void FlowRun::Player::append(std::uint32_t flow) {
  Progress& progress = run_.progress_[flow];
  progress.may_post = true;
  progress.next = kNoFlow;
  (first_ == kNoFlow ? first_ : run_.progress_[last_].next) = flow;
  last_ = flow;
}

Time_ps FlowRun::Player::step(Time_ps now_ps) {
  while (next_ < sends.size() && run_.started_ps_ + run_.rows_[sends[next_]].start_ps <= now_ps) append(sends[next_++]);
  for (; !due_.empty() && due_.top().first <= now_ps; due_.pop()) append(due_.top().second);
  if (first_ == kNoFlow) return poll(now_ps);
  return busy_ps_ = end_.host->cpu_ps(post(now_ps));
}

// One message of the flow whose turn it is.
Time_ps FlowRun::Player::post(Time_ps now_ps) {
  const host::HostModel& cpu = end_.host->model();
  std::uint32_t flow = first_;
  FlowRow& row = run_.rows_[flow];
  Progress& progress = run_.progress_[flow];
  const Player& receiver = run_.players_[row.destination];
  first_ = progress.next;
  progress.may_post = false;
  if (row.state == FlowState::kWaiting) {
    row.state = FlowState::kRunning;
    row.first_post_ps = now_ps - run_.started_ps_;
  }
  nic::SendRequest request;
  request.wr_id = flow;
  request.opcode = run_.options_.op == FlowOp::kSend ? nic::WrOpcode::kSend : nic::WrOpcode::kWrite;
  if (request.opcode == nic::WrOpcode::kWrite && progress.posted + 1 == progress.messages &&
      !run_.at_receiver_.of(flow).empty())
    request.opcode = nic::WrOpcode::kWriteImm;
  request.length_B = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(progress.message_B, row.size_B - progress.posted * progress.message_B));
  request.local_va = va;
  request.lkey = key;
  request.remote_va = receiver.va;
  request.rkey = receiver.key;
  Time_ps doorbell_ps = now_ps + cpu.post_wqe_ps + cpu.doorbell_ps;
  bool taken = end_.device->post_send(row.qpn, request, doorbell_ps);
  WEFT_CHECK(taken, "the send queue has room for what may be outstanding");
  if (progress.posted == 0 && !run_.accounts_.empty()) run_.start_account(flow);
  ++progress.posted;
  if (progress.posted < progress.messages && progress.posted - progress.completed < kOutstanding) append(flow);
  return doorbell_ps + cpu.post_loop_ps;
}

// What turns round inside a NIC is not on the line.
void FlowRun::start_account(std::uint32_t flow) {
  const FlowRow& row = rows_[flow];
  nic::Device* receiver = endpoints_[row.destination].device;
  nic::Device* sender = endpoints_[row.source].device;
  if (receiver == nullptr || receiver == sender) return;
  accounts_[flow].emplace(AccountEnd{sender, row.qpn}, AccountEnd{receiver, row.remote_qpn}, losses_);
}

std::optional<PerftestBudget> FlowRun::budget(std::size_t flow) const {
  if (accounts_.empty() || !accounts_[flow] || rows_[flow].state != FlowState::kDone) return {};
  PerftestOptions like;
  like.verb = options_.op == FlowOp::kSend ? PerftestVerb::kSend : PerftestVerb::kWrite;
  const std::uint64_t message_B = std::min<std::uint64_t>(progress_[flow].message_B, rows_[flow].size_B);
  return perftest_budget(like, accounts_[flow]->account(), message_B, mtu_B(rows_[flow]));
}

void FlowRun::Player::fail(FlowRow& row, const nic::Completion& completion) {
  row.state = FlowState::kFailed;
  row.status = completion.status;
  row.vendor_error = completion.vendor_error;
  row.end_ps = completion.visible_ps - run_.started_ps_;
}

void FlowRun::Player::wake(Time_ps at_ps) {
  end_.host->wake(program_, end_.host->cpu_ps(std::max(at_ps, busy_ps_)));
}

void FlowRun::release(std::span<const std::uint32_t> dependents, Time_ps ended_ps, Time_ps now_ps,
                      const Player& seen_by) {
  for (std::uint32_t flow : dependents) {
    Wait& wait = waits_[flow];
    wait.ready_ps = std::max(wait.ready_ps, ended_ps);
    if (--wait.left > 0) continue;
    const Time_ps due_ps = wait.ready_ps + options_.flows[flow].start_ps;
    rows_[flow].start_ps = due_ps - started_ps_;
    Player& sender = players_[rows_[flow].source];
    sender.add_due(flow, due_ps);
    if (&sender != &seen_by) sender.wake(std::max(due_ps, now_ps));  // it is in its step: there it looks itself
  }
}

void FlowRun::Player::take(const nic::Completion& completion, Time_ps now_ps) {
  auto flow = static_cast<std::uint32_t>(completion.wr_id);
  FlowRow& row = run_.rows_[flow];
  Progress& progress = run_.progress_[flow];
  bool ok = completion.status == nic::WcStatus::kSuccess;
  ++progress.completed;
  if (row.state == FlowState::kFailed) return;
  if (!ok) {
    fail(row, completion);
  } else if (progress.completed == progress.messages) {
    row.state = FlowState::kDone;
    row.end_ps = completion.visible_ps - run_.started_ps_;
    if (!run_.accounts_.empty() && run_.accounts_[flow])
      run_.accounts_[flow]->end(run_.losses_, row.end_ps - row.first_post_ps, row.size_B);
    run_.release(run_.at_sender_.of(flow), completion.visible_ps, now_ps, *this);
  } else if (!progress.may_post && progress.posted < progress.messages) {
    append(flow);
  }
}

// True when it was replaced by another.
bool FlowRun::Player::take_receive(const nic::Completion& completion, Time_ps now_ps) {
  if (completion.status != nic::WcStatus::kSuccess) return false;
  const auto flow = static_cast<std::uint32_t>(completion.wr_id);
  Progress& progress = run_.progress_[flow];
  if (--progress.receipts_left == 0) run_.release(run_.at_receiver_.of(flow), completion.visible_ps, now_ps, *this);
  if (run_.options_.op != FlowOp::kSend || progress.receives == progress.messages) return false;
  post_receive(flow);
  return true;
}

Time_ps FlowRun::Player::next_due_ps() const {
  const Time_ps due_ps = due_.empty() ? kNever_ps : due_.top().first;
  return next_ == sends.size() ? due_ps : std::min(due_ps, run_.started_ps_ + run_.rows_[sends[next_]].start_ps);
}

Time_ps FlowRun::Player::poll(Time_ps now_ps) {
  const host::HostModel& cpu = end_.host->model();
  nic::CompletionQueue& queue = end_.device->cq(cq);
  std::uint32_t found = 0;
  std::uint32_t reposted = 0;
  while (found < kFlowPollBatch) {
    const nic::Completion* completion = queue.peek(now_ps);
    if (completion == nullptr) break;
    ++found;
    if (completion->opcode < nic::WcOpcode::kReceive) {
      take(*completion, now_ps);
    } else if (take_receive(*completion, now_ps)) {
      ++reposted;
    }
    queue.pop();
  }
  if (found > 0) return busy_ps_ = end_.host->cpu_ps(now_ps + found * cpu.poll_hit_ps + reposted * cpu.post_recv_ps);
  const Time_ps visible_ps = end_.host->wait(program_, *end_.device, cq), due_ps = next_due_ps();
  return due_ps == kNever_ps ? visible_ps : std::min(visible_ps, end_.host->cpu_ps(due_ps));
}

}  // namespace weft::workload
