// Which keys a pattern of flows takes, and which it needs.
#pragma once

#include <string_view>

#include "labfile/lab_fields.h"
#include "text/problem.h"
#include "text/yaml_walk.h"

namespace weft::lab {

// As a user would write it: "hosts: all".
std::string_view flow_key_example(std::string_view key);
void check_flow_keys(const MapReader& map, FlowPattern pattern, std::string_view name, ProblemList& problems);

}  // namespace weft::lab
