#include "nccl/text/tests_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/nearest.h"

namespace weft::nccl {

namespace {

struct TestName {
  std::string_view name;
  Collective collective;
};
constexpr TestName kTests[] = {{"all_reduce", Collective::kAllReduce},
                               {"all_gather", Collective::kAllGather},
                               {"reduce_scatter", Collective::kReduceScatter},
                               {"alltoall", Collective::kAlltoAll},
                               {"broadcast", Collective::kBroadcast},
                               {"reduce", Collective::kReduce},
                               {"gather", Collective::kGather},
                               {"scatter", Collective::kScatter},
                               {"sendrecv", Collective::kSendRecv},
                               {"hypercube", Collective::kHypercube}};

constexpr DataType kTypes[] = {{"int8", 1}, {"uint8", 1}, {"int32", 4},  {"uint32", 4},   {"int64", 8},  {"uint64", 8},
                               {"half", 2}, {"float", 4}, {"double", 8}, {"bfloat16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}};
constexpr std::string_view kReductions[] = {"sum", "prod", "max", "min", "avg", "mulsum"};

// As nccl-tests reads sizes: a number, and K, M or G of 1024.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  double factor = 1;
  if (unit == "K" || unit == "k") {
    factor = 1024;
  } else if (unit == "M" || unit == "m") {
    factor = 1024.0 * 1024;
  } else if (unit == "G" || unit == "g") {
    factor = 1024.0 * 1024 * 1024;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  if (number * factor > 1e18) return std::nullopt;
  return static_cast<std::uint64_t>(number * factor);
}

struct Flag {
  char letter;
  std::string_view name, means;
};
// Those that nccl-tests has.
constexpr Flag kFlags[] = {{'t', "nthreads", ""},
                           {'g', "ngpus", ""},
                           {'b', "minbytes", ""},
                           {'e', "maxbytes", ""},
                           {'i', "stepbytes", ""},
                           {'f', "stepfactor", ""},
                           {'n', "iters", ""},
                           {'w', "warmup_iters", ""},
                           {'N', "run_cycles", ""},
                           {'m', "agg_iters", ""},
                           {'p', "parallel_init", ""},
                           {'c', "check", ""},
                           {'o', "op", ""},
                           {'d', "datatype", ""},
                           {'r', "root", ""},
                           {'z', "blocking", ""},
                           {'C', "report_cputime", ""},
                           {'a', "average", ""},
                           {'G', "cudagraph", ""},
                           {'T', "timeout", ""},
                           {'R', "local_register", ""},
                           {'J', "output_file", ""},
                           {'u', "unalign", ""},
                           {'y', "stream_null", ""},
                           {'S', "report_timestamps", "time stamps of rows are not modelled"},
                           {'M', "memory_report", "memory of a communicator is not modelled"},
                           {'I', "per_iter_timing", "times of single iterations are not reported"},
                           {'K', "per_iter_skip", "times of single iterations are not reported"},
                           {'D', "device_implementation", "kernels of the device API are not modelled"},
                           {'V', "device_cta_count", "kernels of the device API are not modelled"}};

class Parser {
 public:
  Parser(TestOptions& options, std::vector<std::string>& problems) : options_(options), problems_(problems) {}

  void parse(std::span<const std::string> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      std::string value;
      const Flag* flag = find(word, value);
      if (flag == nullptr) {
        problems_.push_back(
            fmt::format("nccl-tests has no {}; its flags are -b -e -i -f -g -t -n -w -N -m -o -d -r -c …", word));
        continue;
      }
      if (value.empty()) {
        if (i + 1 == words.size()) {
          problems_.push_back(fmt::format("{} without a value; write e.g. -b 8", word));
          return;
        }
        value = words[++i];
      }
      if (!flag->means.empty()) {
        problems_.push_back(fmt::format("-{}: {}; leave it out", flag->letter, flag->means));
        continue;
      }
      set(*flag, value);
    }
    if (options_.max_B < options_.min_B) {
      if (has_max_) {
        problems_.push_back(
            fmt::format("-e {} is less than -b {}; write the larger one after -e", options_.max_B, options_.min_B));
      } else {
        options_.max_B = options_.min_B;
      }
    }
  }

 private:
  static const Flag* find(const std::string& word, std::string& value) {
    if (word.size() < 2 || word[0] != '-') return nullptr;
    if (word[1] != '-') {
      value = word.substr(2);
      const auto flag =
          std::find_if(std::begin(kFlags), std::end(kFlags), [&](const Flag& f) { return f.letter == word[1]; });
      return flag == std::end(kFlags) ? nullptr : flag;
    }
    const std::size_t equal = word.find('=');
    const std::string name = word.substr(2, equal == word.npos ? word.npos : equal - 2);
    if (equal != word.npos) value = word.substr(equal + 1);
    const auto flag = std::find_if(std::begin(kFlags), std::end(kFlags), [&](const Flag& f) { return f.name == name; });
    return flag == std::end(kFlags) ? nullptr : flag;
  }

  void size(const Flag& flag, const std::string& text, std::uint64_t& target) {
    const auto size_B = parse_size(text);
    if (!size_B) {
      problems_.push_back(fmt::format("-{} {} is not a size; write e.g. 8, 64K, 128M or 8G", flag.letter, text));
    } else {
      target = *size_B;
    }
  }
  template <class Number>
  void number(const Flag& flag, const std::string& text, std::int64_t least, std::int64_t most, Number& target) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
      problems_.push_back(
          fmt::format("-{} {} is not a number from {} to {}; correct it", flag.letter, text, least, most));
    } else {
      target = static_cast<Number>(value);
    }
  }
  template <class Names>
  void choice(const Flag& flag, const std::string& text, const Names& names, std::vector<std::uint32_t>& target) {
    target.clear();
    std::vector<std::string_view> all{"all"};
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      all.push_back(names[i]);
      if (text == names[i] || text == "all") target.push_back(i);
    }
    if (target.empty())
      problems_.push_back(fmt::format("-{} {} is not known; write one of {}", flag.letter, text, join(all)));
  }

