#include "study/sweep_metrics.h"

#include <gtest/gtest.h>

namespace weft::study {
namespace {

TEST(SweepMetrics, NamesBeginWithSubjects) {
  const std::vector<std::string> subjects = {"h0:p0", "bw", "incast.two"};
  for (const char* name :
       {"bw.results.MsgRate", "fabric.drops", "hosts.np_cnp_sent", "h0:p0.np_cnp_sent", "end_ns", "incast.two.done"})
    EXPECT_FALSE(check_metric_subjects({name}, subjects)) << name;
  const auto wrong = check_metric_subjects({"bw.results.MsgRate", "goodput_Gbps"}, subjects);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->message.find("--metric goodput_Gbps"), std::string::npos);
  EXPECT_NE(wrong->remedy.find("bw., "), std::string::npos) << wrong->remedy;
  for (const char* name : {"", " ", "bw", "bw.", "h1:p0.x", "fabricated.x"})
    EXPECT_TRUE(check_metric_subjects({name}, subjects)) << name;
}

TEST(SweepMetrics, SaysNearNamesFirst) {
  const std::vector<std::string> known = {"incast.goodput_Gbps", "incast.jain", "fabric.ecn_marked", "fabric.drops"};
  EXPECT_FALSE(check_metrics({"incast.jain"}, known));
  EXPECT_FALSE(check_metrics({"whatever"}, {}));  // no run has ended
  const auto near = check_metrics({"incast.goodput_gbps"}, known);
  ASSERT_TRUE(near);
  EXPECT_TRUE(near->remedy.starts_with("did you mean incast.goodput_Gbps")) << near->remedy;
  const auto other = check_metrics({"hosts.drops"}, known);
  ASSERT_TRUE(other);
  EXPECT_NE(other->remedy.find("fabric.drops"), std::string::npos) << other->remedy;
  const auto far = check_metrics({"incast.zzzzzzzzzzzzzz"}, known);
  ASSERT_TRUE(far);
  EXPECT_NE(far->remedy.find("incast.jain"), std::string::npos) << far->remedy;
}

}  // namespace
}  // namespace weft::study
