// Every lab of labs/faults, run with a capture that must show why it ended as it did: the fault in a comment, the
// answer of the protocol to it, and the counters that a real NIC shows for it ([fault-characterization]).
#include <gtest/gtest.h>

#include <algorithm>

#include "interop/error_story.h"
#include "wire/opcode.h"

namespace weft::interop {
namespace {

TEST(ErrorCaptures, Loss) {
  const auto run = run_fault_lab("loss");
  expect_delivered(*run, 20);
  const auto dropped = select(*run, kSender, true, [](const Frame& f) { return f.says("dropped by fault"); });
  EXPECT_GE(dropped.size(), 2u);
  EXPECT_TRUE(dropped[0]->says("sixth packet"));
  const auto sent = select(*run, kSender, true, is_request);
  EXPECT_EQ(sent.size() - dropped.size(), select(*run, kReceiver, false, is_request).size());
  EXPECT_EQ(dropped[0]->headers().psn, psn_after(sent[0]->headers().psn, 5));

  const ReceiverStory story = follow_receiver(*run);
  ASSERT_FALSE(story.naks.empty());
  EXPECT_EQ(story.naks[0]->headers().psn, dropped[0]->headers().psn);
  EXPECT_EQ(story.messages, 20u);
  expect_go_back_n(*run);
  expect_sequence_errors(*run, story.naks.size());
  EXPECT_EQ(run->counter(kSender, "retransmitted_packets"), select(*run, kSender, true, is_retransmission).size());
}

TEST(ErrorCaptures, Corrupt) {
  const auto run = run_fault_lab("corrupt");
  expect_delivered(*run, 10);
  const auto bad = select(*run, kReceiver, false, [](const Frame& f) { return !f.roce.icrc_ok; });
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_TRUE(bad[0]->says("corrupted"));
  const ReceiverStory story = follow_receiver(*run);
  ASSERT_EQ(story.naks.size(), 1u);
  EXPECT_EQ(story.naks[0]->headers().psn, bad[0]->headers().psn);
  expect_go_back_n(*run);
  expect_sequence_errors(*run, 1);
  EXPECT_EQ(run->counter(kReceiver, "rx_icrc_encapsulated"), 1u);
}

TEST(ErrorCaptures, Reorder) {
  const auto run = run_fault_lab("reorder");
  expect_delivered(*run, 10);
  const auto late = select(*run, kSender, true, [](const Frame& f) { return f.says("delayed"); });
  ASSERT_EQ(late.size(), 1u);
  const ReceiverStory story = follow_receiver(*run);
  ASSERT_FALSE(story.naks.empty());
  EXPECT_EQ(story.naks[0]->headers().psn, late[0]->headers().psn);
  const auto arrived =
      select(*run, kReceiver, false, [&](const Frame& f) { return f.headers().psn == late[0]->headers().psn; });
  ASSERT_FALSE(arrived.empty());
  EXPECT_GE(arrived[0]->time_ns - late[0]->time_ns, 3000);
  expect_go_back_n(*run);
  expect_sequence_errors(*run, story.naks.size());
}

struct DuplicateCase {
  std::string transfer;
  std::string size;
};
class DuplicateCaptures : public testing::TestWithParam<DuplicateCase> {};

TEST_P(DuplicateCaptures, AreAnsweredButNotExecutedTwice) {
  const auto run = run_fault_lab(
      "duplicate", {"workloads[w].transfer=" + GetParam().transfer, "workloads[w].size=" + GetParam().size});
  expect_delivered(*run, 10);
  const auto copied = select(*run, kSender, true, [](const Frame& f) { return f.says("duplicated"); });
  ASSERT_EQ(copied.size(), 1u);
  const auto copies = select(*run, kReceiver, false, [&](const Frame& f) {
    return is_request(f) && f.headers().psn == copied[0]->headers().psn;
  });
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_TRUE(
      std::equal(copies[0]->bytes.begin(), copies[0]->bytes.end(), copies[1]->bytes.begin(), copies[1]->bytes.end()));
  const auto answers = select(*run, kReceiver, true, [&](const Frame& f) {
    const bool positive = wire::has_aeth(f.headers().opcode) && f.headers().aeth_syndrome < kRnrNak;
    return positive && f.time_ns > copies[1]->time_ns &&
           (f.headers().psn - copies[1]->headers().psn) % kPsns < kPsns / 2;
  });
  ASSERT_FALSE(answers.empty()) << "the copy is answered";
  EXPECT_LT(answers[0]->time_ns - copies[1]->time_ns, 5000);
  if (GetParam().transfer == "fetch-add") {
    const auto same = select(*run, kReceiver, true, [&](const Frame& f) {
      return f.is(Opcode::kAtomicAck) && f.headers().psn == copies[1]->headers().psn;
    });
    ASSERT_EQ(same.size(), 2u) << "an atomic is answered from what was saved";
    EXPECT_EQ(same[0]->headers().atomic_original, same[1]->headers().atomic_original);
  }
  const auto acks = select(*run, kReceiver, true, [](const Frame& f) { return wire::has_aeth(f.headers().opcode); });
  EXPECT_EQ(acks.back()->headers().msn, 10u) << "ten messages, whatever came twice";
  EXPECT_EQ(run->transfer().at("received"), GetParam().transfer == "send" ? 10 : 0);
  EXPECT_TRUE(select(*run, kSender, true, is_retransmission).empty());
  EXPECT_EQ(run->counter(kReceiver, "duplicate_request"), 1u);
  expect_sequence_errors(*run, 0);
}

INSTANTIATE_TEST_SUITE_P(Operations, DuplicateCaptures,
                         testing::Values(DuplicateCase{"write", "64 KiB"}, DuplicateCase{"send", "64 KiB"},
                                         DuplicateCase{"send", "4 KiB"}, DuplicateCase{"fetch-add", "8 B"}));

// Each RNR NAK carries the timer, and the packet comes again when it has run out, not before.
void expect_rnr_waits(const LabRun& run, std::uint8_t timer, std::int64_t wait_ns) {
  constexpr std::int64_t kReaction_ns = 5000;
  for (const Frame* nak : select(run, kSender, false, is_rnr)) {
    EXPECT_EQ(nak->headers().aeth_syndrome, kRnrNak | timer);
    const auto again =
        select(run, kSender, true, [&](const Frame& f) { return is_request(f) && f.time_ns > nak->time_ns; });
    if (again.empty()) continue;                                  // the last try
    if (again[0]->headers().psn != nak->headers().psn) continue;  // the next connection
    EXPECT_GE(again[0]->time_ns - nak->time_ns, wait_ns);
    EXPECT_LT(again[0]->time_ns - nak->time_ns, wait_ns + kReaction_ns);
    EXPECT_TRUE(is_retransmission(*again[0]));
  }
}

TEST(ErrorCaptures, ReceiverNotReady) {
  const auto run = run_fault_lab("rnr");
  expect_delivered(*run, 10);
  const auto naks = select(*run, kReceiver, true, is_rnr);
  ASSERT_GE(naks.size(), 4u);
  expect_rnr_waits(*run, 12, 640'000);
  // `never`: the first try and rnr_retry more.
  const std::uint32_t never_psn = naks.back()->headers().psn;
  EXPECT_EQ(
      select(*run, kSender, true, [&](const Frame& f) { return is_request(f) && f.headers().psn == never_psn; }).size(),
      3u);
  EXPECT_EQ(run->transfer(1).at("wc_status"), 13);
  EXPECT_EQ(run->counter(kReceiver, "out_of_buffer"), naks.size());
  EXPECT_EQ(run->counter(kSender, "rnr_nak_retry_err"), naks.size());
  EXPECT_EQ(run->counter(kSender, "req_rnr_retries_exceeded"), 1u);
}

// One request that is refused ([fault-characterization]).
struct RefusalCase {
  std::string name;
  std::string workload;
  std::uint8_t syndrome;
  std::uint32_t psn;  // of the refused packet, from the first
  int wc_status, vendor_error;
  std::vector<std::pair<std::string, std::uint64_t>> sender, receiver;
};
class Refusals : public testing::TestWithParam<RefusalCase> {};

TEST_P(Refusals, SendOneNakAndReportErrorOfRealNic) {
  const RefusalCase& c = GetParam();
  const auto run = run_fault_lab(
      "wrong-rkey",
      {"expect={}", "workloads[w]={name: w, client: node00, server: node01, timeout: 8, " + c.workload + "}"});
  ASSERT_EQ(run->status, run->meant_status()) << run->output;
  const auto requests = select(*run, kSender, true, is_request);
  const auto answers = select(*run, kReceiver, true, [](const Frame& f) { return f.is(Opcode::kAck); });
  ASSERT_FALSE(requests.empty());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0]->headers().aeth_syndrome, c.syndrome);
  EXPECT_EQ(answers[0]->headers().psn, psn_after(requests[0]->headers().psn, c.psn));
  EXPECT_EQ(answers[0]->headers().msn, 0u);
  EXPECT_TRUE(select(*run, kSender, true, is_retransmission).empty());
  EXPECT_EQ(run->transfer().at("wc_status"), c.wc_status);
  EXPECT_EQ(run->transfer().at("vendor_error"), c.vendor_error);
  EXPECT_EQ(run->transfer().at("completed"), 0);
  EXPECT_EQ(run->counter(kSender, "req_cqe_error"), 1u);
  for (const auto& [name, value] : c.sender) EXPECT_EQ(run->counter(kSender, name), value) << name;
  for (const auto& [name, value] : c.receiver) EXPECT_EQ(run->counter(kReceiver, name), value) << name;
}

std::string refusal_name(const testing::TestParamInfo<RefusalCase>& info) {
  return info.param.name;
}

const std::vector<std::pair<std::string, std::uint64_t>> kResponderCountsOnlyTheWrite = {
    {"rx_write_requests", 1}, {"resp_remote_access_errors", 0}, {"resp_cqe_error", 0}};

INSTANTIATE_TEST_SUITE_P(Facts510, Refusals,
                         testing::Values(RefusalCase{"wrong_rkey",
                                                     "transfer: write, size: 4 KiB, misuse: wrong-rkey",
                                                     kNakRemoteAccess,
                                                     0,
                                                     10,
                                                     0x88,
                                                     {{"req_remote_access_errors", 1}},
                                                     kResponderCountsOnlyTheWrite},
                                         // Half of it fits: packets go to memory one by one.
                                         RefusalCase{"beyond_region",
                                                     "transfer: write, size: 16 KiB, misuse: beyond-region",
                                                     kNakRemoteAccess,
                                                     2,
                                                     10,
                                                     0x88,
                                                     {{"req_remote_access_errors", 1}},
                                                     kResponderCountsOnlyTheWrite},
                                         RefusalCase{"no_remote_write",
                                                     "transfer: write, size: 4 KiB, misuse: no-remote-write",
                                                     kNakInvalidRequest,
                                                     0,
                                                     9,
                                                     0x8a,
                                                     {{"req_remote_invalid_request", 1}},
                                                     kResponderCountsOnlyTheWrite},
                                         RefusalCase{"no_receive",
                                                     "transfer: send, size: 4 KiB, misuse: no-receive, rnr_retry: 0",
                                                     kRnrNak | 12,
                                                     0,
                                                     13,
                                                     0x87,
                                                     {{"rnr_nak_retry_err", 1}, {"req_rnr_retries_exceeded", 1}},
                                                     {{"out_of_buffer", 1}}},
                                         RefusalCase{"read_wrong_rkey",
                                                     "transfer: read, size: 4 KiB, misuse: wrong-rkey",
                                                     kNakRemoteAccess,
                                                     0,
                                                     10,
                                                     0x88,
                                                     {{"req_remote_access_errors", 1}},
                                                     {{"rx_read_requests", 1}}}),
                         refusal_name);

TEST(ErrorCaptures, WrongRkeyLab) {
  const auto run = run_fault_lab("wrong-rkey");
  EXPECT_EQ(run->status, run->meant_status()) << run->output;
  EXPECT_EQ(select(*run, kReceiver, true, is_nak).size(), 1u);
}

std::vector<std::int64_t> gaps_between(const std::vector<const Frame*>& frames) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < frames.size(); ++i) gaps.push_back(frames[i]->time_ns - frames[i - 1]->time_ns);
  return gaps;
}

