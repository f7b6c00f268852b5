// Market list: catalog/market.csv, compiled into the binary. A row is one field of one device with its tag
// (V primary, S secondary, R recalled, E estimate: docs/catalog.md), source and date. Prices, watts and noise are
// ranges.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gear/plan/error.h"

namespace weft::gear {

struct MarketRow {
  std::string field, value, tag, source, date;
};

struct NumberRange {
  double low = 0, high = 0;
};

struct MarketPorts {
  std::uint32_t count = 0, rate_G = 0;
};

enum class Answer : std::uint8_t { kYes, kNo, kUnknown };

struct MarketDevice {
  std::string name, kind;
  std::vector<MarketRow> rows;

  const MarketRow* row(std::string_view field) const;  // null when it has none
  std::string_view value(std::string_view field) const;
  std::optional<NumberRange> number(std::string_view field) const;
  // "yes (…)" and "no (…)"; anything else, or no row, is not known.
  Answer answer(std::string_view field) const;
  // Each way in which the device can be bought: "1x400G or 2x200G" are two.
  std::vector<std::vector<MarketPorts>> ports() const;
  // The row that a price is taken from: used before new.
  const MarketRow* price_row() const;
};

class Market {
 public:
  static const Market& built_in();
  // The first line names the columns; every line is checked.
  static Planned<Market> parse(std::string_view text, const std::string& where);
  // Rows of `other` replace those of the same device and field; new devices are added.
  void merge(const Market& other);

  std::span<const MarketDevice> devices() const { return devices_; }
  std::vector<const MarketDevice*> of_kind(std::string_view kind) const;
  // Looks up its name or that of its model in the catalog, whatever the case.
  Planned<const MarketDevice*> find(std::string_view name) const;

 private:
  MarketDevice& device_of(const std::string& name, const std::string& kind);

  std::vector<MarketDevice> devices_;
};

// "2500-5000" or "42"; nothing when it is neither.
std::optional<NumberRange> parse_range(std::string_view text);
// "2500 to 5000", "42".
std::string range_text(const NumberRange& range);

}  // namespace weft::gear
