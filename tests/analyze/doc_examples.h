// Example outputs in docs/checks. A fenced block behind the line
//   <!-- example: ROW CHECK.KIND -->
// is the finding of that kind as `weft analyze` prints it for the capture of that row of the matrix.
#pragma once

#include <string>
#include <vector>

namespace weft::planted {

struct DocExample {
  std::string file;  // docs/checks/psn.md
  std::string row, id;
  std::string text;
};
std::vector<DocExample> doc_examples();

// Fails where the page that was printed for the row has another text of the finding. With WEFT_REGENERATE in the
// environment the block is written anew.
void expect_printed(const DocExample& example, const std::string& page);

}  // namespace weft::planted