void expect_dead_peer(const LabRun& run, std::size_t transmissions) {
  EXPECT_EQ(run.status, run.meant_status()) << run.output;
  const auto sent = select(run, kSender, true, is_request);
  ASSERT_EQ(sent.size(), transmissions);
  for (const Frame* frame : sent) {
    EXPECT_EQ(frame->headers().psn, sent[0]->headers().psn);
    EXPECT_EQ(is_retransmission(*frame), frame != sent[0]);
  }
  EXPECT_TRUE(select(run, kReceiver, true, [](const Frame&) { return true; }).empty()) << "a dead peer does not answer";
  EXPECT_EQ(run.transfer().at("wc_status"), 12);
  EXPECT_EQ(run.transfer().at("vendor_error"), 0x81);
  EXPECT_EQ(run.counter(kSender, "req_transport_retries_exceeded"), 1u);
  EXPECT_EQ(run.counter(kSender, "req_cqe_error"), 1u);
}

TEST(ErrorCaptures, DeadPeerWithConnectXTimeouts) {
  const auto run = run_fault_lab("dead-peer");
  expect_dead_peer(*run, 14);
  const auto gaps = gaps_between(select(*run, kSender, true, is_request));
  constexpr std::int64_t kRegular_ns = (std::int64_t{2} * 4096) << 16;
  // When a ConnectX-6 retransmitted (docs/calibration.md), in 4.19 ms: the first timeout is a tick late.
  constexpr std::int64_t kEarly[] = {2, 1, 2, 4, 8, 16, 24, 48};
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const std::int64_t expected_ns = i < std::size(kEarly) ? kEarly[i] * (4096 << 10) : kRegular_ns;
    EXPECT_NEAR(static_cast<double>(gaps[i]), static_cast<double>(expected_ns), 1000) << i;
  }
  EXPECT_NEAR(run->transfer().at("elapsed_ns").get<double>(), 3661.8e6, 0.001 * 3661.8e6) << "measured on a ConnectX-6";
  EXPECT_EQ(run->counter(kSender, "local_ack_timeout_err"), 6u);
  EXPECT_EQ(run->counter(kSender, "roce_adp_retrans"), 8u);
}

