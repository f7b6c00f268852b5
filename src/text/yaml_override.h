// --set path=value: changes the YAML tree before it is checked.
//   nodes.vm00.nics[0].ports.p0.mtu=1500 B     a key of a map, the n-th item of a list
//   workloads[bw].args=-s 64                   the item of a list whose `name` is bw
//   links[0].cable={kind: aoc, length: 10 m}   the value is YAML
// A key that is not there is added (a misspelt one is then an unknown key, which the reader reports); a
// key with dots is found when it exists, as in expect.bw.bw_average_Gbps.min=20. A list grows by [size].
#pragma once

#include <span>
#include <string>

#include "text/yaml_tree.h"

namespace weft::lab {

void apply_overrides(YamlNode& root, std::span<const std::string> overrides, ProblemList& problems);

}  // namespace weft::lab
