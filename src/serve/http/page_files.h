// The page (web/) and the ready labs (labs/), embedded in the binary. CMake writes the table.
#pragma once

#include <span>
#include <string_view>

namespace weft::serve {

struct PageFile {
  std::string_view path;  // "index.html", "app.js"
  std::string_view bytes;
};
// As vite wrote them, and the same compressed with gzip under "NAME.gz". Empty in a build without the page.
std::span<const PageFile> page_files();
// "fabric/incast-ecn.yaml", ordered by path.
std::span<const PageFile> ready_labs();
// Null when there is none.
const PageFile* find_page_file(std::string_view path);

}  // namespace weft::serve
