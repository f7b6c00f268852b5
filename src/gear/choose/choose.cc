#include "gear/choose/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest.h"
#include "gear/vm/cpus.h"

namespace weft::gear {
namespace {

// The buffers of AI switches are 32 to 64 MB ([firstpasslab]); chips of campus switches have a tenth of that.
constexpr double kDeepBuffer_MB = 32;

struct NeedWord {
  std::string_view kind, word;
  std::vector<std::string> all_of, any_of;
  std::string_view number = "";
  double least = 0;
};

const std::vector<NeedWord>& all_need_words() {
  static const std::vector<NeedWord> words = {
      {"switch", "roce", {"pfc", "ecn"}, {}},
      {"switch", "pfc", {"pfc"}, {}},
      {"switch", "ecn", {"ecn"}, {}},
      {"switch", "int", {"int"}, {}},
      {"switch", "ifa", {"int"}, {}},
      {"switch", "wjh", {"wjh"}, {}},
      {"switch", "telemetry", {}, {"int", "wjh"}},
      {"switch", "erspan", {"erspan"}, {}},
      {"switch", "trimming", {"trimming"}, {}},
      {"switch", "adaptive-routing", {"adaptive_routing"}, {}},
      {"switch", "dlb", {"adaptive_routing"}, {}},
      {"switch", "sonic", {"sonic"}, {}},
      {"switch", "deep-buffer", {}, {}, "buffer_MB", kDeepBuffer_MB},
      // The criteria of [homelab] for a switch for verification at home.
      {"switch", "homelab", {"pfc", "ecn", "sonic"}, {"int", "wjh"}, "buffer_MB", kDeepBuffer_MB},
      {"nic", "roce", {"roce"}, {}},
      {"nic", "dcqcn", {"dcqcn"}, {}},
      {"nic", "programmable", {"programmable"}, {}},
      {"nic", "infiniband", {"infiniband"}, {}},
      {"nic", "uec", {"uec"}, {}},
      {"nic", "gpudirect", {"gpudirect"}, {}},
      {"gpu", "gpudirect", {"gpudirect"}, {}},
      {"gpu", "open-stack", {"open_stack"}, {}},
      {"gpu", "frameworks", {"frameworks"}, {}},
      {"host", "gpudirect", {"gpudirect"}, {}},
      {"host", "turnkey", {"turnkey"}, {}},
      {"host", "nic-swap", {"nic_swap"}, {}},
  };
  return words;
}

struct NeedNumber {
  std::string_view kind, word, field, unit;
};
constexpr NeedNumber kNeedNumbers[] = {
    {"switch", "buffer", "buffer_MB", "MB"}, {"gpu", "memory", "memory_GB", "GB"}, {"host", "slots", "pcie_slots", ""}};

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    return std::nullopt;
  return value;
}

std::string need_examples(std::string_view kind) {
  const auto words = need_words(kind);
  std::string ports = kind == "gpu" ? "" : "; ports as 100G>=8";
  for (const NeedNumber& number : kNeedNumbers) {
    if (number.kind == kind) ports += fmt::format("; {}>=32{}", number.word, number.unit);
  }
  return fmt::format("a {} can be asked for {}{}", kind, join(words), ports);
}

Planned<Need> parse_need(std::string_view text, std::string_view kind) {
  Need need;
  need.text = text;
  const auto wrong = [&] { return plan_error(fmt::format("--need {} is not known", text), need_examples(kind)); };
  const std::size_t at = text.find(">=");
  const std::string_view left = stripped(text.substr(0, at));
  if (at == text.npos && !left.ends_with('G')) {
    for (const NeedWord& word : all_need_words()) {
      if (word.kind != kind || word.word != left) continue;
      need.all_of = word.all_of;
      need.any_of = word.any_of;
      need.number = word.number;
      need.least = word.least;
      return need;
    }
    const auto words = need_words(kind);
    const auto near = nearest(left, words, 1);
    return near.empty()
               ? Planned<Need>(wrong())
               : Planned<Need>(plan_error(fmt::format("--need {} is not known", text),
                                          fmt::format("did you mean {}? {}", near.front(), need_examples(kind))));
  }
  std::string_view right = at == text.npos ? std::string_view("1") : stripped(text.substr(at + 2));
  if (left.ends_with('G') && kind != "gpu") {
    const auto rate = parse_count(left.substr(0, left.size() - 1), 3200);
    const auto count = parse_count(right, 4096);
    if (!rate || !count || *rate == 0 || *count == 0) return wrong();
    need.rate_G = *rate;
    need.ports = *count;
    return need;
  }
  for (const NeedNumber& number : kNeedNumbers) {
    if (number.kind != kind || number.word != left) continue;
    if (right.ends_with(number.unit)) right = stripped(right.substr(0, right.size() - number.unit.size()));
    const auto least = plain_number(right);
    if (!least) return wrong();
    need.number = number.field;
    need.least = *least;
    return need;
  }
  return wrong();
}

Answer worst(Answer a, Answer b) {
  if (a == Answer::kNo || b == Answer::kNo) return Answer::kNo;
  return a == Answer::kUnknown || b == Answer::kUnknown ? Answer::kUnknown : Answer::kYes;
}

// A port that must run at `rate_G` is one of that rate or a faster one. Breakout is not counted.
Answer has_ports(const MarketDevice& device, std::uint32_t rate_G, std::uint32_t count) {
  const auto ways = device.ports();
  if (ways.empty()) return Answer::kUnknown;
  for (const auto& groups : ways) {
    std::uint32_t found = 0;
    for (const MarketPorts& group : groups) found += group.rate_G >= rate_G ? group.count : 0;
    if (found >= count) return Answer::kYes;
  }
  return Answer::kNo;
}

// A range that lies on both sides of the limit is not known.
Answer at_most(const std::optional<NumberRange>& value, double limit) {
  if (!value) return Answer::kUnknown;
  return value->high <= limit ? Answer::kYes : value->low > limit ? Answer::kNo : Answer::kUnknown;
}
Answer at_least(const std::optional<NumberRange>& value, double limit) {
  if (!value) return Answer::kUnknown;
  return value->low >= limit ? Answer::kYes : value->high < limit ? Answer::kNo : Answer::kUnknown;
}

Answer meets(const MarketDevice& device, const Need& need) {
  Answer answer = Answer::kYes;
  for (const std::string& field : need.all_of) answer = worst(answer, device.answer(field));
  if (!need.any_of.empty()) {
    Answer any = Answer::kNo;
    for (const std::string& field : need.any_of) {
      const Answer one = device.answer(field);
      if (one == Answer::kYes || (one == Answer::kUnknown && any == Answer::kNo)) any = one;
    }
    answer = worst(answer, any);
  }
  if (need.rate_G > 0) answer = worst(answer, has_ports(device, need.rate_G, need.ports));
  if (!need.number.empty()) answer = worst(answer, at_least(device.number(need.number), need.least));
  return answer;
}

Answer fits_circuit(const MarketDevice& device, const Circuit& circuit) {
  const auto voltage = device.number("voltage");
  if (voltage && (circuit.volts < voltage->low || circuit.volts > voltage->high)) return Answer::kNo;
  return at_most(max_watts(device), circuit.continuous_W());
}

}  // namespace

