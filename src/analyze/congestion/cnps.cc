#include "analyze/congestion/cnps.h"

#include <algorithm>
#include <bit>
#include <string>

namespace weft::analyze {
namespace {

constexpr std::size_t kReserved_B = wire::kCnpReservedSize_B;
constexpr std::size_t kMostCnpsShown = 3;

std::uint64_t mixed_key(std::uint64_t one, std::uint64_t other) {
  std::uint64_t hash = one * 0x9e3779b97f4a7c15ULL ^ other;
  hash *= 0xbf58476d1ce4e5b9ULL;
  return hash ^ hash >> 29;
}

}  // namespace

CnpSender* Cnps::sender_of(PointId point, AddressId address) {
  const auto [found, is_new] =
      by_key_.try_emplace(std::uint64_t{point} << 32 | address, static_cast<std::uint32_t>(senders_.size()));
  if (is_new) {
    if (senders_.size() == kMostSenders) {
      by_key_.erase(found);
      return nullptr;
    }
    CnpSender sender;
    sender.point = point;
    sender.address = address;
    senders_.push_back(sender);
  }
  return &senders_[found->second];
}

CnpDebt* Cnps::debt_of(PointId point, AddressId receiver, AddressId sender) {
  const std::uint64_t key = mixed_key(std::uint64_t{point} << 32 | receiver, sender);
  const auto known = debts_.find(key);
  if (known != debts_.end()) return &known->second;
  if (debts_.size() == kMostReceivers) return nullptr;
  CnpDebt debt;
  debt.point = point;
  debt.receiver = receiver;
  debt.sender = sender;
  return &debts_.emplace(key, debt).first->second;
}

void Cnps::see_ce(const Frame& frame) {
  ++seen_ce_;
  CnpSender* sender = sender_of(frame.point, frame.dst);
  if (sender == nullptr) return;
  if (CnpDebt* debt = debt_of(frame.point, frame.dst, frame.src)) {
    if (debt->ce++ == 0) debt->first_ce = {frame.number, frame.time_ns, frame.point, "the first CE mark"};
    debt->first_after_cnp += sender->ce_since_cnp == 0 ? 1 : 0;
  }
  if (sender->ce++ == 0) {
    sender->first_ce_ns = frame.time_ns;
    sender->first_ce_frame = frame.number;
  }
  ++sender->ce_since_cnp;
  sender->last_ce_ns = frame.time_ns;
  if (sender->unanswered_ns == 0) sender->unanswered_ns = frame.time_ns;
  if (sender->pending_ns != 0) {
    ++sender->ce_pending;
    return;
  }
  // Marks just after a CNP are held back by its interval.
  if (sender->last_cnp_ns != 0 && frame.time_ns - sender->last_cnp_ns < kWide_ns) return;
  sender->pending_ns = frame.time_ns;
  sender->ce_pending = 1;
  sender->pending_frame = frame.number;
}

void Cnps::see_nak(const Frame& frame) {
  CnpSender* sender = sender_of(frame.point, frame.src);
  if (sender == nullptr) return;
  sender->last_nak_ns = frame.time_ns;
  if (sender->unasked_recent == 0 || frame.time_ns - sender->last_unasked_ns > kWithNak_ns) return;
  sender->unasked -= sender->unasked_recent;
  sender->after_nak += sender->unasked_recent;
  sender->unasked_recent = 0;
}

void Cnps::note_gap(CnpSender& sender, std::uint64_t scope, std::uint64_t key, std::int64_t time_ns) {
  auto& last_to = last_to_[scope - 1];
  const auto found = last_to.find(key);
  if (found == last_to.end()) {
    if (last_to.size() == kMostReceivers) {
      sender.too_many = true;
      return;
    }
    last_to.emplace(key, time_ns);
    ++(scope == 1 ? sender.addresses : sender.queue_pairs);
    return;
  }
  const std::int64_t gap_ns = time_ns - found->second;
  found->second = time_ns;
  if (sender.least_gap_ns[scope] < 0 || gap_ns < sender.least_gap_ns[scope]) sender.least_gap_ns[scope] = gap_ns;
  if (scope != 2) return;
  if (gap_ns < kClose_ns) ++sender.close;
  if (gap_ns < kDense_ns) ++sender.dense;
}

void Cnps::see_cnp(const Frame& frame) {
  ++seen_cnps_;
  check_format(frame);
  CnpSender* sender = sender_of(frame.point, frame.src);
  if (sender == nullptr) return;
  if (CnpDebt* debt = debt_of(frame.point, frame.src, frame.dst)) ++debt->cnps;
  if (sender->cnps++ == 0) sender->first_cnp = {frame.number, frame.time_ns, frame.point, "the first CNP"};
  const std::int64_t since_cnp_ns = sender->last_cnp_ns == 0 ? -1 : frame.time_ns - sender->last_cnp_ns;
  if (sender->pending_ns != 0) {
    const bool is_paced = sender->last_cnp_ns != 0 && sender->pending_ns - sender->last_cnp_ns < kAnswer_ns;
    if (!is_paced) sender->delay.add(frame.time_ns - sender->pending_ns);
    sender->pending_ns = 0;
  }
  if (sender->unanswered_ns != 0) sender->wait.add(frame.time_ns - sender->unanswered_ns);
  sender->unanswered_ns = 0;
  const bool after_nak = sender->last_nak_ns != 0 && frame.time_ns - sender->last_nak_ns < kWithNak_ns;
  // A late CNP still has its mark.
  if (sender->cnps > sender->ce && (sender->last_ce_ns == 0 || frame.time_ns - sender->last_ce_ns > kAnswer_ns)) {
    if (after_nak) {
      ++sender->after_nak;
    } else {
      if (sender->unasked++ == 0)
        sender->first_unasked = {frame.number, frame.time_ns, frame.point, "CNP without a mark in the 0.5 ms before"};
      if (frame.time_ns - sender->last_unasked_ns > kWithNak_ns) sender->unasked_recent = 0;
      ++sender->unasked_recent;
      sender->last_unasked_ns = frame.time_ns;
    }
  }
  const bool is_held_back = since_cnp_ns >= 0 && since_cnp_ns < kWide_ns;
  if (!is_held_back && sender->last_ce_ns != 0 && frame.time_ns - sender->last_ce_ns <= kAnswer_ns)
    sender->age.add(frame.time_ns - sender->last_ce_ns);
  if (since_cnp_ns >= 0) {
    if (sender->least_gap_ns[0] < 0 || since_cnp_ns < sender->least_gap_ns[0]) sender->least_gap_ns[0] = since_cnp_ns;
    if (sender->ce_since_cnp >= 2) sender->gap.add(since_cnp_ns);
  }
  const std::uint64_t own = std::uint64_t{frame.point} << 32 | frame.src;
  const std::uint64_t pair = mixed_key(own, frame.dst);
  note_gap(*sender, 1, pair, frame.time_ns);
  note_gap(*sender, 2, mixed_key(pair, frame.dest_qp), frame.time_ns);
  sender->last_cnp_ns = frame.time_ns;
  sender->ce_since_cnp = 0;
}

// Annex A17: BECN 1, PSN, SE, A and PadCnt 0, then 16 reserved bytes of zero.
void Cnps::check_format(const Frame& frame) {
  std::string wrong;
  auto note = [&wrong](bool is_wrong, const char* text) {
    if (is_wrong) wrong += (wrong.empty() ? "" : ", ") + std::string(text);
  };
  note(!frame.becn, "BECN 0");
  note(frame.psn != 0, "PSN not 0");
  note(frame.solicited, "SE 1");
  note(frame.ack_req, "AckReq 1");
  note(frame.pad_B != 0 || frame.payload_B != 0, "not 16 bytes behind the BTH");
  const std::size_t held_B = std::min(frame.payload.size(), kReserved_B);
  note(std::any_of(frame.payload.begin(), frame.payload.begin() + static_cast<std::ptrdiff_t>(held_B),
                   [](std::uint8_t byte) { return byte != 0; }),
       "reserved bytes not 0");
  if (wrong.empty()) return;
  if (malformed_++ == 0) malformed_by_ = frame.src;
  if (malformed_first_.size() < kMostCnpsShown)
    malformed_first_.push_back({frame.number, frame.time_ns, frame.point, wrong});
}

void Cnps::see_dropped(const Frame& frame) {
  const auto opcode = static_cast<std::uint8_t>(frame.opcode);
  const bool is_bad_cnp = frame.is_cnp();
  if (!is_bad_cnp && (opcode & wire::kTransportMask) != 0x80) return;
  if (malformed_++ == 0) malformed_by_ = frame.src;
  if (malformed_first_.size() < kMostCnpsShown)
    malformed_first_.push_back(
        {frame.number, frame.time_ns, frame.point,
         is_bad_cnp ? (frame.icrc == IcrcState::kBad ? "wrong ICRC" : "too short") : "opcode is not 0x81"});
}

}  // namespace weft::analyze
