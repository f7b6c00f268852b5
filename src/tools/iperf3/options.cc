#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/nearest.h"
#include "spec/iperf3_options.h"

namespace weft::workload {

namespace {

enum class TcpFlagId : std::uint8_t {
  kTime,
  kBytes,
  kBlocks,
  kParallel,
  kCongestion,
  kLength,
  kWindow,
  kMss,
  kReverse,
  kInterval,
  kPort,
  kFormat,
  kJson,
  kTos,
  kDscp,
  kAffinity,
  kNoEffect,
  kClient,
  kNotModelled,
};

struct TcpFlag {
  TcpFlagId id;
  char letter;
  bool takes_value;
  std::string_view name;
  std::string_view remedy = {};
};

constexpr TcpFlag kTcpFlags[] = {
    {TcpFlagId::kTime, 't', true, "time"},
    {TcpFlagId::kBytes, 'n', true, "bytes"},
    {TcpFlagId::kBlocks, 'k', true, "blockcount"},
    {TcpFlagId::kParallel, 'P', true, "parallel"},
    {TcpFlagId::kCongestion, 'C', true, "congestion"},
    {TcpFlagId::kLength, 'l', true, "length"},
    {TcpFlagId::kWindow, 'w', true, "window"},
    {TcpFlagId::kMss, 'M', true, "set-mss"},
    {TcpFlagId::kReverse, 'R', false, "reverse"},
    {TcpFlagId::kInterval, 'i', true, "interval"},
    {TcpFlagId::kPort, 'p', true, "port"},
    {TcpFlagId::kFormat, 'f', true, "format"},
    {TcpFlagId::kJson, 'J', false, "json"},
    {TcpFlagId::kTos, 'S', true, "tos"},
    {TcpFlagId::kDscp, 0, true, "dscp"},
    {TcpFlagId::kAffinity, 'A', true, "affinity"},
    {TcpFlagId::kNoEffect, 'V', false, "verbose"},
    {TcpFlagId::kNoEffect, '4', false, "version4"},
    {TcpFlagId::kNoEffect, '6', false, "version6"},
    {TcpFlagId::kNoEffect, 'N', false, "no-delay"},
    {TcpFlagId::kNoEffect, 0, false, "get-server-output"},
    {TcpFlagId::kNoEffect, 0, false, "forceflush"},
    {TcpFlagId::kClient, 'c', true, "client", "the lab names the ends: leave it out"},
    {TcpFlagId::kClient, 's', false, "server", "the lab names the ends: leave it out"},
    {TcpFlagId::kNotModelled, 'u', false, "udp", "only TCP is modelled: leave it out"},
    {TcpFlagId::kNotModelled, 'b', true, "bitrate", "TCP sends as fast as it can: leave it out, or lower -w"},
    {TcpFlagId::kNotModelled, 'O', true, "omit", "leave it out, and read the later intervals"},
    {TcpFlagId::kNotModelled, 'Z', false, "zerocopy", "leave it out: the copy of every byte is modelled"},
    {TcpFlagId::kNotModelled, 0, false, "bidir", "write two workloads with a start, one with -R"},
    {TcpFlagId::kNotModelled, 0, false, "sctp", "only TCP is modelled: leave it out"},
    {TcpFlagId::kNotModelled, 'F', true, "file", "leave it out"},
};

constexpr std::string_view kAlgorithmNames[] = {"cubic", "reno", "dctcp"};

const TcpFlag* flag_by_name(std::string_view name) {
  for (const TcpFlag& flag : kTcpFlags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}
const TcpFlag* flag_by_letter(char letter) {
  for (const TcpFlag& flag : kTcpFlags) {
    if (flag.letter == letter && letter != 0) return &flag;
  }
  return nullptr;
}

// iperf3's unit_atoi: 128K, 1M, 2G, powers of 1024.
std::optional<std::uint64_t> size_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double factor = 1;
  if (suffix == "K" || suffix == "k") factor = 1024;
  if (suffix == "M" || suffix == "m") factor = 1024.0 * 1024;
  if (suffix == "G" || suffix == "g") factor = 1024.0 * 1024 * 1024;
  if (factor == 1 && !suffix.empty()) return std::nullopt;
  return static_cast<std::uint64_t>(number * factor);
}

std::optional<std::uint32_t> plain_number(std::string_view text) {
  std::uint32_t number = 0;
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

class Iperf3Parser {
 public:
  explicit Iperf3Parser(std::span<const std::string> words) : words_(words) {
    options_.words.assign(words.begin(), words.end());
  }

  tl::expected<Iperf3Options, std::vector<std::string>> parse() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (word.starts_with("--") && word.size() > 2) {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
        const TcpFlag* flag = flag_by_name(name);
        if (flag == nullptr) {
          unknown("--" + name, name);
          continue;
        }
        std::optional<std::string> value;
        if (equals != std::string::npos) value = word.substr(equals + 1);
        apply(*flag, "--" + name, std::move(value));
      } else if (word.size() > 1 && word[0] == '-') {
        const TcpFlag* flag = flag_by_letter(word[1]);
        if (flag == nullptr) {
          errors_.push_back(fmt::format("{}: iperf3 has no flag -{}; see iperf3 --help", word, word[1]));
          continue;
        }
        std::optional<std::string> value;
        if (word.size() > 2) value = word.substr(2);
        apply(*flag, word.substr(0, 2), std::move(value));
      } else {
        errors_.push_back(fmt::format("{}: not a flag; the lab names the server, so leave the address out", word));
      }
    }
    if (timed_ && options_.total_B > 0)
      errors_.emplace_back("-t and -n: a test ends after a time or after so many bytes; leave one of them out");
    if (options_.total_B > 0) options_.duration_ps = 0;
    if (!errors_.empty()) return tl::make_unexpected(std::move(errors_));
    return std::move(options_);
  }

