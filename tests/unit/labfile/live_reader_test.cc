#include "labfile/live_reader.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"

namespace weft::lab {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

LiveReader reader() {
  const std::string path = WEFT_SOURCE_DIR "/labs/live/one-switch-100g.yaml";
  return {*read_file(path, 1 << 20), path, {}, {}};
}

TEST(LiveReader, ReadsFaultInWordsOfLabFile) {
  const auto fault = reader().fault(
      std::vector<std::string>{"link=h1:p0", "action=drop", "frames=request", "qp=0", "probability=1%", "start=2 ms"},
      7);
  ASSERT_TRUE(fault.has_value()) << fault.error().message;
  EXPECT_EQ(fault->from, (PortRef{1, 0, 0}));
  EXPECT_EQ(fault->rule.name, "drop #7");
  EXPECT_EQ(fault->rule.frames, fabric::FaultFrames::kRequest);
  EXPECT_EQ(fault->rule.probability_ppb, 10'000'000U);
  EXPECT_EQ(fault->rule.start_ps, ms(2));
  const auto map = reader().fault(std::vector<std::string>{"{link: \"h1:p0\", action: cut, both_directions: true}"}, 1);
  ASSERT_TRUE(map.has_value()) << map.error().message;
  EXPECT_TRUE(map->both_directions);
}

TEST(LiveReader, RefusesFaultAsLabFileDoes) {
  const struct {
    const char* words;
    const char* message;
  } kCases[] = {{"link=h9:p0 action=drop", "there is no node \"h9\""},
                {"link=h0:p0 action=dorp", "action \"dorp\""},
                {"link=h0:p0", "action"},
                {"link=h0:p0 action=drop probability=2", "probability"},
                {"link=h0:p0 action=delay", "delay"},
                {"link=h0:p0 action=drop colour=red", "colour"},
                {"link=h0:p0 action=drop action=cut", "action is given twice"},
                {"h0:p0", "is not KEY=VALUE"},
                {"{link: [", ""},
                {"link=h0:p0 action=cut qp=3", "qp does not go with action cut"}};
  for (const auto& each : kCases) {
    const auto fault = each.words[0] == '{' ? reader().fault(std::vector<std::string>{each.words}, 1)
                                            : reader().fault(split(each.words), 1);
    ASSERT_FALSE(fault.has_value()) << each.words;
    EXPECT_NE(fault.error().message.find(each.message), std::string::npos) << fault.error().message;
    EXPECT_FALSE(fault.error().message.empty());
  }
}

TEST(LiveReader, RereadsLabWithOverride) {
  const auto lab = reader().lab_with(std::vector<std::string>{"nodes.leaf0.qos.queues.3.ecn.min=300 kB"});
  ASSERT_TRUE(lab.has_value()) << lab.error().message;
  EXPECT_EQ(lab->switches[0].qos.queues[3].ecn.min_B, 300'000);
  EXPECT_FALSE(reader().lab_with(std::vector<std::string>{"nodes.leaf0.qos.queues.3.ecn.min=30 MB"}).has_value());
}

TEST(LiveReader, ImpairmentIsWrittenInWordsThatAreRead) {
  for (const char* words : {"delay 10us", "delay 10us 2us", "delay 1ms 10us 25% distribution normal", "loss 1%",
                            "loss 0.0001% 25%", "loss gemodel 1% 10% 70% 0.1%", "corrupt 0.1%", "duplicate 2%",
                            "delay 10us reorder 25% 50% gap 5", "rate 10gbit", "rate 2.5gbit limit 5000",
                            "delay 5us 1us distribution pareto loss 1% corrupt 2% duplicate 3%"}) {
    const auto impairment = read_impairment(split(words));
    ASSERT_TRUE(impairment.has_value()) << words << ": " << impairment.error().message;
    EXPECT_EQ(impairment_text(*impairment), words);
  }
}

TEST(LiveReader, ImpairmentTakesUnitsOfTc) {
  const auto same = [](const char* a, const char* b) {
    const auto x = read_impairment(split(a)), y = read_impairment(split(b));
    ASSERT_TRUE(x.has_value()) << x.error().message;
    EXPECT_EQ(*x, *y) << a;
  };
  same("delay 10", "delay 10us");
  same("delay 10msec", "delay 10ms");
  same("latency 1sec", "delay 1s");
  same("loss random 1", "loss 1%");
  same("rate 10Gbit", "rate 10000mbit");
  same("delay 10us reorder 25%", "delay 10us reorder 25% gap 1");
  same("loss gemodel 1%", "loss gemodel 1% 99% 100% 0%");
}

TEST(LiveReader, RefusesImpairmentWithRemedy) {
  for (const char* words : {"",
                            "delay",
                            "delay fast",
                            "delay 10parsecs",
                            "loss 101%",
                            "loss -1%",
                            "loss 1 2 3",
                            "rate 10gbps",
                            "rate 0bit",
                            "reorder 25%",
                            "gap 5",
                            "limit 0",
                            "limit x",
                            "distribution normal",
                            "delay 1us 1us distribution bell",
                            "slot 1ms",
                            "loss state 1%",
                            "dealy 10us",
                            "delay 2h",
                            "delay 4000s"}) {
    const auto impairment = read_impairment(split(words));
    ASSERT_FALSE(impairment.has_value()) << words;
    EXPECT_FALSE(impairment.error().message.empty());
    EXPECT_FALSE(impairment.error().remedy.empty()) << words;
  }
}

}  // namespace
}  // namespace weft::lab