TEST(ErrorCaptures, DeadPeerWithFormulaTimeouts) {
  const auto run = run_fault_lab("dead-peer", {"nodes.node00.nics[0].set={ack_timeout_mode: formula}", "expect={}"});
  expect_dead_peer(*run, 8);
  for (const std::int64_t gap_ns : gaps_between(select(*run, kSender, true, is_request)))
    EXPECT_NEAR(static_cast<double>(gap_ns), 4096 << 14, 1000);
  EXPECT_NEAR(run->transfer().at("elapsed_ns").get<double>(), 8 * (4096 << 14), 1e5);
  EXPECT_EQ(run->counter(kSender, "roce_adp_retrans"), 0u);
}

TEST(ErrorCaptures, CongestionMarks) {
  constexpr std::int64_t kPacing_ns = 4000, kReaction_ns = 2000;
  const auto run = run_fault_lab("ce-mark");
  expect_delivered(*run, 100);
  const auto marked = select(*run, kReceiver, false, [](const Frame& f) { return (f.headers().tos & 3) == 3; });
  EXPECT_EQ(marked.size(), select(*run, kSender, true, [](const Frame& f) { return f.says("CE-marked"); }).size());
  const auto cnps = select(*run, kReceiver, true, [](const Frame& f) { return f.is(Opcode::kCnp); });
  ASSERT_FALSE(cnps.empty());
  const auto acks = select(*run, kReceiver, true, [](const Frame& f) { return f.is(Opcode::kAck); });
  for (const Frame* cnp : cnps) {
    EXPECT_TRUE(cnp->headers().becn);
    EXPECT_EQ(cnp->headers().tos >> 2, 48);
    EXPECT_EQ(cnp->headers().dest_qp, acks[0]->headers().dest_qp);
    EXPECT_EQ(cnp->headers().psn, 0u);
    EXPECT_TRUE(std::any_of(
        marked.begin(), marked.end(),
        [&](const Frame* ce) { return ce->time_ns < cnp->time_ns && cnp->time_ns - ce->time_ns < kReaction_ns; }))
        << "no mark before frame " << cnp->number;
  }
  // A little less than the pacing: a CNP can wait for the port behind a packet.
  for (const std::int64_t gap_ns : gaps_between(cnps)) EXPECT_GE(gap_ns, kPacing_ns - 400);
  // A mark has its CNP, or comes within the pacing of one.
  for (const Frame* ce : marked) {
    EXPECT_TRUE(std::any_of(cnps.begin(), cnps.end(),
                            [&](const Frame* cnp) {
                              return cnp->time_ns > ce->time_ns - kPacing_ns &&
                                     cnp->time_ns < ce->time_ns + kReaction_ns;
                            }))
        << "frame " << ce->number;
  }
  EXPECT_EQ(run->counter(kReceiver, "np_ecn_marked_roce_packets"), marked.size());
  EXPECT_EQ(run->counter(kReceiver, "np_cnp_sent"), cnps.size());
  EXPECT_EQ(run->counter(kSender, "rp_cnp_handled") + run->counter(kSender, "rp_cnp_ignored"), cnps.size());
}

