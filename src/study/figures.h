// The figures of a finished run, from its results.json: results of each workload, sums over the fabric and the hosts,
// counters of ports. Runs and the cells of a sweep are compared by them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace weft::study {

struct StudyProblem {
  std::string message, remedy;
};

// kExpected: a value with an expectation in the lab that is in no other group by that name.
enum class FigureGroup : unsigned char { kWorkload, kFabric, kHosts, kPort, kExpected };

struct Figure {
  std::string name;  // "incast.goodput_Gbps", "fabric.ecn_marked", "hosts.np_cnp_sent", "h0:p0.np_cnp_sent"
  FigureGroup group = FigureGroup::kWorkload;
  double value = 0;
};

struct RunFigures {
  std::string directory;
  std::string lab;
  std::uint64_t seed = 0;
  std::vector<std::string> set;
  bool interrupted = false;
  std::size_t expectations = 0, met = 0;
  std::vector<std::string> expected;  // figures that the lab has expectations for, by their names here
  std::vector<Figure> figures;        // in the order of results.json, those of ports last
};

tl::expected<RunFigures, StudyProblem> read_figures(const std::string& directory);
// The same from the text of a results.json; the problem has no directory in it.
tl::expected<RunFigures, StudyProblem> parse_figures(const std::string& json);

// The unit at the end of a name, "Gbps" of "incast.goodput_Gbps"; empty for a count.
std::string_view unit_of(std::string_view name);
// A value as an engineer reads it: "97.8 Gb/s", "2.62 ms", "14 MB", "643".
std::string figure_text(std::string_view name, double value);

}  // namespace weft::study
