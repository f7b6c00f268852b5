// catalog_compiler OUT FILE…: checks catalog/*.yaml when weft is built, and writes them to OUT as C++ constants. Exit
// status 2 when a file has a mistake, each with its file, line and column; 1 when a file cannot be read or written.
#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "catalog/catalog_source.h"

int main(int argc, char** argv) {
  using namespace weft::lab;
  if (argc < 3) {
    fmt::print(stderr, "catalog_compiler OUT FILE...\n");
    return 2;
  }
  std::vector<CatalogFile> files;
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i]);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) {
      fmt::print(stderr, "{}: cannot be read\n", argv[i]);
      return 1;
    }
    files.push_back({argv[i], text.str()});
  }
  const auto catalog = Catalog::parse(files);
  if (!catalog) {
    for (const std::string& problem : catalog.error()) fmt::print(stderr, "{}\n", problem);
    return 2;
  }
  std::ofstream out(argv[1]);
  out << catalog_source(*catalog) << std::flush;
  if (!out) {
    fmt::print(stderr, "{}: cannot be written\n", argv[1]);
    return 1;
  }
  return 0;
}
