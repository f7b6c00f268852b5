// A lab with its fabric template written out: the same model, from `nodes` and `links` alone. For reading what a
// template made, and for changing it by hand.
#pragma once

#include <string>

#include "model/lab.h"
#include "text/yaml_tree.h"

namespace weft::lab {

// `root` is the tree that `lab` was read from, with overrides applied.
std::string expand_lab(const Lab& lab, const YamlNode& root);
// The same from the lab's text, which was read without problems.
std::string expand_lab(const Lab& lab, std::string_view text);

}  // namespace weft::lab