 private:
  void unknown(const std::string& written, std::string_view name) {
    std::vector<std::string_view> names;
    for (const TcpFlag& flag : kTcpFlags) names.push_back(flag.name);
    const std::vector<std::string> near = nearest(name, names, 1);
    errors_.push_back(near.empty() ? fmt::format("{}: iperf3 has no such flag; see iperf3 --help", written)
                                   : fmt::format("{}: iperf3 has no such flag; did you mean --{}?", written, near[0]));
  }

  void apply(const TcpFlag& flag, const std::string& written, std::optional<std::string> value) {
    if (flag.takes_value && !value) {
      if (next_ >= words_.size()) {
        errors_.push_back(fmt::format("{}: needs a value after it", written));
        return;
      }
      value = words_[next_++];
    }
    if (!flag.takes_value && value) {
      errors_.push_back(fmt::format("{}: this flag takes no value; write {} {}", written, written, *value));
      return;
    }
    if (flag.id == TcpFlagId::kClient || flag.id == TcpFlagId::kNotModelled) {
      errors_.push_back(fmt::format("{} is not for a lab; {}", written, flag.remedy));
      return;
    }
    set(flag.id, written, value.value_or(""));
  }

  template <class Target>
  void number(const std::string& written, std::string_view value, std::uint32_t min, std::uint32_t max,
              Target& target) {
    const auto read = plain_number(value);
    if (read && *read >= min && *read <= max) {
      target = static_cast<std::remove_reference_t<Target>>(*read);
    } else {
      errors_.push_back(fmt::format("{} {}: not a number from {} to {}; write one of them", written, value, min, max));
    }
  }

  void seconds(const std::string& written, const std::string& value, Time_ps max_ps, Time_ps& target) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool good = error == std::errc() && end == value.data() + value.size() && number >= 0 &&
                      number * 1e12 <= static_cast<double>(max_ps);
    if (good) {
      target = static_cast<Time_ps>(number * 1e12 + 0.5);
    } else {
      errors_.push_back(
          fmt::format("{} {}: not a time in seconds; write 0 to {}", written, value, max_ps / kSecond_ps));
    }
  }

  template <class Target>
  void size(const std::string& written, std::string_view value, std::uint64_t min, std::uint64_t max, Target& target) {
    const auto read = size_of(value);
    if (read && *read >= min && *read <= max) {
      target = static_cast<std::remove_reference_t<Target>>(*read);
    } else {
      errors_.push_back(
          fmt::format("{} {}: not a size from {} to {} B; write e.g. 128K or 1M", written, value, min, max));
    }
  }

