#include "serve/jobs/job_slices.h"

#include <gtest/gtest.h>

#include <sstream>

namespace weft::serve {
namespace {

TEST(JobSlices, DividesTimeOfRank) {
  std::istringstream file(
      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"h0\"}},\n"
      "{\"ph\":\"M\",\"pid\":0,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"rank 0 compute\"}},\n"
      "{\"ph\":\"X\",\"pid\":0,\"tid\":1,\"ts\":10,\"dur\":20,\"name\":\"forward\",\"cat\":\"compute\",\"args\":{}},\n"
      "{\"ph\":\"M\",\"pid\":0,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"rank 0 data0\"}},\n"
      "{\"ph\":\"X\",\"pid\":0,\"tid\":2,\"ts\":25,\"dur\":15,\"name\":\"all-reduce\",\"cat\":\"communication\"},\n"
      "{\"ph\":\"M\",\"pid\":0,\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":\"rank 0 from rank 1\"}},\n"
      "{\"ph\":\"X\",\"pid\":0,\"tid\":3,\"ts\":40,\"dur\":10,\"name\":\"receive\",\"cat\":\"communication\"}\n]}\n");
  const JobTimeline timeline = read_job_timeline(file);
  EXPECT_EQ(timeline.ranks, 1u);
  ASSERT_EQ(timeline.tracks.size(), 3u);
  EXPECT_EQ(timeline.tracks[1].name, "data0");
  EXPECT_EQ(timeline.tracks[1].host, "h0");
  ASSERT_EQ(timeline.slices.size(), 3u);
  std::vector<std::tuple<SliceKind, std::int64_t, std::int64_t>> states;
  for (const JobSlice& state : timeline.states)
    states.emplace_back(state.kind, state.from_ps / 1'000'000, state.to_ps / 1'000'000);
  // Communication beside compute is not exposed, and waiting for a receive is waiting.
  EXPECT_EQ(states, (decltype(states){{SliceKind::kCompute, 10, 30},
                                      {SliceKind::kExposed, 30, 40},
                                      {SliceKind::kWait, 0, 10},
                                      {SliceKind::kWait, 40, 50}}));
}

TEST(JobSlices, LeavesOutWhatIsNoEvent) {
  std::istringstream file(
      "not "
      "json\n{\"ph\":\"X\",\"tid\":9,\"ts\":1,\"dur\":1}\n{\"ph\":7}\n{\"ph\":\"M\",\"name\":\"thread_name\",\"args\":"
      "3}\n"
      "{\"ph\":\"M\",\"tid\":1,\"pid\":0,\"name\":\"thread_name\",\"args\":{\"name\":\"rank 99999999999 x\"}}\n"
      "{\"ph\":\"M\",\"tid\":1,\"pid\":0,\"name\":\"thread_name\",\"args\":{\"name\":\"rank 1 x\"}}\n"
      "{\"ph\":\"X\",\"tid\":1,\"ts\":1e300,\"dur\":1}\n{\"ph\":\"X\",\"tid\":1,\"ts\":1,\"dur\":-1}\n{\n");
  const JobTimeline timeline = read_job_timeline(file);
  EXPECT_EQ(timeline.tracks.size(), 1u);
  EXPECT_TRUE(timeline.slices.empty());
}

}  // namespace
}  // namespace weft::serve
