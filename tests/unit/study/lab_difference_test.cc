#include "study/lab_difference.h"

#include <gtest/gtest.h>

namespace weft::study {
namespace {

constexpr const char* kLab = R"(# a comment
version: 1
fabric: {hosts: 17, switch: sn3700c}
workloads:
  - {name: incast, size: 2 MB}
)";

TEST(LabDifference, OrderAndCommentsDoNotCount) {
  const std::vector<std::string> none;
  const auto found = lab_differences({kLab, none}, {R"(version: 1
workloads: [{size: 2 MB, name: incast}]
fabric:
  switch: sn3700c
  hosts: 17
)",
                                                    none});
  ASSERT_TRUE(found) << found.error();
  EXPECT_TRUE(found->empty());
}

TEST(LabDifference, NamesPathsAsSetTakesThem) {
  const std::vector<std::string> none, set{"workloads[incast].size=4 MB", "seed=3"};
  const auto found = lab_differences({kLab, none}, {kLab, set});
  ASSERT_TRUE(found) << found.error();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].path, "workloads[incast].size");
  EXPECT_EQ((*found)[0].a->text, "2 MB");
  EXPECT_EQ((*found)[0].a->line, 5);
  EXPECT_EQ((*found)[0].b->text, "4 MB");
  EXPECT_EQ((*found)[0].b->line, 0);
  EXPECT_EQ((*found)[1].path, "seed");
  EXPECT_FALSE((*found)[1].a);
}

TEST(LabDifference, RejectsUnreadableLab) {
  const std::vector<std::string> none, wrong{"nonsense"};
  EXPECT_FALSE(lab_differences({"{", none}, {kLab, none}));
  EXPECT_FALSE(lab_differences({kLab, none}, {kLab, wrong}));
}

}  // namespace
}  // namespace weft::study
