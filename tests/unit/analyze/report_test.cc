#include <gtest/gtest.h>

#include "analyze/findings/analysis.h"

namespace weft::analyze {
namespace {

Finding lost_at(const std::string& where) {
  return {"psn.lost", where, "1 of 9 requests lost", "a buffer ran over", 1, {}, {}};
}

// Three places with one cause are one paragraph, and one error.
TEST(Report, CountsParagraphs) {
  Analysis analysis;
  for (const char* where : {"a > b", "c > d", "e > f"}) analysis.findings.add(lost_at(where));
  analysis.findings.add({"timeout.waited", "a > b", "1 retransmission", "the last packet was lost", 1, {}, {}});
  analysis.findings.sort();
  const std::string text = analysis_text(analysis);
  EXPECT_NE(text.find("findings: 1 error, 1 warning"), std::string::npos) << text;
  EXPECT_NE(text.find("\n2. warning"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n3. "), std::string::npos) << text;
}

Conversation conversation_of(std::uint64_t to_a_B, std::uint64_t to_b_B) {
  Conversation each;
  each.a = "10.0.0.1";
  each.b = "10.0.0.2";
  each.transport = "RC";
  each.messages = 3;
  each.to_a_B = to_a_B;
  each.to_b_B = to_b_B;
  each.goodput_B = to_a_B + to_b_B;
  each.goodput_bps = static_cast<double>(each.goodput_B) * 8e6;
  return each;
}

TEST(Report, GoodputOfBothDirections) {
  Analysis analysis;
  analysis.conversations = {conversation_of(1000, 3000)};
  EXPECT_NE(analysis_text(analysis).find("24.00 Gb/s + 8.00 Gb/s"), std::string::npos) << analysis_text(analysis);
  analysis.conversations = {conversation_of(0, 3000)};
  EXPECT_EQ(analysis_text(analysis).find(" + "), std::string::npos) << analysis_text(analysis);
}

// Places of one cause are one paragraph though each has remedies with its own names.
TEST(Report, RemediesOfFirstPlace) {
  Analysis analysis;
  for (const char* host : {"10.0.0.1", "10.0.0.2"}) {
    Finding finding = lost_at(host);
    finding.remedies = {{"NIC", std::string("on ") + host + ": ethtool -S IFACE"}};
    analysis.findings.add(std::move(finding));
  }
  const std::string text = analysis_text(analysis);
  EXPECT_NE(text.find("findings: 1 error"), std::string::npos) << text;
  EXPECT_NE(text.find("on 10.0.0.1: ethtool"), std::string::npos) << text;
  EXPECT_EQ(text.find("on 10.0.0.2: ethtool"), std::string::npos) << text;
  EXPECT_NE(text.find("the same at the other places"), std::string::npos) << text;
}

// What is not there is named; what is there and cannot be judged, with the reason.
TEST(Report, ChecksWithoutEnoughAreOneLine) {
  Analysis analysis;
  for (const CheckName& check : check_names()) analysis.findings.judge(check.name, 0, "frames", "no frame of it");
  analysis.findings.judge("pause", 0, "pause frames", "pauses of much of the time, and too short a capture");
  const std::string text = analysis_text(analysis);
  const std::size_t begin = text.find("\nnot enough in this capture for: integrity, ");
  ASSERT_NE(begin, std::string::npos) << text;
  EXPECT_EQ(text.find('\n', begin + 1) + 1, text.size()) << text;
  EXPECT_NE(text.find("pause (pauses of much"), std::string::npos) << text;
  EXPECT_EQ(text.find("no frame of it"), std::string::npos) << text;
}

TEST(Report, UnknownSizeIsNotZero) {
  Analysis analysis;
  analysis.conversations = {conversation_of(0, 3000)};
  EXPECT_EQ(analysis_text(analysis).find(" 0 B"), std::string::npos) << analysis_text(analysis);
  EXPECT_NE(analysis_json(analysis).find("\"message_B_most\": null"), std::string::npos);
}

}  // namespace
}  // namespace weft::analyze
