// Inside the lab reader: a list of flows as CSV, for `flows: graph`. The first line names the columns, which are the
// keys of a flow in the lab file; `after` takes names with spaces between them. Empty fields are left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/yaml_tree.h"

namespace weft::lab {

// The text of the file that a lab names; it lies beside the lab. Nothing: it was reported.
std::optional<std::string> read_beside(const YamlNode& file, const std::string& lab, std::string& path,
                                       ProblemList& problems);

struct CsvFlow {
  YamlNode node;  // a map, as the lab file would have it
  std::size_t line = 0;
};
// Everything is at `place`; `path` is for messages. Reports what is wrong with the text.
std::vector<CsvFlow> read_flow_csv(std::string_view text, const std::string& path, const Place& place,
                                   ProblemList& problems);

}  // namespace weft::lab