  void affinity(const std::string& written, const std::string& value) {
    const std::size_t comma = value.find(',');
    const auto first = plain_number(std::string_view(value).substr(0, comma));
    const auto second =
        comma == std::string::npos ? std::nullopt : plain_number(std::string_view(value).substr(comma + 1));
    if (!first || (comma != std::string::npos && !second)) {
      errors_.push_back(fmt::format("{} {}: not CPU or CPU,CPU; write e.g. -A 2,2", written, value));
      return;
    }
    options_.client_cpu = first;
    options_.server_cpu = second;
  }

  void set(TcpFlagId id, const std::string& written, const std::string& value) {
    constexpr std::uint64_t kTiB = std::uint64_t{1} << 40;
    switch (id) {
      case TcpFlagId::kTime:
        timed_ = true;
        seconds(written, value, 86400 * kSecond_ps, options_.duration_ps);
        if (options_.duration_ps == 0) errors_.push_back(fmt::format("{} 0 never ends; write a time", written));
        break;
      case TcpFlagId::kBytes:
        size(written, value, 1, kTiB, options_.total_B);
        break;
      case TcpFlagId::kBlocks: {
        std::uint64_t blocks = 0;
        size(written, value, 1, kTiB / options_.block_B, blocks);
        options_.total_B = blocks * options_.block_B;
        break;
      }
      case TcpFlagId::kParallel:
        number(written, value, 1, 128, options_.parallel);
        break;
      case TcpFlagId::kCongestion: {
        const auto found = std::find(std::begin(kAlgorithmNames), std::end(kAlgorithmNames), value);
        if (found == std::end(kAlgorithmNames)) {
          errors_.push_back(fmt::format("{} {}: this congestion control is not modelled; write cubic, dctcp or reno",
                                        written, value));
        } else {
          options_.algorithm = static_cast<TcpAlgorithm>(found - std::begin(kAlgorithmNames));
        }
        break;
      }
      case TcpFlagId::kLength:
        size(written, value, 1, 1 << 20, options_.block_B);
        break;
      case TcpFlagId::kWindow:
        size(written, value, 4096, std::uint64_t{512} << 20, options_.window_B);
        break;
      case TcpFlagId::kMss:
        number(written, value, 536, 9216, options_.mss_B);
        break;
      case TcpFlagId::kReverse:
        options_.reverse = true;
        break;
      case TcpFlagId::kInterval:
        seconds(written, value, 60 * kSecond_ps, options_.interval_ps);
        break;
      case TcpFlagId::kPort:
        number(written, value, 1, 65535, options_.port);
        break;
      case TcpFlagId::kFormat:
        if (value.size() == 1 && std::string_view("kmgtKMGT").find(value[0]) != std::string_view::npos) {
          options_.format = value[0];
        } else {
          errors_.push_back(fmt::format("{} {}: no such format; write one of k, m, g, t, K, M, G, T", written, value));
        }
        break;
      case TcpFlagId::kJson:
        options_.json = true;
        break;
      case TcpFlagId::kTos:
        number(written, value, 0, 255, options_.tos.emplace());
        break;
      case TcpFlagId::kDscp:
        number(written, value, 0, 63, options_.tos.emplace());
        options_.tos = static_cast<std::uint8_t>(*options_.tos << 2);
        break;
      case TcpFlagId::kAffinity:
        affinity(written, value);
        break;
      case TcpFlagId::kNoEffect:
      case TcpFlagId::kClient:
      case TcpFlagId::kNotModelled:
        break;
    }
  }

  std::span<const std::string> words_;
  std::size_t next_ = 0;
  bool timed_ = false;
  Iperf3Options options_;
  std::vector<std::string> errors_;
};

}  // namespace

tl::expected<Iperf3Options, std::vector<std::string>> parse_iperf3(std::span<const std::string> words) {
  return Iperf3Parser(words).parse();
}

std::string_view name(TcpAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

}  // namespace weft::workload
