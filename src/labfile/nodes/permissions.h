// What a lab file asks of the machine it is read on, beyond computing: programs that it starts, files that it names,
// ports to the outside. Found in the text alone, before anything is read or started, so that a server can refuse a lab
// from a client. The reader (reader.h) opens the files that a lab names and quotes them in its errors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/problem.h"
#include "text/yaml_tree.h"

namespace weft::lab {

// One problem for each need of a tree that overrides were applied to; `only_files`: those for which reading it opens
// files.
void find_needs(const YamlNode& root, bool only_files, ProblemList& needed);

// One problem for each, at its place; empty for a lab that needs nothing, and for a text that is no YAML.
std::vector<Problem> permissions_needed(std::string_view text, std::span<const std::string> overrides = {});

// Those of them alone for which reading the lab opens files: starting programs is up to whoever runs it.
std::vector<Problem> files_named(std::string_view text, std::span<const std::string> overrides = {});

}  // namespace weft::lab
