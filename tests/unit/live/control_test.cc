#include "live/control/control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/files.h"
#include "labfile/reader.h"
#include "live/control/tracer.h"

namespace weft::live {
namespace {

class ControlTest : public testing::Test {
 protected:
  ControlTest() {
    const std::string path = WEFT_SOURCE_DIR "/labs/live/leaf-spine-100g.yaml";
    const std::string text = *read_file(path, 1 << 20);
    lab_ = *lab::read_lab(text, path);
    lab::SessionOptions options;
    options.open_ended = true;
    session_ = std::move(*lab::Session::open(lab_, options));
    control_ = std::make_unique<Control>(*session_, lab::LiveReader(text, path, {}, {}));
  }

  struct Said {
    int error = 0;
    verbs::CommandReply head{};
    std::string text;
  };
  // What comes back for a body of any bytes.
  Said send(const std::string& body, verbs::Op op = verbs::Op::kCommand) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    Request request;
    request.op = op;
    const auto* first = reinterpret_cast<const std::byte*>(body.data());
    request.body.assign(first, first + body.size());
    control_->take(ends[0], request, now_ps_);
    char bytes[1 << 16];
    const ssize_t got = recv(ends[1], bytes, sizeof(bytes), 0);
    close(ends[1]);
    verbs::ReplyHead head{};
    Said said;
    EXPECT_GE(got, static_cast<ssize_t>(sizeof(head)));
    std::memcpy(&head, bytes, sizeof(head));
    said.error = head.error;
    if (got >= static_cast<ssize_t>(sizeof(head) + sizeof(said.head))) {
      std::memcpy(&said.head, bytes + sizeof(head), sizeof(said.head));
      said.text.assign(bytes + sizeof(head) + sizeof(said.head), bytes + got);
    }
    return said;
  }
  Said tell(const std::vector<std::string>& words, std::int64_t at_ps = verbs::kNow_ps) {
    return send(command_bytes(words, at_ps, static_cast<std::uint32_t>(words.size())));
  }
  static std::string command_bytes(const std::vector<std::string>& words, std::int64_t at_ps, std::uint32_t count) {
    const verbs::Command command{at_ps, 0, count};
    std::string body(reinterpret_cast<const char*>(&command), sizeof(command));
    for (const std::string& word : words) body += word + '\0';
    return body;
  }

