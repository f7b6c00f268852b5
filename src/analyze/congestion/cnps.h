// Check 14, CNPs: a receiver that gets CE-marked packets tells their senders (IBTA annex A17). Who answers, how soon,
// at which interval, and whether the CNPs are well formed. Everything is kept by receiver and capture point; the point
// that counts is the one nearest to the receiver, where the most marks are seen and the answer comes soonest.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/findings/finding.h"
#include "analyze/streams/stream_marks.h"
#include "base/log_histogram.h"

namespace weft::analyze {

struct CnpSender {
  PointId point = 0;
  AddressId address = 0;  // receiver of the data, sender of the CNPs
  std::uint64_t ce = 0, cnps = 0;
  std::uint64_t ce_pending = 0;  // marks since pending_ns
  std::uint64_t unasked = 0, after_nak = 0;
  std::uint64_t close = 0, dense = 0;  // CNPs to one queue pair less than kClose_ns, kDense_ns apart
  std::uint64_t unasked_recent = 0;    // within kWithNak_ns before the newest of them
  std::int64_t last_unasked_ns = 0;
  std::int64_t last_cnp_ns = 0, last_ce_ns = 0, last_nak_ns = 0;
  std::int64_t pending_ns = 0;  // first mark without an answer; 0: none
  std::uint64_t pending_frame = 0, ce_since_cnp = 0;
  std::int64_t unanswered_ns = 0;  // first mark since the newest CNP; 0: none
  std::int64_t first_ce_ns = 0;
  std::uint64_t first_ce_frame = 0;
  Evidence first_unasked{}, first_cnp{};
  LogHistogram delay{};                          // from the mark to the CNP, where no CNP came just before
  LogHistogram gap{};                            // between CNPs, whoever they go to, while marks come
  LogHistogram wait{};                           // from the first mark since a CNP to the next one
  LogHistogram age{};                            // of the newest mark at a CNP that no interval has held back
  std::int64_t least_gap_ns[3] = {-1, -1, -1};   // port, address, queue pair
  std::uint64_t addresses = 0, queue_pairs = 0;  // that got CNPs
  bool too_many = false;                         // not all gaps of queue pairs are known
};

// CNPs that one receiver owes one sender of data, at one point.
struct CnpDebt {
  PointId point = 0;
  AddressId receiver = 0, sender = 0;
  std::uint64_t ce = 0, cnps = 0;
  std::uint64_t first_after_cnp = 0;  // marks that were the first ones since the receiver's CNP before
  Evidence first_ce{};
};

class Cnps {
 public:
  void see(const Frame& frame, const Streams&) {
    if (frame.ce() && frame.payload_B > 0) see_ce(frame);
    if (frame.is_cnp()) see_cnp(frame);
    // A packet cut by a short snap length may have been a NAK.
    const bool is_unread = !frame.has_aeth && frame.operation() == wire::Opcode::kAck;
    if (is_unread || (frame.has_aeth && frame.syndrome >> 5 == 3)) see_nak(frame);
  }
  // A frame that NICs drop: one of the CNP's group of opcodes that is not 0x81.
  void see_dropped(const Frame& frame);
  void finish(Findings& findings, const Reading& reading);
  const std::vector<CnpSender>& senders() const { return senders_; }

  static constexpr std::int64_t kAnswer_ns =
      500'000;  // ten times DCQCN's interval: marks that wait longer are not answered
  static constexpr std::int64_t kLate_ns = 50'000;  // DCQCN's own interval between CNPs
  static constexpr std::int64_t kClose_ns = 1'000;
  static constexpr std::int64_t kDense_ns = kLate_ns / 4;
  // A CNP may come with a NAK, before or after it (slow restart of ConnectX-5 and later).
  static constexpr std::int64_t kWithNak_ns = 100'000;
  static constexpr std::int64_t kWide_ns = 200'000;
  static constexpr std::size_t kMostSenders = 4096, kMostReceivers = 65'536;

 private:
  CnpDebt* debt_of(PointId point, AddressId receiver, AddressId sender);
  CnpSender* sender_of(PointId point, AddressId address);
  void see_ce(const Frame& frame);
  void see_cnp(const Frame& frame);
  void see_nak(const Frame& frame);
  void check_format(const Frame& frame);
  void note_gap(CnpSender& sender, std::uint64_t scope, std::uint64_t key, std::int64_t time_ns);
  void find_missing(Findings& findings, const Reading& reading, const CnpSender& sender) const;
  void find_unequal(Findings& findings, const Reading& reading, const CnpSender& receiver) const;
  static void find_lost(Findings& findings, const Reading& reading);
  static void find_strays(Findings& findings, const Reading& reading);
  static std::string lateness(const CnpSender& sender);
  void find_timing(Findings& findings, const Reading& reading, const CnpSender& sender) const;
  void find_unasked(Findings& findings, const Reading& reading, const CnpSender& sender) const;
  void find_pacing(Findings& findings, const Reading& reading, const CnpSender& sender) const;
  bool answers_are_visible(const Reading& reading, const CnpSender& sender) const;

  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;  // point and address
  std::vector<CnpSender> senders_;
  std::unordered_map<std::uint64_t, CnpDebt> debts_;            // by a hash of its point and addresses
  std::unordered_map<std::uint64_t, std::int64_t> last_to_[2];  // last CNP to an address, a queue pair
  std::uint64_t seen_ce_ = 0, seen_cnps_ = 0;
  std::uint64_t malformed_ = 0;
  std::vector<Evidence> malformed_first_{};
  AddressId malformed_by_ = kNone;
};

}  // namespace weft::analyze
