// The rules of size: a function fits on a screen, a class has so many public members that one can know them, a folder
// so many files that one can guess them. What is larger stands in a list of exceptions that only shrinks: one that no
// longer applies fails the test.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/source_shape.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFunctionLines = 70;
constexpr std::size_t kMaxPublicMembers = 40;
constexpr std::size_t kMaxFiles = 45;

// Name, with the size that it may have at most.
using Exceptions = std::map<std::string, std::size_t>;

// By module and name.
const Exceptions kLongFunctions = {{"analyze TrafficClass::find_ecn", 90},
                                   {"analyze decode_transport", 80},
                                   {"cli run", 80},
                                   {"cli up", 100},
                                   {"gear host_plan", 90},
                                   {"labfile read_vm_nic", 80},
                                   {"live ManagementNetwork::send_datagram", 80},
                                   {"live Server::answer", 150},
                                   {"live Server::handle_hello", 90},
                                   {"live Server::wait_for_children", 80},
                                   {"live VerbsService::destroy", 80},
                                   {"live VerbsService::modify_qp", 100},
                                   {"nccl Communicator::find_nodes", 80},
                                   {"preload syscall", 100},
                                   {"serve PacketFilter::holds", 120},
                                   {"wire name", 90},
                                   {"tools Iperf3Parser::set", 80},
                                   {"model JobChecker::check_progress", 80},
                                   {"tools Parser::apply", 170},
                                   {"tools perftest_budget", 110}};
const Exceptions kLargeClasses = {{"world World", 50}};
const Exceptions kLargeFolders = {{"results", 70}, {"serve/runs", 50}, {"spec", 60}, {"wire", 50}};

fs::path source_root() {
  return fs::path(WEFT_SOURCE_DIR) / "src";
}
std::vector<fs::path> source_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source_root())) {
    const std::string extension = entry.path().extension().string();
    if (entry.is_regular_file() && (extension == ".h" || extension == ".cc")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}
support::SourceShape shape_of_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return support::shape_of(text.str());
}

// Things by name and how large each is, against a limit and its exceptions.
class Sizes {
 public:
  Sizes(std::size_t limit, const Exceptions& exceptions, std::string unit)
      : limit_(limit), exceptions_(exceptions), unit_(std::move(unit)) {}

  void add(const std::string& where, const std::string& name, std::size_t size) {
    if (size <= limit_) return;
    const auto exception = exceptions_.find(name);
    if (exception == exceptions_.end()) {
      complaints_.push_back(where + ": " + name + " has " + std::to_string(size) + " " + unit_ + ", more than " +
                            std::to_string(limit_));
    } else {
      applied_.insert(name);
      if (size > exception->second)
        complaints_.push_back(where + ": " + name + " has grown to " + std::to_string(size) + " " + unit_);
    }
  }
  std::vector<std::string> complaints() const {
    std::vector<std::string> all = complaints_;
    for (const auto& [name, size] : exceptions_) {
      if (!applied_.contains(name)) all.push_back(name + " is small enough or gone: take it off the list");
    }
    return all;
  }

 private:
  std::size_t limit_;
  const Exceptions& exceptions_;
  std::string unit_;
  std::set<std::string> applied_;
  std::vector<std::string> complaints_;
};

void expect_none(const Sizes& sizes) {
  for (const std::string& complaint : sizes.complaints()) ADD_FAILURE() << complaint;
}

TEST(Shape, FunctionsAndClassesAreShort) {
  Sizes functions(kMaxFunctionLines, kLongFunctions, "lines");
  Sizes classes(kMaxPublicMembers, kLargeClasses, "public members");
  std::size_t seen = 0;
  for (const fs::path& file : source_files()) {
    const support::SourceShape shape = shape_of_file(file);
    const std::string where = fs::relative(file, source_root()).generic_string();
    const std::string module = where.substr(0, where.find('/')) + " ";
    for (const support::FunctionShape& each : shape.functions)
      functions.add(where + ":" + std::to_string(each.line), module + each.name, each.lines);
    for (const support::ClassShape& each : shape.classes)
      classes.add(where + ":" + std::to_string(each.line), module + each.name, each.public_members);
    seen += shape.functions.size();
  }
  EXPECT_GT(seen, 4000U);
  expect_none(functions);
  expect_none(classes);
}

TEST(Shape, FoldersAreSmall) {
  std::map<std::string, std::size_t> files;
  for (const fs::path& file : source_files()) ++files[fs::relative(file.parent_path(), source_root()).generic_string()];
  Sizes folders(kMaxFiles, kLargeFolders, "files");
  for (const auto& [folder, count] : files) folders.add("src/" + folder, folder, count);
  expect_none(folders);
}

TEST(Shape, ComplaintsNameWhatIsTooLarge) {
  const Exceptions exceptions = {{"known", 90}, {"grown", 80}, {"mended", 80}};
  Sizes sizes(70, exceptions, "lines");
  sizes.add("a.cc:1", "short", 70);
  sizes.add("a.cc:2", "known", 90);
  sizes.add("a.cc:3", "grown", 81);
  sizes.add("a.cc:4", "mended", 60);
  sizes.add("a.cc:5", "long", 71);
  const std::vector<std::string> complaints = sizes.complaints();
  ASSERT_EQ(complaints.size(), 3U);
  EXPECT_EQ(complaints[0], "a.cc:3: grown has grown to 81 lines");
  EXPECT_EQ(complaints[1], "a.cc:5: long has 71 lines, more than 70");
  EXPECT_EQ(complaints[2], "mended is small enough or gone: take it off the list");
}

constexpr std::string_view kExample = R"text(// A class { in a comment.
#define BRACES(x) \
  { x }
namespace weft {
namespace {
constexpr int kTable[] = {1, 2};
const auto lambda = [](int x) { return x; };
}  // namespace

template <class T = int>
class [[nodiscard]] Pool final : public Base<T> {
 public:
  explicit Pool(int size) : size_{size}, free_(size) {
    take();
  }
  int take();
  bool operator==(const Pool&) const = default;
  int value = 3;
  enum class Kind { kA, kB };
  struct Slot {
    int a = 0, b = 0;
    int sum() const { return a + b; }
  };

 private:
  void grow();
  int size_;
};

template <class T>
int Pool<T>::take() {
  const char* text = "}";
  if (text[0] == '}') {
    return 1'000;
  }
  return 0;
}

int make_template(const Options& options = {}) {
  return 0;
}
}  // namespace weft
)text";

TEST(Shape, FindsFunctionsAndMembers) {
  const support::SourceShape shape = support::shape_of(kExample);
  std::string functions, classes;
  for (const support::FunctionShape& each : shape.functions)
    functions += each.name + " " + std::to_string(each.line) + " " + std::to_string(each.lines) + "\n";
  for (const support::ClassShape& each : shape.classes)
    classes += each.name + " " + std::to_string(each.line) + " " + std::to_string(each.public_members) + "\n";
  EXPECT_EQ(functions,
            "Pool::Pool 13 3\n"
            "Pool::Slot::sum 22 1\n"
            "Pool::take 30 8\n"
            "make_template 39 3\n");
  EXPECT_EQ(classes, "Pool 10 4\nPool::Slot 20 1\n");
}

}  // namespace
}  // namespace weft
