#include "gear/choose/market.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "gear/vm/cpus.h"

namespace weft::gear {

extern const char* const kMarketCsv;  // written by the build from catalog/market.csv

namespace {

constexpr std::string_view kColumns[] = {"device", "kind", "field", "value", "tag", "source", "date"};
constexpr std::string_view kMarketKinds[] = {"switch", "nic", "gpu", "host", "management", "cable", "circuit"};
constexpr std::string_view kMarketTags[] = {"V", "S", "R", "E", "F"};
constexpr std::string_view kNumbers[] = {
    "buffer_MB",     "power_typical_W", "power_max_W", "noise_dBA",  "price_used_USD",
    "price_new_USD", "price_new_EUR",   "memory_GB",   "pcie_slots", "rate_G",
    "reach_m",       "power_end_W",     "volts",       "amps",       "voltage"};

// One record of RFC 4180; false when a quote is not closed or stands within a field.
bool csv_record(std::string_view line, std::vector<std::string>& fields) {
  fields.clear();
  std::size_t at = 0;
  while (true) {
    std::string field;
    if (at < line.size() && line[at] == '"') {
      ++at;
      bool closed = false;
      while (at < line.size()) {
        if (line[at] != '"') {
          field += line[at++];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field += '"';
          at += 2;
        } else {
          closed = true;
          ++at;
          break;
        }
      }
      if (!closed || (at < line.size() && line[at] != ',')) return false;
    } else {
      while (at < line.size() && line[at] != ',') {
        if (line[at] == '"') return false;
        field += line[at++];
      }
    }
    fields.push_back(std::move(field));
    if (at >= line.size()) return true;
    ++at;
  }
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

template <std::size_t N>
bool is_one_of(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::optional<std::vector<MarketPorts>> parse_ports(std::string_view text) {
  std::vector<MarketPorts> ports;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view one = stripped(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t times = one.find('x');
    if (times == one.npos || !one.ends_with('G')) return std::nullopt;
    const auto count = parse_count(one.substr(0, times), 4096);
    const auto rate = parse_count(one.substr(times + 1, one.size() - times - 2), 3200);
    if (!count || !rate || *count == 0 || *rate == 0) return std::nullopt;
    ports.push_back({*count, *rate});
  }
  return ports;
}

std::vector<std::string_view> alternatives(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(" or "); end != text.npos; end = text.find(" or ")) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 4);
  }
  parts.push_back(text);
  return parts;
}

std::string row_problem(const std::vector<std::string>& f) {
  if (f[0].empty() || f[2].empty() || f[3].empty()) return "device, field and value must not be empty";
  if (!is_one_of(kMarketKinds, f[1])) return fmt::format("{} is no kind of device", f[1]);
  if (!is_one_of(kMarketTags, f[4])) return fmt::format("tag {} is none of V, S, R, E, F", f[4]);
  if (f[5].empty() || f[6].empty()) return "a value needs a source and a date";
  if (is_one_of(kNumbers, f[2]) && !parse_range(f[3])) return fmt::format("{}: {} is no number or range", f[2], f[3]);
  if (f[2] == "ports") {
    for (std::string_view part : alternatives(f[3])) {
      if (!parse_ports(part)) return fmt::format("ports: {} is not as in 48x25G, 8x100G", f[3]);
    }
  }
  return "";
}

}  // namespace

std::optional<NumberRange> parse_range(std::string_view text) {
  NumberRange range;
  const auto read = [](std::string_view part, double& to) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), to);
    return !part.empty() && error == std::errc() && end == part.data() + part.size() && to >= 0 && to < 1e12;
  };
  const std::size_t dash = text.find('-', 1);
  if (!read(text.substr(0, dash), range.low)) return std::nullopt;
  range.high = range.low;
  if (dash != text.npos && (!read(text.substr(dash + 1), range.high) || range.high < range.low)) return std::nullopt;
  return range;
}

std::string range_text(const NumberRange& range) {
  if (range.low == range.high) return fmt::format("{:g}", range.low);
  return fmt::format("{:g} to {:g}", range.low, range.high);
}

const MarketRow* MarketDevice::row(std::string_view field) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const MarketRow& r) { return r.field == field; });
  return found == rows.end() ? nullptr : &*found;
}

