#include "base/event_log.h"

#include <gtest/gtest.h>

#include <map>

namespace weft {
namespace {

struct Noted {
  Time_ps first_ps = 0, last_ps = 0;
  std::uint64_t count = 1;
  std::uint32_t key = 0;
  void merge(const Noted& later) {
    last_ps = later.last_ps;
    count += later.count;
  }
};

constexpr std::size_t kRoom = 100;
using Log = EventLog<Noted, kRoom>;

TEST(EventLog, KeepsEachEventWhileThereIsRoom) {
  Log log;
  for (int i = 0; i < 100; ++i) log.add(i % 3, {us(200) * i, us(200) * i, 1, 0});
  ASSERT_EQ(log.records().size(), 100U);
  EXPECT_EQ(log.records()[42].first_ps, us(8400));
  EXPECT_EQ(log.total(), 100U);
}

TEST(EventLog, EventsThatFollowCloselyAreOneRecordOfEachKey) {
  Log log;
  for (int i = 0; i < 10; ++i) log.add(i % 2, {us(40) * i, us(40) * i, 1, 0});
  ASSERT_EQ(log.records().size(), 2U);
  EXPECT_EQ(log.records()[0].count, 5U);
  EXPECT_EQ(log.records()[1].last_ps, us(360));
}

// Whatever the length of the run: nothing is lost, the records begin near its start, end near its end, and no tenth of
// it is empty.
TEST(EventLog, RecordsCoverWholeRun) {
  for (const int events : {101, 1'000, 5'000, 123'456}) {
    Log log;
    std::map<std::uint32_t, std::uint64_t> sent;
    for (int i = 0; i < events; ++i) {
      const auto key = static_cast<std::uint32_t>(i % 7);
      ++sent[key];
      log.add(key, {us(150) * i, us(150) * i, 1, key});
    }
    std::map<std::uint32_t, std::uint64_t> kept;
    std::map<Time_ps, int> tenths;
    for (const Noted& each : log.records()) {
      kept[each.key] += each.count;
      // A record stands for all of the time from its first event to its last.
      const Time_ps tenth_ps = us(150) * events / 10 + 1;
      for (Time_ps tenth = each.first_ps / tenth_ps; tenth <= each.last_ps / tenth_ps; ++tenth) ++tenths[tenth];
    }
    EXPECT_EQ(kept, sent) << events;
    EXPECT_LE(log.records().size(), kRoom);
    EXPECT_EQ(log.left_out(), 0U);
    EXPECT_EQ(tenths.size(), 10U) << events;
    for (std::size_t i = 1; i < log.records().size(); ++i)
      EXPECT_LE(log.records()[i - 1].first_ps, log.records()[i].first_ps);
  }
}

TEST(EventLog, CountsKeysThatFindNoRoom) {
  Log log;
  for (int i = 0; i < 100'000; ++i) log.add(static_cast<std::uint32_t>(i % 150), {us(3) * i, us(3) * i, 1, 0});
  EXPECT_LE(log.records().size(), kRoom);
  EXPECT_EQ(log.total(), 100'000U);
  EXPECT_GT(log.left_out(), 0U);
}

}  // namespace
}  // namespace weft
