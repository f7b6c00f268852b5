// The timeline of a job (results/kinds/job_timeline.h) as the page draws it: tracks of ranks with pieces of compute and
// communication, and what each rank did at each moment: compute, exposed communication, or wait. Reads the file line by
// line; lines that are not events are skipped.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace weft::serve {

enum class SliceKind : std::uint8_t { kCompute, kCommunication, kExposed, kWait };

struct JobTrack {
  std::uint32_t rank = 0;
  std::string host;
  std::string name;  // "compute", "data0", "to rank 3"
};

struct JobSlice {
  std::uint32_t track = 0;  // of a state: the rank
  std::uint32_t name = 0;   // index into names
  SliceKind kind{};
  std::int64_t from_ps = 0, to_ps = 0;
};

struct JobTimeline {
  std::vector<JobTrack> tracks;
  std::vector<std::string> names;
  std::vector<JobSlice> slices;
  std::vector<JobSlice> states;  // by rank and time; they do not overlap
  std::uint32_t ranks = 0;
  std::uint64_t left_out = 0;  // slices beyond kMostSlices
  std::string note;            // of the file: which ranks it leaves out
};

constexpr std::size_t kMostSlices = 200'000;

JobTimeline read_job_timeline(std::istream& file);

}  // namespace weft::serve
