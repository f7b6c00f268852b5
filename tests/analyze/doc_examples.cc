#include "analyze/doc_examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/bytes.h"
#include "support/matching.h"

namespace weft::planted {
namespace {

const std::string kFence = "```\n";

std::string in_source(const std::string& file) {
  return std::string(WEFT_SOURCE_DIR) + "/" + file;
}

std::string marker(const DocExample& example) {
  return "<!-- example: " + example.row + " " + example.id + " -->\n" + kFence;
}

// From its number to the empty line behind it.
std::string paragraph_of(const std::string& page, const std::string& id) {
  const std::size_t title = page.find(" (" + id + ")\n");
  if (title == page.npos) return "";
  const std::size_t begin = page.rfind('\n', title) + 1;
  return page.substr(begin, page.find("\n\n", title) + 1 - begin);
}

}  // namespace

std::vector<DocExample> doc_examples() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("docs/checks")))
    files.push_back("docs/checks/" + entry.path().filename().string());
  std::sort(files.begin(), files.end());
  std::vector<DocExample> examples;
  for (const std::string& file : files) {
    const std::string text = support::read_file(in_source(file));
    for (const std::string& names : test::matches(text, "<!-- example: ([A-Za-z0-9]+ [a-z0-9.-]+) -->\n```\n", 1)) {
      DocExample example{file, names.substr(0, names.find(' ')), names.substr(names.find(' ') + 1), ""};
      const std::size_t begin = text.find(marker(example)) + marker(example).size();
      example.text = text.substr(begin, text.find(kFence, begin) - begin);
      examples.push_back(std::move(example));
    }
  }
  return examples;
}

void expect_printed(const DocExample& example, const std::string& page) {
  const std::string now = paragraph_of(page, example.id);
  ASSERT_NE(now, "") << example.id << " is not in the page:\n" << page;
  if (std::getenv("WEFT_REGENERATE") != nullptr && now != example.text) {
    std::string text = support::read_file(in_source(example.file));
    text.replace(text.find(marker(example)) + marker(example).size(), example.text.size(), now);
    std::ofstream(in_source(example.file)) << text;
  }
  EXPECT_EQ(example.text, now) << example.file << ": WEFT_REGENERATE=1 build/planted_matrix_test writes it anew";
}

}  // namespace weft::planted