std::string_view MarketDevice::value(std::string_view field) const {
  const MarketRow* found = row(field);
  return found == nullptr ? std::string_view() : std::string_view(found->value);
}

std::optional<NumberRange> MarketDevice::number(std::string_view field) const {
  const MarketRow* found = row(field);
  return found == nullptr ? std::nullopt : parse_range(found->value);
}

Answer MarketDevice::answer(std::string_view field) const {
  const std::string_view text = value(field);
  if (text == "yes" || text.starts_with("yes ") || text.starts_with("yes;")) return Answer::kYes;
  if (text == "no" || text.starts_with("no ") || text.starts_with("no;")) return Answer::kNo;
  return Answer::kUnknown;
}

std::vector<std::vector<MarketPorts>> MarketDevice::ports() const {
  std::vector<std::vector<MarketPorts>> all;
  for (std::string_view part : alternatives(value("ports"))) {
    if (auto parsed = parse_ports(part); parsed && !parsed->empty()) all.push_back(std::move(*parsed));
  }
  return all;
}

const MarketRow* MarketDevice::price_row() const {
  for (std::string_view field : {"price_used_USD", "price_new_USD", "price_new_EUR"}) {
    if (const MarketRow* found = row(field)) return found;
  }
  return nullptr;
}

MarketDevice& Market::device_of(const std::string& name, const std::string& kind) {
  for (MarketDevice& device : devices_) {
    if (device.name == name && device.kind == kind) return device;
  }
  MarketDevice device;
  device.name = name;
  device.kind = kind;
  devices_.push_back(std::move(device));
  return devices_.back();
}

Planned<Market> Market::parse(std::string_view text, const std::string& where) {
  Market market;
  std::vector<std::string> fields;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (line.empty()) continue;
    const auto wrong = [&](const std::string& what) {
      return plan_error(fmt::format("{}:{}: {}", where, number, what),
                        "a line is device,kind,field,value,tag,source,date as in catalog/market.csv");
    };
    if (!csv_record(line, fields)) return wrong("a quote is not closed");
    if (fields.size() != std::size(kColumns)) return wrong(fmt::format("{} columns, not 7", fields.size()));
    if (number == 1) {
      if (!std::equal(fields.begin(), fields.end(), std::begin(kColumns))) return wrong("the names of the columns");
      continue;
    }
    if (const std::string problem = row_problem(fields); !problem.empty()) return wrong(problem);
    market.device_of(fields[0], fields[1]).rows.push_back({fields[2], fields[3], fields[4], fields[5], fields[6]});
  }
  if (market.devices_.empty()) return plan_error(fmt::format("{}: no devices", where));
  return market;
}

void Market::merge(const Market& other) {
  for (const MarketDevice& theirs : other.devices_) {
    MarketDevice& own = device_of(theirs.name, theirs.kind);
    for (const MarketRow& row : theirs.rows) {
      std::erase_if(own.rows, [&](const MarketRow& old) { return old.field == row.field && row.field != "note"; });
      own.rows.push_back(row);
    }
  }
}

std::vector<const MarketDevice*> Market::of_kind(std::string_view kind) const {
  std::vector<const MarketDevice*> found;
  for (const MarketDevice& device : devices_) {
    if (device.kind == kind) found.push_back(&device);
  }
  return found;
}

Planned<const MarketDevice*> Market::find(std::string_view name) const {
  const std::string wanted = lowered(name);
  std::vector<std::string> names;
  for (const MarketDevice& device : devices_) {
    if (lowered(device.name) == wanted) return &device;
  }
  for (const MarketDevice& device : devices_) {
    if (!device.value("model").empty() && device.value("model") == wanted) return &device;
    names.push_back(device.name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto near = nearest(name, views);
  return plan_error(
      fmt::format("no device {} on the market list", name),
      near.empty() ? "weft choose switch, nic, gpu and host list them" : did_you_mean(name, views, "devices"));
}

const Market& Market::built_in() {
  static const Market market = [] {
    auto parsed = parse(kMarketCsv, "catalog/market.csv");
    return parsed ? std::move(*parsed) : Market();  // a test reads it whole
  }();
  return market;
}

}  // namespace weft::gear
