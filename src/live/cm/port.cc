#include "live/cm/port.h"

#include <algorithm>

#include "base/check.h"
#include "verbs/address.h"

namespace weft::live {

namespace {

constexpr std::uint32_t kSends = 128, kReceives = 128;
constexpr std::uint32_t kSignaled = kSends / 4;  // one of so many sends
constexpr std::size_t kMadReceive_B = nic::kGrh_B + wire::kMad_B;
constexpr std::uint32_t kMadMtu_B = 256;
constexpr std::uint64_t kSendId = ~std::uint64_t{0};

// The address in a GRH: of IPv4 in the last 20 of its 40 bytes (IBTA annex A17).
wire::Gid grh_address(wire::Bytes grh, std::size_t at6, std::size_t at4) {
  wire::Gid gid{};
  if (grh[0] >> 4 == 6) {
    std::copy_n(grh.begin() + static_cast<std::ptrdiff_t>(at6), 16, gid.begin());
    return gid;
  }
  return std::to_array(verbs::mapped(&grh[at4]).bytes);
}

}  // namespace

CmPort::CmPort(nic::Device& device)
    : device_(device), sends_(kSends * wire::kMad_B), receives_(kReceives * kMadReceive_B) {
  cq_ = device_.create_cq(kSends + kReceives);
  qpn_ = device_.create_qp(nic::QpType::kUd, cq_, cq_, kSends, kReceives);
  device_.set_general_services(qpn_);
  send_key_ = device_.memory().add(0, sends_.size(), {}, std::span(sends_));
  receive_key_ = device_.memory().add(0, receives_.size(), {}, std::span(receives_));
  nic::QpAttributes attributes;
  attributes.qkey = wire::kGeneralServicesQkey;
  attributes.path_mtu_B = kMadMtu_B;
  attributes.tos = 0;  // the default of Linux
  for (nic::QpState state : {nic::QpState::kInit, nic::QpState::kRtr, nic::QpState::kRts})
    WEFT_CHECK(device_.modify(qpn_, state, attributes), "a queue pair 1");
  for (std::uint32_t slot = 0; slot < kReceives; ++slot) post_receive(slot);
}

void CmPort::post_receive(std::uint32_t slot) {
  device_.post_receive(qpn_, {slot, slot * kMadReceive_B, receive_key_, static_cast<std::uint32_t>(kMadReceive_B)});
}

void CmPort::send(const wire::Mad& mad, std::uint32_t to_port, Time_ps now_ps) {
  if (!waiting_.empty() || !post(mad, to_port, now_ps)) waiting_.push_back({mad, to_port});
}

void CmPort::post_waiting(Time_ps now_ps) {
  while (!waiting_.empty() && post(waiting_.front().mad, waiting_.front().to_port, now_ps)) waiting_.pop_front();
}

// False: the queue is full. Then one of those in it is signaled.
bool CmPort::post(const wire::Mad& mad, std::uint32_t to_port, Time_ps now_ps) {
  std::size_t at = sent_ % kSends * wire::kMad_B;
  nic::SendRequest request;
  request.wr_id = kSendId;
  request.opcode = nic::WrOpcode::kSend;
  request.signaled = (sent_ + 1) % kSignaled == 0;
  request.local_va = at;
  request.lkey = send_key_;
  request.length_B = static_cast<std::uint32_t>(wire::kMad_B);
  request.dest_port = to_port;
  request.dest_qp = wire::kGeneralServicesQp;
  request.qkey = wire::kGeneralServicesQkey;
  if (!device_.post_send(qpn_, request, now_ps)) return false;
  std::copy(mad.begin(), mad.end(), sends_.begin() + static_cast<std::ptrdiff_t>(at));
  ++sent_;
  return true;
}

std::optional<CmPort::Arrival> CmPort::receive(Time_ps now_ps) {
  nic::CompletionQueue& queue = device_.cq(cq_);
  while (const nic::Completion* peeked = queue.peek(now_ps)) {
    const nic::Completion completion = *peeked;
    queue.pop();
    if (completion.wr_id >= kReceives) {
      post_waiting(now_ps);
      continue;
    }
    auto slot = static_cast<std::uint32_t>(completion.wr_id);
    wire::Bytes bytes = wire::Bytes(receives_).subspan(slot * kMadReceive_B, kMadReceive_B);
    Arrival arrival;
    arrival.source = grh_address(bytes, 8, 32);
    arrival.destination = grh_address(bytes, 24, 36);
    std::copy_n(bytes.begin() + nic::kGrh_B, wire::kMad_B, arrival.bytes.begin());
    post_receive(slot);
    bool whole = completion.status == nic::WcStatus::kSuccess && completion.byte_len == kMadReceive_B;
    if (whole && completion.src_qp == wire::kGeneralServicesQp) return arrival;
  }
  return std::nullopt;
}

}  // namespace weft::live