TEST(ErrorCaptures, Flap) {
  const auto run = run_fault_lab("flap");
  expect_delivered(*run, 20);
  const auto is_down = [](std::int64_t us) { return us >= 500 && us < 5000 && (us - 500) % 2200 < 200; };
  std::vector<const Frame*> first_lost;
  bool was_down = false;
  const auto sent = select(*run, kSender, true, is_request);
  for (const Frame* frame : sent) {
    const bool down = is_down((frame->time_ns - kEpoch_ns) / 1000);
    EXPECT_EQ(down, frame->says("link down")) << "frame " << frame->number;
    if (down && !was_down) first_lost.push_back(frame);
    was_down = down;
  }
  EXPECT_GE(first_lost.size(), 2u);
  for (const Frame* first : first_lost) {
    EXPECT_TRUE(std::any_of(sent.begin(), sent.end(),
                            [&](const Frame* f) {
                              return f->time_ns > first->time_ns && is_retransmission(*f) && !f->says("link down") &&
                                     f->headers().psn == first->headers().psn;
                            }))
        << "frame " << first->number << " never came again";
  }
  const auto lost = std::count_if(sent.begin(), sent.end(), [](const Frame* f) { return f->says("link down"); });
  EXPECT_EQ(select(*run, kReceiver, false, is_request).size(), sent.size() - static_cast<std::size_t>(lost));
  const ReceiverStory story = follow_receiver(*run);
  EXPECT_EQ(story.messages, 20u);
  expect_sequence_errors(*run, story.naks.size());
}

// A new lab in labs/faults needs a test here.
TEST(ErrorCaptures, CoverEveryFaultLab) {
  const std::vector<std::string> known = {"ce-mark", "corrupt", "dead-peer", "duplicate", "flap",
                                          "loss",    "reorder", "rnr",       "wrong-rkey"};
  for (const auto& entry : std::filesystem::directory_iterator(std::string(WEFT_SOURCE_DIR) + "/labs/faults")) {
    EXPECT_TRUE(std::find(known.begin(), known.end(), entry.path().stem()) != known.end()) << entry.path();
  }
}

}  // namespace
}  // namespace weft::interop