std::vector<std::string_view> need_words(std::string_view kind) {
  std::vector<std::string_view> words;
  for (const NeedWord& word : all_need_words()) {
    if (word.kind == kind) words.push_back(word.word);
  }
  return words;
}

Planned<std::vector<Need>> parse_needs(std::string_view text, std::string_view kind) {
  std::vector<Need> needs;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view one = stripped(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    if (one.empty()) return plan_error("--need has an empty word", need_examples(kind));
    auto need = parse_need(one, kind);
    if (!need) return tl::unexpected(need.error());
    needs.push_back(std::move(*need));
  }
  return needs;
}

Planned<Circuit> parse_circuit(std::string_view text, const Market& market) {
  for (const MarketDevice* named : market.of_kind("circuit")) {
    std::string country = named->name.substr(named->name.find('-') + 1);
    for (char& c : country) c = static_cast<char>(c - 'A' + 'a');
    const auto volts = named->number("volts"), amps = named->number("amps");
    if (text == country && volts && amps) return Circuit{volts->low, amps->low};
  }
  const std::size_t volt = text.find('V'), amp = text.find('A');
  if (volt != text.npos && amp != text.npos && volt < amp && stripped(text.substr(amp + 1)).empty()) {
    const auto volts = plain_number(stripped(text.substr(0, volt)));
    const auto amps = plain_number(stripped(text.substr(volt + 1, amp - volt - 1)));
    if (volts && amps && *volts > 0 && *amps > 0 && *volts <= 1000 && *amps <= 1000) return Circuit{*volts, *amps};
  }
  return plan_error(fmt::format("--circuit {} is no circuit", text), "write '100 V 15 A', or one of jp, us, eu");
}

