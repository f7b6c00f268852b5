// Sources are cited by one short name, "[mcornea-lab]", which docs/sources.md lists with title, year and place. Checked
// on the text of docs/, catalog/, labs/ and of the comments of src/ and tests/: what is cited is listed, what is listed
// is cited, pages link what they cite, and numbers that only insiders know do not come back.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/matching.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

// What prose says of a file: pages without code, comments of C++ and YAML, and all of the catalog.
std::string prose(const std::string& path, const std::string& text) {
  const bool page = path.ends_with(".md"), code = path.ends_with(".cc") || path.ends_with(".h");
  std::istringstream lines(text);
  std::string out;
  bool fenced = false;
  for (std::string line; std::getline(lines, line); out += '\n') {
    if (page) {
      fenced ^= line.starts_with("```");
      bool quoted = false;
      for (char c : line) {
        quoted ^= c == '`';
        if (!fenced && !quoted && c != '`') out += c;
      }
    } else if (code) {
      if (const std::size_t at = line.find("//"); at != line.npos) out += line.substr(at);
    } else if (path.starts_with("labs/")) {
      const std::size_t at = line.find('#');
      out += line.starts_with("description:") ? line : at == line.npos ? "" : line.substr(at);
    } else {
      out += line;
    }
  }
  return out;
}

// "[name]", but no link, no definition of one and no subscript.
std::set<std::string> cited(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t at = text.find('['); at != text.npos; at = text.find('[', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && is_name_char(text[end])) ++end;
    const char before = at == 0 ? '\n' : text[at - 1];
    if (end == at + 1 || end + 1 >= text.size() || text[end] != ']' || text[end + 1] == '(') continue;
    if (text[end + 1] == ':' && before == '\n' && text.find("sources.md#", end) == end + 3) continue;
    if (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_' || before == ']') continue;
    const std::string name = text.substr(at + 1, end - at - 1);
    if (name[0] >= 'a' && name[0] <= 'z') names.insert(name);
  }
  return names;
}

struct Document {
  std::string path;  // "docs/explain.md"
  std::string text, prose;
};
const std::vector<Document>& documents() {
  static const std::vector<Document> all = [] {
    std::vector<Document> found;
    auto add = [&](const fs::path& file) {
      const std::string path = fs::relative(file, WEFT_SOURCE_DIR).string(), extension = file.extension();
      const std::set<std::string> read = {".md", ".cc", ".h", ".yaml", ".csv"};
      if (read.count(extension) == 0 || path == "tests/unit/sources_test.cc") return;
      std::string text = text_of(file);
      std::string said = prose(path, text);
      found.push_back({path, std::move(text), std::move(said)});
    };
    add(WEFT_SOURCE_DIR "/README.md");
    for (const char* folder : {"docs", "catalog", "labs", "src", "tests"})
      for (const auto& entry : fs::recursive_directory_iterator(std::string(WEFT_SOURCE_DIR "/") + folder)) add(entry);
    return found;
  }();
  return all;
}

const std::string& sources() {
  static const std::string text = text_of(WEFT_SOURCE_DIR "/docs/sources.md");
  return text;
}
std::set<std::string> listed() {
  std::set<std::string> names;
  for (const std::string& name : test::matches(sources(), R"re(<a id="([a-z0-9-]+)"></a>\[)re", 1)) names.insert(name);
  return names;
}

// A subscript in a comment is no citation: there only names with a hyphen are taken for one that lacks its row.
bool is_citation(const Document& document, const std::string& name) {
  return document.path.ends_with(".md") || document.path.starts_with("catalog/") || name.find('-') != name.npos;
}

TEST(Sources, CitedNamesAreListedAndListedNamesCited) {
  const std::set<std::string> names = listed();
  EXPECT_GE(names.size(), 70u);
  std::set<std::string> used;
  for (const Document& document : documents()) {
    if (document.path == "docs/sources.md") continue;
    for (const std::string& name : cited(document.prose)) {
      if (names.count(name) != 0) {
        used.insert(name);
      } else {
        EXPECT_FALSE(is_citation(document, name))
            << document.path << " cites [" << name << "]: docs/sources.md lacks it";
      }
    }
  }
  for (const std::string& name : names) EXPECT_EQ(used.count(name), 1u) << "nothing cites [" << name << "]";
}

