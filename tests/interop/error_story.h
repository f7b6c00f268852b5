// What a capture of one faulty RC connection says, read as IBTA vol 1, 9.7.5 would: gaps and their NAKs, go-back-N,
// duplicates. node00 sends, node01 receives, as in every lab of labs/faults.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interop/interop_support.h"
#include "wire/opcode.h"

namespace weft::interop {

using wire::Opcode;

inline constexpr std::uint8_t kNakSequence = 0x60, kNakInvalidRequest = 0x61, kNakRemoteAccess = 0x62, kRnrNak = 0x20;
inline constexpr std::uint32_t kPsns = 1 << 24;
inline constexpr std::int64_t kEpoch_ns = 1'767'225'600'000'000'000;  // stamps of a run count from here
inline const std::string kSender = "node00:p0", kReceiver = "node01:p0";

inline std::uint32_t psn_after(std::uint32_t psn, std::uint32_t by = 1) {
  return (psn + by) % kPsns;
}

inline std::unique_ptr<LabRun> run_fault_lab(const std::string& name, const std::vector<std::string>& sets = {}) {
  return run_lab_file(std::string(WEFT_SOURCE_DIR) + "/labs/faults/" + name + ".yaml", sets);
}

template <class Wanted>
std::vector<const Frame*> select(const LabRun& run, const std::string& interface, bool outbound, Wanted wanted) {
  std::vector<const Frame*> found;
  for (const Frame& frame : run.capture->frames) {
    if (frame.interface == interface && frame.outbound == outbound && wanted(frame)) found.push_back(&frame);
  }
  return found;
}

inline bool is_request(const Frame& frame) {
  return wire::is_request(frame.headers().opcode);
}
inline bool is_nak(const Frame& frame) {
  return frame.is(Opcode::kAck) && frame.headers().aeth_syndrome >= kNakSequence;
}
inline bool is_rnr(const Frame& frame) {
  return frame.is(Opcode::kAck) && (frame.headers().aeth_syndrome & 0x60) == kRnrNak;
}
inline bool is_retransmission(const Frame& frame) {
  return frame.says("retransmission");
}

// What IBTA vol 1, 9.7.5 makes of the frames that arrive at the receiver of one RC connection: one NAK for each gap,
// with the PSN that is missing; an ACK for each duplicate; messages counted once.
struct ReceiverStory {
  std::vector<const Frame*> naks;
  std::size_t accepted = 0, duplicates = 0, messages = 0;
};

inline ReceiverStory follow_receiver(const LabRun& run) {
  ReceiverStory story;
  std::optional<std::uint32_t> expected;
  bool in_gap = false;
  std::vector<std::pair<std::uint32_t, std::int64_t>> gaps;  // PSN that is missing, since when
  for (const Frame& frame : run.capture->frames) {
    if (frame.interface != kReceiver) continue;
    if (frame.outbound && is_nak(frame)) story.naks.push_back(&frame);
    if (frame.outbound || !is_request(frame) || !frame.roce.icrc_ok) continue;
    const std::uint32_t psn = frame.headers().psn;
    if (!expected) expected = psn;
    const std::uint32_t ahead = (psn - *expected) % kPsns;
    if (ahead == 0) {
      in_gap = false;
      ++story.accepted;
      story.messages += wire::is_last(frame.headers().opcode) || wire::is_only(frame.headers().opcode);
      expected = psn_after(psn);
    } else if (ahead >= kPsns / 2) {
      ++story.duplicates;
    } else if (!in_gap) {
      in_gap = true;
      gaps.emplace_back(*expected, frame.time_ns);
    }
  }
  EXPECT_EQ(story.naks.size(), gaps.size()) << "one NAK for each gap";
  for (std::size_t i = 0; i < std::min(gaps.size(), story.naks.size()); ++i) {
    EXPECT_EQ(story.naks[i]->headers().aeth_syndrome, kNakSequence);
    EXPECT_EQ(story.naks[i]->headers().psn, gaps[i].first) << "NAK " << i << " names the missing PSN";
    EXPECT_GT(story.naks[i]->time_ns, gaps[i].second);
  }
  return story;
}

// Go-back-N: what is retransmitted after a NAK begins with the NAK's PSN and goes on from there.
inline void expect_go_back_n(const LabRun& run) {
  const auto naks = select(run, kSender, false, is_nak);
  for (std::size_t i = 0; i < naks.size(); ++i) {
    const std::int64_t until_ns = i + 1 < naks.size() ? naks[i + 1]->time_ns : INT64_MAX;
    std::uint32_t next = naks[i]->headers().psn;
    bool begun = false;
    for (const Frame* frame : select(run, kSender, true, is_request)) {
      if (frame->time_ns <= naks[i]->time_ns || frame->time_ns >= until_ns) continue;
      begun = begun || is_retransmission(*frame);
      if (!begun) continue;  // already on its way when the NAK came
      ASSERT_EQ(frame->headers().psn, next)
          << "frame " << frame->number << " after the NAK of frame " << naks[i]->number;
      next = psn_after(next);
    }
    // A NAK that another follows at once need not be answered itself.
    EXPECT_TRUE(begun || i + 1 < naks.size()) << "nothing was retransmitted after frame " << naks[i]->number;
  }
}

inline void expect_delivered(const LabRun& run, std::uint64_t count) {
  EXPECT_EQ(run.status, run.meant_status()) << run.output;
  EXPECT_EQ(run.transfer().at("completed"), count);
  EXPECT_EQ(run.transfer().at("failed"), 0);
  EXPECT_EQ(run.transfer().at("verified"), count);
  EXPECT_EQ(run.transfer().at("out_of_order"), 0);
}

// [simllm] golden test: one for one in go-back-N.
inline void expect_sequence_errors(const LabRun& run, std::uint64_t naks) {
  EXPECT_EQ(run.counter(kReceiver, "out_of_sequence"), naks);
  EXPECT_EQ(run.counter(kSender, "packet_seq_err"), naks);
}

}  // namespace weft::interop