std::size_t Choice::count(Answer answer) const {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(), [&](const Check& check) { return check.answer == answer; }));
}

std::optional<std::pair<double, bool>> watts_of(const MarketDevice& device) {
  if (const auto max = device.number("power_max_W")) return std::pair(max->high, true);
  if (const auto typical = device.number("power_typical_W")) return std::pair(typical->high, false);
  return std::nullopt;
}

std::optional<NumberRange> max_watts(const MarketDevice& device) {
  const auto watts = watts_of(device);
  if (!watts) return std::nullopt;
  if (watts->second) return NumberRange{watts->first, watts->first};
  // Range over the switches of the list that have both: N9K-93180YC-FX (260 and 425 W) to SN2700 (150 and 398 W).
  constexpr NumberRange kMaxOverTypical{1.6, 2.7};
  return NumberRange{watts->first * kMaxOverTypical.low, watts->first * kMaxOverTypical.high};
}

std::string watts_text(const MarketDevice& device) {
  const auto watts = watts_of(device);
  if (!watts) return "watts not known";
  if (watts->second) return fmt::format("{:g} W at most", watts->first);
  const NumberRange most_W = *max_watts(device);
  return fmt::format("{:g} W typical, at most {:.0f} to {:.0f} W (estimate)", watts->first, most_W.low, most_W.high);
}

std::string price_text(const MarketDevice& device) {
  const MarketRow* row = device.price_row();
  if (row == nullptr) return "not known";
  const auto range = parse_range(row->value);
  const std::string_view currency = std::string_view(row->field).ends_with("EUR") ? "EUR" : "USD";
  const std::string_view state = std::string_view(row->field).starts_with("price_used") ? "used" : "new";
  return fmt::format("{} {} {}", range ? range_text(*range) : row->value, currency, state);
}

std::string circuit_text(const MarketDevice& device, const Circuit& circuit) {
  const auto voltage = device.number("voltage");
  const std::string continuous = fmt::format("{:g} V {:g} A carries {:g} W for long ({:g} VA at its peak)",
                                             circuit.volts, circuit.amps, circuit.continuous_W(), circuit.peak_VA());
  if (voltage && (circuit.volts < voltage->low || circuit.volts > voltage->high))
    return fmt::format("{}; its power supplies take {:g} to {:g} V", continuous, voltage->low, voltage->high);
  const auto watts = watts_of(device);
  if (!watts || watts->first <= 0) return continuous + "; the device's watts are not known";
  const auto how_many = [&](double each_W) { return static_cast<long>(std::floor(circuit.continuous_W() / each_W)); };
  const NumberRange most_W = *max_watts(device);
  const long least = how_many(most_W.high), most = how_many(most_W.low);
  return fmt::format("{}: {} of these at {}", continuous,
                     least == most ? std::to_string(least) : fmt::format("{} to {}", least, most), watts_text(device));
}

