#include "tools/perftest/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/nearest.h"
#include "spec/perftest_options.h"

namespace weft::workload {
namespace {

const PerftestFlag* by_letter(char letter) {
  for (const PerftestFlag& flag : perftest_flags()) {
    if (flag.letter == letter && letter != 0) return &flag;
  }
  return nullptr;
}

const PerftestFlag* by_exact_name(std::string_view name) {
  for (const PerftestFlag& flag : perftest_flags()) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

class Scanner {
 public:
  Scanner(std::span<const std::string> words, std::vector<std::string>& errors) : words_(words), errors_(errors) {}

  std::vector<FlagUse> scan() {
    bool flags_ended = false;
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (!flags_ended && word == "--") {
        flags_ended = true;
      } else if (!flags_ended && word.starts_with("--")) {
        scan_long(word);
      } else if (!flags_ended && word.size() > 1 && word[0] == '-') {
        scan_cluster(word);
      } else {
        errors_.push_back(fmt::format("{}: not a flag; the lab names the server, so leave the address out", word));
      }
    }
    return std::move(uses_);
  }

 private:
  void scan_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const std::string written = "--" + name;
    const PerftestFlag* flag = find_long(name, written);
    if (flag == nullptr) return;
    if (!flag->takes_value && equals != std::string::npos) {
      errors_.push_back(fmt::format("{}: this flag takes no value; write {}", word, written));
      return;
    }
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (flag->takes_value && !take_next_word(written, value)) {
      return;
    }
    uses_.push_back({flag, written, value});
  }

  // An exact name, or the only one that begins so.
  const PerftestFlag* find_long(std::string_view name, std::string_view written) {
    if (const PerftestFlag* exact = by_exact_name(name)) return exact;
    std::vector<const PerftestFlag*> candidates;
    for (const PerftestFlag& flag : perftest_flags()) {
      if (!name.empty() && flag.name.starts_with(name)) candidates.push_back(&flag);
    }
    const bool same_meaning = std::all_of(candidates.begin(), candidates.end(), [&](const PerftestFlag* flag) {
      return flag->id == candidates.front()->id && flag->id != FlagId::kNotModelled;
    });
    if (candidates.size() == 1 || (!candidates.empty() && same_meaning)) return candidates.front();
    if (candidates.empty()) {
      std::vector<std::string_view> names;
      for (const PerftestFlag& flag : perftest_flags()) names.push_back(flag.name);
      const std::vector<std::string> near = nearest(name, names, 1);
      errors_.push_back(near.empty()
                            ? fmt::format("{}: perftest has no such flag; see ib_write_bw --help", written)
                            : fmt::format("{}: perftest has no such flag; did you mean --{}?", written, near[0]));
      return nullptr;
    }
    std::string list;
    for (const PerftestFlag* flag : candidates) list += fmt::format("{}--{}", list.empty() ? "" : ", ", flag->name);
    errors_.push_back(fmt::format("{}: could be any of {}; write it out", written, list));
    return nullptr;
  }

  void scan_cluster(const std::string& word) {
    if (word.size() > 3) {
      const std::string name = word.substr(1, word.find('=') == std::string::npos ? word.npos : word.find('=') - 1);
      if (by_exact_name(name) != nullptr) {
        errors_.push_back(fmt::format("{}: a long flag has two dashes; write -{}", word, word));
        return;
      }
    }
    for (std::size_t at = 1; at < word.size(); ++at) {
      const std::string written = {'-', word[at]};
      const PerftestFlag* flag = by_letter(word[at]);
      if (flag == nullptr) {
        report_unknown_letter(word, word[at]);
        return;
      }
      std::string value;
      if (flag->takes_value) {
        if (at + 1 < word.size()) {
          value = word.substr(at + 1);
        } else if (!take_next_word(written, value)) {
          return;
        }
        uses_.push_back({flag, written, value});
        return;
      }
      uses_.push_back({flag, written, value});
    }
  }

  void report_unknown_letter(const std::string& word, char letter) {
    const bool is_lower = letter >= 'a' && letter <= 'z';
    const bool is_upper = letter >= 'A' && letter <= 'Z';
    const char other = static_cast<char>(is_lower ? letter - 'a' + 'A' : is_upper ? letter - 'A' + 'a' : 0);
    const PerftestFlag* near = by_letter(other);
    errors_.push_back(
        near == nullptr
            ? fmt::format("{}: perftest has no flag -{}; see ib_write_bw --help", word, letter)
            : fmt::format("{}: perftest has no flag -{}; did you mean -{} (--{})?", word, letter, other, near->name));
  }

  bool take_next_word(const std::string& written, std::string& value) {
    if (next_ >= words_.size()) {
      errors_.push_back(fmt::format("{}: needs a value after it", written));
      return false;
    }
    value = words_[next_++];
    return true;
  }

  std::span<const std::string> words_;
  std::vector<std::string>& errors_;
  std::size_t next_ = 0;
  std::vector<FlagUse> uses_;
};

}  // namespace

std::vector<FlagUse> scan_perftest_flags(std::span<const std::string> words, std::vector<std::string>& errors) {
  return Scanner(words, errors).scan();
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != 0) {
      const bool escapes =
          quote == '"' && c == '\\' && at + 1 < line.size() && (line[at + 1] == '"' || line[at + 1] == '\\');
      if (escapes) {
        word += line[++at];
      } else if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c == '\\' && at + 1 < line.size() ? line[++at] : c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace weft::workload
