// workloads with `program`: commands on hosts, and what to find in what they say.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "labfile/lab_fields.h"
#include "labfile/workloads/workload_kind.h"
#include "model/workloads/program_find.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

constexpr std::size_t kMostPrograms = 256;
constexpr std::size_t kMostWords = 1000;

class ProgramReader {
 public:
  ProgramReader(workload::ProgramOptions& options, LabContext& context)
      : options_(options), context_(context), problems_(context.problems) {}

  void read(const YamlNode& node) {
    const auto* list = read_list(node, "program", problems_);
    if (list == nullptr) return;
    if (list->empty())
      problems_.add(node.place, "a workload without programs", "write e.g. - {node: vm00, command: ib_write_bw}");
    if (list->size() > kMostPrograms)
      problems_.add(node.place, fmt::format("{} programs in one workload", list->size()),
                    fmt::format("at most {}", kMostPrograms));
    for (const YamlNode& item : *list) read_program(item);
  }

 private:
  void read_program(const YamlNode& node) {
    const MapReader map(node, fmt::format("program[{}]", options_.programs.size()), kProgramKeys, problems_);
    workload::ProgramCommand& command = options_.programs.emplace_back();
    if (!map.ok()) return;
    if (const YamlNode* host = map.require("node"); host != nullptr && read_text(*host, "node", problems_)) {
      command.node = host->text;
      if (const NodeState* state = find_host(host->text, host->place, context_)) command.host = state->index;
    }
    const YamlNode* words = map.get("command");
    const YamlNode* script = map.get("script");
    if (words != nullptr && script != nullptr) {
      problems_.add(script->place, "a program with a command and a script", "leave one of them out");
    } else if (script != nullptr) {
      read_script(*script, command);
    } else if (words != nullptr || (words = map.require("command", "command: ib_write_bw -F -x 3")) != nullptr) {
      read_command(*words, command);
    }
    map.read(kProgramKeys, command);
    if (const YamlNode* find = map.get("find")) read_find(*find, command);
  }

  // One text that is split as a shell would, or a list of words.
  void read_command(const YamlNode& node, workload::ProgramCommand& command) {
    const std::size_t problems_before = problems_.size();
    if (node.is_sequence()) {
      for (const YamlNode& word : node.children) {
        if (!word.is_scalar()) {
          problems_.add(word.place, "a word of the command is not a text", "write [ib_write_bw, -F, -x, \"3\"]");
          return;
        }
        command.words.push_back(word.text);
      }
    } else if (const auto text = read_text(node, "command", problems_)) {
      if (!quotes_close(*text)) problems_.add(node.place, "a quote in the command is not closed", "close it");
      command.words = workload::split_words(*text);
    }
    if (problems_.size() != problems_before) return;
    if (command.words.empty() || command.words.front().empty())
      problems_.add(node.place, "an empty command", "write the program and its arguments: ib_write_bw -F -x 3");
    if (command.words.size() > kMostWords)
      problems_.add(node.place, fmt::format("a command of {} words", command.words.size()),
                    fmt::format("at most {}", kMostWords));
    const bool holds_zero = std::any_of(command.words.begin(), command.words.end(),
                                        [](const std::string& word) { return word.find('\0') != std::string::npos; });
    if (holds_zero) problems_.add(node.place, "a NUL character in the command", "leave it out");
  }

  // A text for a shell in which a failing command, of a pipeline too, fails the whole.
  void read_script(const YamlNode& node, workload::ProgramCommand& command) {
    const auto text = read_text(node, "script", problems_);
    if (!text) return;
    if (text->find_first_not_of(" \t\n") == std::string::npos)
      problems_.add(node.place, "an empty script", "write what a shell is to do: ib_write_bw -F -x 3 vm00 | tail -2");
    if (text->find('\0') != std::string::npos)
      problems_.add(node.place, "a NUL character in the script", "leave it out");
    command.words = {"bash", "-e", "-o", "pipefail", "-c", *text};
  }

  // As split_words sees them.
  static bool quotes_close(std::string_view text) {
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && quote != '\'') {
        ++i;
      } else if (quote != 0) {
        quote = text[i] == quote ? '\0' : quote;
      } else if (text[i] == '\'' || text[i] == '"') {
        quote = text[i];
      }
    }
    return quote == 0;
  }

  void read_find(const YamlNode& node, workload::ProgramCommand& command) {
    if (!node.is_map()) {
      problems_.add(node.place, "find is not a map", "write e.g. find: {bw: '65536 .* ([0-9.]+) +[0-9.]+'}");
      return;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const YamlKey& key = node.keys[i];
      if (!check_name(key, "find", problems_)) continue;
      if (key.text == workload::kExitMetric) {
        problems_.add(key.place, fmt::format("{} is the exit status already", workload::kExitMetric),
                      "give it another name");
      } else if (!names_.insert(key.text).second) {
        problems_.add(key.place, fmt::format("two programs of this workload find {}", in_quotes(key.text)),
                      "give each a name of its own");
      }
      const YamlNode& value = node.children[i];
      const auto pattern = read_text(value, key.text, problems_);
      if (!pattern) continue;
      if (const auto good = workload::check_pattern(*pattern); !good) {
        problems_.add(value.place, fmt::format("the pattern {} cannot be used: {}", in_quotes(*pattern), good.error()),
                      "an expression as for grep -E; one group ( ) is the value, without a group lines are counted");
        continue;
      }
      command.finds.push_back({key.text, *pattern});
    }
  }

  workload::ProgramOptions& options_;
  LabContext& context_;
  ProblemList& problems_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

const Section& kind_keys(std::type_identity<workload::ProgramOptions>) {
  return kProgramKindKeys;
}
std::string_view misfit(std::type_identity<workload::ProgramOptions>, std::string_view) {
  return "a program takes everything in its command";
}

void read_kind(std::type_identity<workload::ProgramOptions>, const YamlNode& node, WorkloadReading& reading) {
  ProgramReader(reading.workload.options.emplace<workload::ProgramOptions>(), reading.context).read(node);
}

std::vector<TextError> metric_problems(const workload::ProgramOptions& options, const WorkloadConfig& workload,
                                       std::string_view metric) {
  const std::vector<std::string_view> names = metric_names(options);
  if (std::find(names.begin(), names.end(), metric) != names.end()) return {};
  return {{fmt::format("{} does not measure {}", workload.name, in_quotes(metric)),
           "it has " + join(names) + "; more are named under find"}};
}

}  // namespace weft::lab
