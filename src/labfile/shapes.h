// Values that several sections of a lab have: names of the catalog, ends of workloads, lists of CPUs.
#pragma once

#include <string_view>
#include <vector>

#include "text/fields.h"

namespace weft::lab {

std::vector<std::string_view> nic_names();
std::vector<std::string_view> host_names();
std::vector<std::string_view> gpu_names();
std::vector<std::string_view> switch_names();
std::vector<std::string_view> forwarder_names();

constexpr Value<void> endpoint_value() {
  return shaped(R"("type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}:[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")",
                "`NODE:PORT`");
}
constexpr Value<void> end_value() {
  return shaped(
      R"("type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}(:[A-Za-z0-9][A-Za-z0-9_-]{0,62}(/[0-9]+)?)?$")",
      "`NODE` or `NODE:PORT`");
}
// As Linux writes it; empty: none.
constexpr Value<void> cpu_list_value() {
  return shaped(R"("anyOf": [{"type": "string", "pattern": "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"}, )"
                R"({"type": "integer", "minimum": 0}])",
                "CPUs as Linux lists them");
}

}  // namespace weft::lab