  void set(const Flag& flag, const std::string& text) {
    constexpr std::int64_t kMost = 1'000'000;
    switch (flag.letter) {
      case 't':
        return number(flag, text, 1, 1024, options_.threads);
      case 'g':
        return number(flag, text, 1, 1024, options_.gpus);
      case 'b':
        return size(flag, text, options_.min_B);
      case 'e':
        has_max_ = true;
        return size(flag, text, options_.max_B);
      case 'i':
        return size(flag, text, options_.step_B);
      case 'f':
        return number(flag, text, 1, kMost, options_.step_factor);
      case 'n':
        return number(flag, text, 1, kMost, options_.iterations);
      case 'w':
        return number(flag, text, 0, kMost, options_.warmup);
      case 'N':
        return number(flag, text, 1, kMost, options_.cycles);
      case 'm':
        return number(flag, text, 1, kMost, options_.aggregated);
      case 'a':
        return number(flag, text, 0, 3, options_.average);
      case 'c':
        return number(flag, text, 0, kMost, options_.check);
      case 'z':
        return number(flag, text, 0, 1, options_.blocking);
      case 'C':
        return number(flag, text, 0, 1, options_.cpu_time);
      case 'G':
        return number(flag, text, 0, kMost, options_.graph);
      case 'u':
        return number(flag, text, 0, kMost, options_.unalign);
      case 'p':
        return number(flag, text, 0, 1, options_.parallel_init);
      case 'r':
        return root(flag, text);
      case 'J':
        options_.json_file = text;
        return;
      case 'd': {
        std::vector<std::string_view> names;
        for (const DataType& type : kTypes) names.push_back(type.name);
        return choice(flag, text, names, options_.types);
      }
      case 'o':
        return choice(flag, text, std::span(kReductions), options_.operations);
      default: {  // -T, -R, -y: of a real machine; nothing here waits or registers
        std::uint32_t ignored = 0;
        return number(flag, text, 0, kMost, ignored);
      }
    }
  }
  void root(const Flag& flag, const std::string& text) {
    if (text == "all") {
      options_.root = -1;
      return;
    }
    number(flag, text, 0, 1'000'000, options_.root);
  }

