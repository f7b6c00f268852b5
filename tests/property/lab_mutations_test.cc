// Any lab whatever is read, or refused with a place and a remedy: the ready labs with parts dropped, emptied, doubled,
// swapped and exchanged. What is accepted can be built. WEFT_MUTATIONS=N tries N of each lab.
#include "support/lab_mutations.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "labfile/knobs.h"
#include "labfile/reader.h"
#include "text/yaml_edit.h"
#include "world/world.h"

namespace weft::lab {
namespace {

constexpr std::size_t kLargestLab_B = 6'000;
constexpr std::size_t kMostHosts = 64;

std::string mutated;  // what a failed check is about

void show_lab(int signal) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, mutated.data(), mutated.size());
  ::signal(signal, SIG_DFL);
  raise(signal);
}

struct ReadyLab {
  std::string path;
  YamlNode root;
};

std::vector<ReadyLab> ready_labs() {
  std::vector<ReadyLab> labs;
  const std::string folder = std::string(WEFT_SOURCE_DIR) + "/labs";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    ProblemList problems;
    if (text.size() > kLargestLab_B || text.find("permutation-1024") != text.npos) continue;
    if (auto root = parse_yaml(text, problems)) labs.push_back({entry.path().string(), std::move(*root)});
  }
  std::ranges::sort(labs, {}, &ReadyLab::path);
  return labs;
}

void try_lab(const std::string& text, RandomStream& random) {
  const auto lab = read_lab(text, WEFT_SOURCE_DIR "/labs/ai/lab.yaml");
  if (!lab) {
    ASSERT_FALSE(lab.error().empty()) << text;
    for (const Problem& problem : lab.error()) {
      EXPECT_FALSE(problem.message.empty()) << text;
      EXPECT_GT(problem.line, 0) << problem.message << "\n" << text;
      EXPECT_GT(problem.column, 0) << problem.message << "\n" << text;
    }
    return;
  }
  const std::vector<Knob> knobs = knobs_of(*lab, text);
  if (!knobs.empty()) (void)edit_yaml(text, knobs[random.below(knobs.size())].path, std::nullopt);
  const bool outside = std::ranges::any_of(lab->hosts, [](const HostConfig& host) { return host.outside.has_value(); });
  if (lab->hosts.size() <= kMostHosts && !outside) World world(*lab, {});
}

TEST(LabMutations, AreReadOrRefused) {
  signal(SIGABRT, show_lab);
  signal(SIGSEGV, show_lab);
  const std::vector<ReadyLab> labs = ready_labs();
  ASSERT_GT(labs.size(), 30U);
  const char* asked = std::getenv("WEFT_MUTATIONS");
  const std::uint64_t tries = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 12;
  for (std::size_t i = 0; i < labs.size(); ++i) {
    for (std::uint64_t number = 0; number < tries; ++number) {
      RandomStream random(number, i, RandomPurpose::kTest);
      support::LabMutator mutator(labs[i].root, labs[random.below(labs.size())].root);
      const std::uint64_t changes = 1 + random.below(3);
      for (std::uint64_t change = 0; change < changes; ++change) mutator.change(random);
      mutated = mutator.text();
      try_lab(mutated, random);
    }
  }
}

}  // namespace
}  // namespace weft::lab