void add_lacks(const MarketDevice& device, std::vector<std::string>& cannot, std::vector<std::string>& not_known) {
  struct Feature {
    std::string_view kind, field, name;
  };
  static constexpr Feature kFeatures[] = {{"switch", "trimming", "packet trimming"},
                                          {"switch", "int", "INT"},
                                          {"switch", "wjh", "WJH"},
                                          {"switch", "adaptive_routing", "adaptive routing"},
                                          {"switch", "erspan", "ERSPAN"},
                                          {"switch", "sonic", "SONiC"},
                                          {"nic", "roce", "RoCE"},
                                          {"nic", "dcqcn", "DCQCN"},
                                          {"nic", "programmable", "programmable congestion control"},
                                          {"nic", "gpudirect", "GPUDirect RDMA"},
                                          {"nic", "uec", "UEC"},
                                          {"gpu", "gpudirect", "GPUDirect RDMA"},
                                          {"gpu", "frameworks", "full support of frameworks"},
                                          {"host", "nic_swap", "another NIC"},
                                          {"host", "gpudirect", "GPUDirect RDMA"}};
  for (const Feature& feature : kFeatures) {
    if (feature.kind != device.kind) continue;
    const Answer answer = device.answer(feature.field);
    if (answer == Answer::kNo) cannot.emplace_back(feature.name);
    if (answer == Answer::kUnknown) not_known.emplace_back(feature.name);
  }
  if (device.kind != "switch") return;
  const auto buffer = device.number("buffer_MB");
  if (!buffer) not_known.emplace_back("buffer");
  if (buffer && buffer->high < kDeepBuffer_MB)
    cannot.push_back(fmt::format("small buffer ({} MB)", range_text(*buffer)));
}

std::vector<Choice> choose(const Market& market, const ChooseOptions& options) {
  std::vector<Choice> choices;
  for (const MarketDevice* device : market.of_kind(options.kind)) {
    Choice choice;
    choice.device = device;
    for (const Need& need : options.needs) choice.checks.push_back({need.text, meets(*device, need)});
    if (options.budget_USD) {
      const MarketRow* row = device->price_row();
      choice.checks.push_back({fmt::format("price {}, budget {:g} USD", price_text(*device), *options.budget_USD),
                               at_most(row == nullptr ? std::nullopt : parse_range(row->value), *options.budget_USD)});
    }
    if (options.watts)
      choice.checks.push_back({fmt::format("{}, limit {:g} W", watts_text(*device), *options.watts),
                               at_most(max_watts(*device), *options.watts)});
    if (options.noise_dBA) {
      const auto noise = device->number("noise_dBA");
      choice.checks.push_back(
          {fmt::format("{} dB(A), limit {:g}", noise ? range_text(*noise) : "unknown", *options.noise_dBA),
           at_most(noise, *options.noise_dBA)});
    }
    if (options.circuit) {
      choice.circuit = circuit_text(*device, *options.circuit);
      choice.checks.push_back({"circuit", fits_circuit(*device, *options.circuit)});
    }
    add_lacks(*device, choice.cannot, choice.not_known);
    choices.push_back(std::move(choice));
  }
  const auto price = [](const Choice& choice) {
    const MarketRow* row = choice.device->price_row();
    const auto range = row == nullptr ? std::nullopt : parse_range(row->value);
    return range ? range->low + range->high : 1e15;
  };
  std::stable_sort(choices.begin(), choices.end(), [&](const Choice& a, const Choice& b) {
    // Order: no broken need first; then a broken need weighs as much as two that are open.
    const std::size_t no_a = a.count(Answer::kNo), no_b = b.count(Answer::kNo);
    if ((no_a == 0) != (no_b == 0)) return no_a == 0;
    const std::size_t score_a = 2 * no_a + a.count(Answer::kUnknown), score_b = 2 * no_b + b.count(Answer::kUnknown);
    if (score_a != score_b) return score_a < score_b;
    return price(a) < price(b);
  });
  return choices;
}

}  // namespace weft::gear
