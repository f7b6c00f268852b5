// Functions and classes of a C++ file as this house writes and formats it, found in the text: their names, where they
// begin, how many lines and public members they have. For the rules of size (tests/unit/shape_test.cc). No parser:
// knows namespaces, classes, functions, initialiser lists and braces, and skips what is inside a function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::support {

struct FunctionShape {
  std::string name;  // as written, "Switch::run"; of a member that is defined in its class with the class's name
  std::size_t line = 0;
  std::size_t lines = 0;  // from the first of its declaration to the closing brace
};
struct ClassShape {
  std::string name;
  std::size_t line = 0;
  std::size_t public_members = 0;  // functions; of a class that says `class`, data too
};
struct SourceShape {
  std::vector<FunctionShape> functions;
  std::vector<ClassShape> classes;
};

// The text without comments, preprocessor lines and what is in strings and characters; lines stay.
std::string bare_code(std::string_view text);
SourceShape shape_of(std::string_view text);

}  // namespace weft::support
