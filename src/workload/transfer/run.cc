#include "workload/transfer/run.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace weft::workload {

namespace {

constexpr std::uint64_t kClientBase = 0x7fa000000000;
constexpr std::uint64_t kServerBase = 0x7fb000000000;
constexpr std::uint64_t kScratchBase = 0x7fc000000000;
constexpr std::uint64_t kAtomicAdd = 3;

constexpr nic::WrOpcode kOpcode[] = {nic::WrOpcode::kWrite,    nic::WrOpcode::kWriteImm,   nic::WrOpcode::kSend,
                                     nic::WrOpcode::kSendImm,  nic::WrOpcode::kSendInv,    nic::WrOpcode::kRead,
                                     nic::WrOpcode::kFetchAdd, nic::WrOpcode::kCompareSwap};

bool atomic(TransferOp op) {
  return op == TransferOp::kFetchAdd || op == TransferOp::kCompareSwap;
}

std::uint64_t le64(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

}  // namespace

TransferRun::TransferRun(const TransferOptions& options, const Endpoint& client, const Endpoint& server,
                         std::uint64_t seed)
    : options_(options), client_(client), server_(server), ok_(options.count) {
  ConnectionSettings settings;
  settings.ud = options.ud;
  settings.send_depth = options.depth;
  settings.receive_depth = static_cast<std::uint32_t>(std::max<std::uint64_t>(options.count, 1));
  settings.timeout = options.timeout;
  settings.retry_cnt = options.retry_cnt;
  settings.rnr_retry = options.rnr_retry;
  settings.min_rnr_timer = options.min_rnr_timer;
  settings.server_access.remote_write = options.misuse != Misuse::kNoRemoteWrite;
  settings.connect_server = options.misuse != Misuse::kDeadPeer;
  connection_ = connect(client, server, settings);

  payload_at_ = options.ud ? nic::kGrh_B : 0;
  slot_B_ = (atomic(options.op) ? 8 : options.size_B) + payload_at_;
  client_bytes_.resize(slot_B_ * options.count);
  server_bytes_.resize(slot_B_ * options.count);
  scratch_bytes_.resize(64);
  RandomStream random(seed, client.device->port_id(), RandomPurpose::kPayload);
  // What is to be moved is random; the other side starts as zeros.
  std::vector<std::uint8_t>& source = options.op == TransferOp::kRead ? server_bytes_ : client_bytes_;
  if (!atomic(options.op))
    std::generate(source.begin(), source.end(), [&] { return static_cast<std::uint8_t>(random.next()); });

  nic::Access everything{true, true, true, true};
  client_va_ = kClientBase + (std::uint64_t{client.port_id()} << 32);
  server_va_ = kServerBase + (std::uint64_t{server.port_id()} << 32);
  scratch_va_ = kScratchBase + (std::uint64_t{server.port_id()} << 32);
  client_key_ = client.device->memory().add(client_va_, client_bytes_.size(), everything, client_bytes_);
  server_key_ = server.device->memory().add(server_va_, server_bytes_.size(), everything, server_bytes_);
  // A SEND with invalidate takes its key away: each has one of its own.
  scratch_keys_.resize(options.op == TransferOp::kSendInv ? std::max<std::uint64_t>(options.count, 1) : 1);
  for (std::uint32_t& key : scratch_keys_)
    key = server.device->memory().add(scratch_va_, scratch_bytes_.size(), everything, scratch_bytes_);
}

bool TransferRun::uses_receives() const {
  return nic::consumes_receive(kOpcode[static_cast<int>(options_.op)]);
}

std::uint64_t TransferRun::receives_wanted() const {
  if (!uses_receives() || options_.misuse == Misuse::kNoReceive) return 0;
  return options_.receives != 0 ? std::min<std::uint64_t>(options_.receives, options_.count) : options_.count;
}

nic::SendRequest TransferRun::request(std::uint64_t index) const {
  nic::SendRequest request;
  request.wr_id = index;
  request.opcode = kOpcode[static_cast<int>(options_.op)];
  request.length_B = static_cast<std::uint32_t>(slot_B_ - payload_at_);
  request.local_va = client_va_ + index * slot_B_;
  request.lkey = client_key_;
  request.remote_va = atomic(options_.op) ? server_va_ : server_va_ + index * slot_B_;
  request.rkey = server_key_;
  request.imm = options_.op == TransferOp::kSendInv ? scratch_keys_[index] : static_cast<std::uint32_t>(index);
  request.swap_add = options_.op == TransferOp::kFetchAdd ? kAtomicAdd : index + 1;
  request.compare = index;
  request.dest_port = server_.port_id();
  request.dest_qp = connection_.qps[0].server;
  request.qkey = kWorkloadQkey;
  if (options_.misuse == Misuse::kWrongRkey) request.rkey ^= 0x55;
  if (options_.misuse == Misuse::kBeyondRegion)
    request.remote_va = server_va_ + server_bytes_.size() - options_.size_B / 2;
  return request;
}

bool TransferRun::start_phase(Time_ps at_ps) {
  if (started_) return false;
  started_ = true;
  result_.started_ps = at_ps;
  if (receives_wanted() > 0) server_program_.program = server_.start(server_program_, at_ps);
  client_program_.program = client_.start(client_program_, at_ps);
  return true;
}

Time_ps TransferRun::Server::step(Time_ps now_ps) {
  const host::HostModel& cpu = run_.server_.host->model();
  std::uint64_t wanted = run_.receives_wanted();
  std::uint64_t burst = run_.options_.receive_delay_ps > 0 ? 1 : wanted;
  std::uint64_t fresh = 0;
  for (; fresh < burst && posted < wanted; ++fresh) {
    // The late receiver posts its first receive late too.
    if (run_.options_.receive_delay_ps > 0 && posted == 0 &&
        now_ps < run_.result_.started_ps + run_.options_.receive_delay_ps) {
      return run_.result_.started_ps + run_.options_.receive_delay_ps;
    }
    nic::ReceiveRequest receive;
    receive.wr_id = posted;
    receive.va = run_.server_va_ + posted * run_.slot_B_;
    receive.lkey = run_.server_key_;
    receive.length_B = static_cast<std::uint32_t>(run_.slot_B_);
    if (!run_.server_.device->post_receive(run_.connection_.qps[0].server, receive)) return kNever_ps;
    ++posted;
  }
  nic::CompletionQueue& cq = run_.server_.device->cq(run_.connection_.server_receive_cq);
  std::uint64_t found = 0;
  while (const nic::Completion* completion = cq.peek(now_ps)) {
    ++found;
    if (completion->status == nic::WcStatus::kSuccess) {
      bool imm_ok = !completion->with_imm || run_.options_.ud || completion->imm == run_.result_.received;
      if (completion->wr_id != run_.result_.received || !imm_ok) ++run_.result_.out_of_order;
      ++run_.result_.received;
    }
    cq.pop();
  }
  if (posted < wanted) return now_ps + std::max(run_.options_.receive_delay_ps, cpu.post_recv_ps);
  if (found > 0 || fresh > 0) return run_.server_.host->cpu_ps(now_ps + (found + fresh) * cpu.poll_hit_ps);
  return run_.server_.host->wait(program, *run_.server_.device, run_.connection_.server_receive_cq);
}

void TransferRun::Client::take(const nic::Completion& completion, Time_ps now_ps) {
  TransferResult& result = run_.result_;
  if (completion.wr_id != done) ++result.out_of_order;
  ++done;
  result.finished_ps = now_ps;
  if (completion.status == nic::WcStatus::kSuccess) {
    ++result.completed;
    run_.ok_[completion.wr_id] = true;
  } else {
    ++result.failed;
    if (result.wc_status == 0) {
      result.wc_status = static_cast<int>(completion.status);
      result.vendor_error = completion.vendor_error;
    }
  }
}

Time_ps TransferRun::Client::step(Time_ps now_ps) {
  const host::HostModel& cpu = run_.client_.host->model();
  const TransferOptions& options = run_.options_;
  if (posted < options.count && posted - done < options.depth && run_.result_.failed == 0) {
    Time_ps doorbell_ps = now_ps + cpu.post_wqe_ps + cpu.doorbell_ps;
    bool taken = run_.client_.device->post_send(run_.connection_.qps[0].client, run_.request(posted), doorbell_ps);
    WEFT_CHECK(taken, "the send queue has room for the depth");
    ++posted;
    return run_.client_.host->cpu_ps(doorbell_ps + cpu.post_loop_ps);
  }
  nic::CompletionQueue& cq = run_.client_.device->cq(run_.connection_.client_send_cq);
  std::int64_t found = 0;
  while (const nic::Completion* completion = cq.peek(now_ps)) {
    take(*completion, now_ps);
    cq.pop();
    ++found;
  }
  if (done == posted && (posted == options.count || run_.result_.failed > 0)) return kNever_ps;
  if (found > 0) return run_.client_.host->cpu_ps(now_ps + found * cpu.poll_hit_ps);
  return run_.client_.host->wait(program, *run_.client_.device, run_.connection_.client_send_cq);
}

// Is the far end as it should be after operation `index`?
bool TransferRun::verify(std::uint64_t index) {
  switch (options_.op) {
    case TransferOp::kFetchAdd:
      return le64(local(index)) == index * kAtomicAdd;
    case TransferOp::kCompareSwap:
      return le64(local(index)) == index;
    default:
      break;
  }
  auto sent = local(index).first(options_.size_B);
  auto arrived = remote(index).subspan(payload_at_, options_.size_B);
  return std::equal(sent.begin(), sent.end(), arrived.begin());
}

// Datagrams may be lost, so the receives hold a subsequence of what was sent: each must be one of the messages behind
// the one before it.
std::uint64_t TransferRun::verified_datagrams() {
  std::uint64_t right = 0;
  std::uint64_t next = 0;
  for (std::uint64_t r = 0; r < result_.received; ++r) {
    auto arrived = remote(r).subspan(payload_at_, options_.size_B);
    while (next < options_.count && !std::equal(arrived.begin(), arrived.end(), local(next).begin())) ++next;
    if (next == options_.count) break;
    ++next;
    ++right;
  }
  return right;
}

void TransferRun::finish_phase(bool interrupted) {
  result_.posted = client_program_.posted;
  result_.stalled = !interrupted && (client_program_.done < client_program_.posted ||
                                     (client_program_.posted < options_.count && result_.failed == 0));
  if (options_.ud) {
    result_.verified = verified_datagrams();
  } else {
    for (std::uint64_t i = 0; i < options_.count; ++i) result_.verified += ok_[i] && verify(i);
  }
  result_.bytes_ok = result_.verified * (atomic(options_.op) ? 8 : options_.size_B);
}

}  // namespace weft::workload