  lab::Lab lab_;
  std::unique_ptr<lab::Session> session_;
  std::unique_ptr<Control> control_;
  Time_ps now_ps_ = us(1);
};

TEST_F(ControlTest, RefusesBodiesThatAreNotCommands) {
  const std::vector<std::string> words{"link", "h0:p0", "show"};
  EXPECT_EQ(send("").error, EPROTO);
  EXPECT_EQ(send("short").error, EPROTO);
  EXPECT_EQ(send(command_bytes(words, -1, 0)).error, EPROTO);
  EXPECT_EQ(send(command_bytes(words, -1, 2)).error, EPROTO);
  EXPECT_EQ(send(command_bytes(words, -1, 4)).error, EPROTO);
  EXPECT_EQ(send(command_bytes(words, -1, 0xffffffff)).error, EPROTO);
  EXPECT_EQ(send(command_bytes(words, -2, 3)).error, EPROTO);
  EXPECT_EQ(send(command_bytes(words, INT64_MAX, 3)).error, EPROTO);
  std::string unended = command_bytes(words, -1, 3);
  unended.pop_back();
  EXPECT_EQ(send(unended).error, EPROTO);
  EXPECT_EQ(send(command_bytes({"no such thing"}, -1, 1)).head.status, 2);
  EXPECT_EQ(send(command_bytes({""}, -1, 1)).head.status, 2);
  EXPECT_EQ(send(command_bytes({"no such thing"}, -1, 1), verbs::Op::kWatch).head.status, 2);
  EXPECT_EQ(tell(words).head.status, 0);
}

TEST_F(ControlTest, WordsOfAnyLengthAreNoMoreThanWrong) {
  const std::string word(60'000, 'x');
  for (const char* verb : {"link", "fault", "impair", "set", "capture"}) {
    EXPECT_EQ(tell({verb, word}).head.status, 2) << verb;
    EXPECT_EQ(tell({verb, word, word}).head.status, 2) << verb;
    EXPECT_EQ(tell({verb, "\xff\x01%s%n{}", "{}"}).head.status, 2) << verb;
  }
}

TEST_F(ControlTest, CommandsWaitForTheirMomentAndAreRecorded) {
  EXPECT_EQ(tell({"link", "leaf0:swp31", "down"}, us(5)).head.waits, 1U);
  EXPECT_EQ(tell({"link", "leaf0:swp31", "show"}).text, "leaf0:swp31 - spine0:swp1: up\n");
  EXPECT_EQ(tell({"link", "leaf0:swp31", "down"}, 0).head.status, 2) << "that has passed";
  session_->changes().make_due(us(5));
  EXPECT_EQ(tell({"link", "leaf0:swp31", "show"}).text, "leaf0:swp31 - spine0:swp1: down\n");
  const std::string log = tell({"log"}).text;
  EXPECT_NE(log.find("5 us  done     link leaf0:swp31 down"), std::string::npos) << log;
}

TEST_F(ControlTest, FaultThatCannotBeAddedLaterIsRecordedAsFailed) {
  EXPECT_EQ(tell({"fault", "remove", "3"}, us(5)).head.waits, 1U);
  session_->changes().make_due(us(5));
  const std::string log = tell({"log"}).text;
  EXPECT_NE(log.find("failed   fault remove 3 (there is no fault"), std::string::npos) << log;
}

TEST_F(ControlTest, SettingsKeepEarlierOnes) {
  EXPECT_EQ(tell({"set", "leaf0", "queues.3.ecn.max", "3 MB"}).head.status, 0);
  EXPECT_EQ(tell({"set", "leaf0", "queues.3.ecn.min", "2 MB"}).head.status, 0) << "more than the lab's max";
  const fabric::EcnRamp ramp = session_->world().fabric_switch(0).qos(1).queues[3].ecn;
  EXPECT_EQ(ramp.min_B, 2'000'000);
  EXPECT_EQ(ramp.max_B, 3'000'000);
  EXPECT_EQ(session_->world().fabric_switch(1).qos(0).queues[3].ecn.max_B, 1'500'000) << "of another switch";
}

TEST_F(ControlTest, PortKeepsItsOwnSettings) {
  const auto qos = [&](std::uint32_t port) { return session_->world().fabric_switch(0).qos(port); };
  const std::int64_t min_B = qos(0).queues[3].ecn.min_B;
  EXPECT_EQ(tell({"set", "leaf0:swp1", "queues.3.ecn.min", "90 kB"}).head.status, 0);
  EXPECT_EQ(tell({"set", "leaf0:swp1", "groups.3.alpha", "-3"}).head.status, 0);
  EXPECT_EQ(qos(0).queues[3].ecn.min_B, 90'000);
  EXPECT_EQ(qos(0).groups[3].alpha_exponent, -3);
  EXPECT_EQ(qos(1).queues[3].ecn.min_B, min_B);
  EXPECT_NE(qos(1).groups[3].alpha_exponent, -3);
  // What is set of the whole switch is for all ports, and the rest of a port's own stays.
  EXPECT_EQ(tell({"set", "leaf0", "groups.3.alpha", "-1"}).head.status, 0);
  EXPECT_EQ(qos(0).groups[3].alpha_exponent, -1);
  EXPECT_EQ(qos(1).groups[3].alpha_exponent, -1);
  EXPECT_EQ(qos(0).queues[3].ecn.min_B, 90'000);
  EXPECT_EQ(tell({"set", "leaf0:swp1", "queues.3.ecn.min", "9 MB"}).head.status, 2) << "above its max";
  EXPECT_EQ(qos(0).queues[3].ecn.min_B, 90'000);
  EXPECT_EQ(tell({"set", "h0:p0", "congestion.RPG_AI_RATE", "50"}).head.status, 0);
}

TEST(TraceFilter, TakesWhatMatchesAllThatIsGiven) {
  TraceEvent event;
  event.kind = "qp_modify";
  event.node = "h0";
  event.pid = 7;
  event.program = "rping";
  event.qpn = 0x11;
  const lab::Lab lab;
  const auto takes = [&](std::vector<std::string> words) { return read_trace_filter(lab, words)->takes(event); };
  EXPECT_TRUE(takes({}));
  EXPECT_TRUE(takes({"--event", "qp_modify"}));
  EXPECT_TRUE(takes({"--event", "mr,qp"}));
  EXPECT_FALSE(takes({"--event", "mr"}));
  EXPECT_TRUE(takes({"--qp", "0x11"}));
  EXPECT_TRUE(takes({"--qp", "17"}));
  EXPECT_FALSE(takes({"--qp", "18"}));
  EXPECT_TRUE(takes({"--process", "rping"}));
  EXPECT_TRUE(takes({"--process", "7"}));
  EXPECT_FALSE(takes({"--process", "8", "--qp", "17"}));
  EXPECT_EQ(trace_line(event), "0.000000000 h0       rping/7 qp_modify qp=0x11\n");
  EXPECT_EQ(trace_json(event),
            "{\"at_ps\":0,\"node\":\"h0\",\"event\":\"qp_modify\",\"pid\":7,\"program\":\"rping\",\"qp\":17}\n");
}

TEST(OutputStream, LosesUnitsAsWholeWhenReaderIsSlow) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
  OutputStream stream;
  stream.open(ends[0]);
  const std::string unit(1'000'000, 'x');
  int taken = 0;
  while (stream.write(unit)) ++taken;
  EXPECT_EQ(taken, 16);
  EXPECT_TRUE(stream.flush()) << "the reader is there, and slow";
  EXPECT_FALSE(stream.is_empty());
  close(ends[1]);
  EXPECT_FALSE(stream.flush());
  EXPECT_FALSE(stream.write(unit));
}

}  // namespace
}  // namespace weft::live