TEST(Sources, RowsHaveTitleAndPlace) {
  std::istringstream lines(sources());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| <a id=")) continue;
    const auto row = test::match(
        line, R"re(^\| <a id="([^"]+)"></a>\[([a-z0-9-]+)\] \| ([^|]+) \| [^|]*\| ([^|]+) \| ([^|]+) \|$)re");
    ASSERT_FALSE(row.empty()) << line;
    EXPECT_EQ(row[1], row[2]);
  }
}

TEST(Sources, PagesLinkCitedNames) {
  const std::set<std::string> names = listed();
  for (const Document& document : documents()) {
    if (!document.path.ends_with(".md") || document.path == "docs/sources.md") continue;
    std::set<std::string> links;
    for (const std::string& name : test::matches(document.text, R"(\n\[([a-z0-9-]+)\]: [./a-z]*sources\.md#)", 1)) {
      links.insert(name);
      const auto link = test::match(document.text, R"(\n\[)" + name + R"(\]: ([./a-z]+)#([a-z0-9-]+)\n)");
      ASSERT_FALSE(link.empty()) << document.path << ": " << name;
      EXPECT_EQ(link[2], name);
      EXPECT_TRUE(fs::exists(fs::path(WEFT_SOURCE_DIR) / fs::path(document.path).parent_path() / link[1]));
    }
    std::set<std::string> here = cited(document.prose);
    std::erase_if(here, [&](const std::string& name) { return names.count(name) == 0; });
    EXPECT_EQ(here, links) << document.path;
  }
}

TEST(Sources, InsiderNumbersAreGone) {
  const std::vector<std::string> gone = {
      R"(\b[Ff]acts (sheet|[A-Z]+ ?[0-9]|[0-9VM]))", R"((first|second|third|fourth) seed\b)",
      R"(\b(V1|V7|V1[012]|V2[23]|M[1-9]|M1[0-9]|M2[0-4])\b)", R"(listings? [0-9]{6})"};
  for (const Document& document : documents()) {
    const std::string text = test::replaced(document.prose, R"(Neoverse[- ]V1)", "Neoverse");
    for (const std::string& pattern : gone) {
      const auto found = test::match(text, pattern);
      EXPECT_TRUE(found.empty()) << document.path << ": \"" << found[0]
                                 << "\" means nothing to a stranger; cite docs/sources.md";
    }
  }
}

// Standards and papers are cited by their own names, and stand in the same page.
TEST(Sources, StandardsAndPapersAreListed) {
  std::set<std::string> wanted;
  for (const Document& document : documents()) {
    if (document.path.starts_with("tests/")) continue;
    for (const char* pattern :
         {R"(RFC ?([0-9]{3,5}))", R"(\b(802\.[13][A-Za-z]{0,2}\b))", R"(((SIGCOMM|NSDI)( 20|')[0-9]{2}))"})
      for (const std::string& name : test::matches(document.prose, pattern, 1)) wanted.insert(name);
  }
  EXPECT_GE(wanted.size(), 40u);
  for (const std::string& name : wanted) EXPECT_NE(sources().find(name), std::string::npos) << name;
}

TEST(Sources, CitationsDifferFromLinksAndSubscripts) {
  EXPECT_EQ(cited("fitted on [mcornea-lab]: 1.41; [page](page.md), a[i], [x]: sources.md#x, ([nccl] tuning.cc)"),
            (std::set<std::string>{"mcornea-lab", "nccl", "x"}));
  EXPECT_EQ(cited("end\n[nccl]: sources.md#nccl\n"), (std::set<std::string>{}));
  EXPECT_EQ(prose("docs/a.md", "a `[b]` [c]\n```\n[d]\n```\n"), "a  [c]\n\n\n\n");
}

}  // namespace
}  // namespace weft