  TestOptions& options_;
  std::vector<std::string>& problems_;
  bool has_max_ = false;
};

}  // namespace

std::span<const DataType> data_types() {
  return kTypes;
}
std::span<const std::string_view> reduction_names() {
  return kReductions;
}

bool switch_reduces(std::uint32_t type, std::uint32_t reduction) {
  const std::string_view element = kTypes[type].name, how = kReductions[reduction];
  if (kTypes[type].size_B == 1) return false;
  const bool extremes = element != "float" && element != "double";
  return how == "sum" || (extremes && (how == "max" || how == "min"));
}

std::vector<std::string_view> test_names() {
  std::vector<std::string_view> names;
  for (const TestName& test : kTests) names.push_back(test.name);
  return names;
}

std::string TestOptions::program() const {
  for (const TestName& test : kTests) {
    if (test.collective == collective) return std::string(test.name) + "_perf";
  }
  return "";
}

std::vector<std::uint64_t> TestOptions::sizes() const {
  std::vector<std::uint64_t> list;
  std::uint64_t size_B = min_B;
  while (size_B <= max_B) {
    list.push_back(size_B);
    const std::uint64_t next_B = step_factor > 1 ? size_B * step_factor : size_B + step_B;
    if (next_B <= size_B) break;
    size_B = next_B;
  }
  return list;
}

tl::expected<TestOptions, std::vector<std::string>> parse_tests(std::string_view test,
                                                                std::span<const std::string> words) {
  TestOptions options;
  std::vector<std::string> problems;
  const std::string_view path = test.substr(test.rfind('/') == test.npos ? 0 : test.rfind('/') + 1);
  std::string_view name = path;
  for (std::string_view end : {"_mpi", "_perf"}) {
    if (name.ends_with(end)) name.remove_suffix(end.size());
  }
  const auto found =
      std::find_if(std::begin(kTests), std::end(kTests), [&](const TestName& t) { return t.name == name; });
  if (found == std::end(kTests)) {
    problems.push_back(fmt::format("nccl-tests has no {}; {}", path, did_you_mean(name, test_names(), "tests")));
  } else {
    options.collective = found->collective;
  }
  options.words.assign(words.begin(), words.end());
  Parser(options, problems).parse(words);
  if (!problems.empty()) return tl::make_unexpected(std::move(problems));
  return options;
}

bool scales(std::uint32_t operation) {
  return kReductions[operation] == "avg" || kReductions[operation] == "mulsum";
}

bool has_reduction(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce || collective == Collective::kSendRecv;
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

std::uint64_t param_count(Collective collective, std::uint64_t size_B, std::uint32_t element_B, std::uint64_t ranks) {
  const std::uint64_t count = size_B / element_B;
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter: {
      const std::uint64_t align = std::max<std::uint64_t>(16 / element_B, 1);
      return count / ranks / align * align;
    }
    case Collective::kAlltoAll:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kHypercube:
      return count / ranks;
    default:
      return count;
  }
}

std::uint64_t row_size_B(Collective collective, std::uint64_t count, std::uint32_t element_B, std::uint64_t ranks) {
  switch (collective) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      return count * element_B;
    default:
      return count * ranks * element_B;
  }
}

double algorithm_bandwidth(Collective collective, std::uint64_t count, std::uint32_t element_B, std::uint64_t ranks,
                           double seconds) {
  double moved_B = static_cast<double>(row_size_B(collective, count, element_B, ranks));
  if (collective == Collective::kHypercube) moved_B = static_cast<double>(count * element_B * (ranks - 1));
  return seconds > 0 ? moved_B / 1e9 / seconds : 0;
}

double bus_factor(Collective collective, std::uint64_t ranks) {
  const double n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
    case Collective::kHypercube:
      return 1;
    default:
      return (n - 1) / n;
  }
}

}  // namespace weft::nccl
