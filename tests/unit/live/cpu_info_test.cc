#include "live/view/cpu_info.h"

#include <gtest/gtest.h>

namespace weft::live {
namespace {

TEST(CpuInfo, NamesFrequencyOfCounter) {
  const std::string text = cpu_info_at_counter_frequency(
      "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor @ 2.50GHz\ncpu MHz\t\t: 2499.998\n\n"
      "processor\t: 1\nmodel name\t: Intel(R) Xeon(R) Processor @ 2.50GHz\ncpu MHz\t\t: 3100.2\n");
  EXPECT_EQ(text,
            "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor @ 1.00GHz\ncpu MHz\t\t: 1000.000\n\n"
            "processor\t: 1\nmodel name\t: Intel(R) Xeon(R) Processor @ 1.00GHz\ncpu MHz\t\t: 1000.000\n");
}

TEST(CpuInfo, KeepsModelWithoutFrequency) {
  EXPECT_EQ(cpu_info_at_counter_frequency("model name\t: AMD EPYC 7551P @ home\ncpu MHz\t\t: 1996.2\n"),
            "model name\t: AMD EPYC 7551P @ home\ncpu MHz\t\t: 1000.000\n");
}

TEST(CpuInfo, LeavesTextWithoutFrequencyToMachine) {
  EXPECT_EQ(cpu_info_at_counter_frequency("processor\t: 0\nBogoMIPS\t: 2000.00\nCPU part\t: 0xd40\n"), "");
  EXPECT_EQ(cpu_info_at_counter_frequency(""), "");
}

}  // namespace
}  // namespace weft::live
