// Descriptors that are closed or odd (programs/waits_odd.cc) are what they are on Linux: the same program, run
// natively, says what that is.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "interop/live_world.h"

namespace weft::interop {
namespace {

constexpr const char* kLab = "two-node-25g.yaml";

std::string probe(const Live& live, const std::string& cases) {
  const int status = live.shell("exec vm00 -- " WEFT_WAITS_PROBE " " + cases);
  EXPECT_EQ(status, 0) << cases << "\n" << live.output();
  return live.output();
}

std::string natively(const std::string& command) {
  std::string said;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return said;
  std::array<char, 256> text;
  while (std::fgets(text.data(), text.size(), pipe) != nullptr) said += text.data();
  pclose(pipe);
  return said;
}

TEST(OddDescriptors, AreThoseOfLinux) {
  const std::string linux_says = natively(WEFT_WAITS_PROBE " odd_descriptors");
  ASSERT_NE(linux_says.find("epoll_wait 0"), std::string::npos) << linux_says;
  for (const char* clock : {"virtual", "wall"}) {
    const Live live(kLab, std::string("--clock ") + clock);
    EXPECT_EQ(probe(live, "odd_descriptors"), linux_says) << clock;
  }
}

// The world reads registered memory: a page that the program does not bring in must not stop it.
TEST(OddDescriptors, UserfaultfdAnswersNoFaultOfNic) {
  const Live live(kLab);
  EXPECT_EQ(probe(live, "missing_pages"), "fails 1\n");
  EXPECT_NE(Live::ps().find("at "), std::string::npos) << "it answers";
}

}  // namespace
}  // namespace weft::interop
