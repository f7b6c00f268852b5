// Ranks what can be bought by what is needed. Every need and limit is answered yes, no or not known, each with the row
// of the market list that says so. Order: what breaks nothing first; then broken needs and limits, of which one weighs
// as much as two that are not known; then price.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog_data.h"
#include "gear/choose/market.h"
#include "gear/choose/transport.h"

namespace weft::gear {

// One word of --need: "roce", "100G>=8", "buffer>=40MB".
struct Need {
  std::string text;
  std::vector<std::string> all_of;  // fields that must say yes
  std::vector<std::string> any_of;  // fields of which one must
  std::uint32_t rate_G = 0, ports = 0;
  std::string number;  // field, with `least`
  double least = 0;
};

struct Circuit {
  double volts = 0, amps = 0;

  double peak_VA() const { return volts * amps; }
  double continuous_W() const { return peak_VA() * 0.8; }  // NEC 210.20: continuous load at most 80 %
};

struct ChooseOptions {
  std::string kind;  // "switch", "nic", "gpu" or "host"
  std::vector<Need> needs;
  std::optional<double> budget_USD, watts, noise_dBA;
  std::optional<Circuit> circuit;
  std::optional<TransportSituation> situation;  // RoCE or InfiniBand is answered besides
};

Planned<std::vector<Need>> parse_needs(std::string_view text, std::string_view kind);
// "100 V 15 A", or jp, us, eu of the market list.
Planned<Circuit> parse_circuit(std::string_view text, const Market& market);
// The words of --need for this kind.
std::vector<std::string_view> need_words(std::string_view kind);

struct Check {
  std::string what;  // "roce", "price 2800 USD, budget 3000"
  Answer answer = Answer::kUnknown;
};

struct Choice {
  const MarketDevice* device = nullptr;
  std::vector<Check> checks;
  std::vector<std::string> cannot;     // what it does not have, needed or not
  std::vector<std::string> not_known;  // what its papers do not say
  std::string circuit;                 // what the circuit carries of it; empty without one

  std::size_t count(Answer answer) const;
};

std::vector<Choice> choose(const Market& market, const ChooseOptions& options);

// Adds what a device lacks among what its kind can have; a small buffer is one such thing.
void add_lacks(const MarketDevice& device, std::vector<std::string>& cannot, std::vector<std::string>& not_known);
// Watts to count with, and whether they are the maximum.
std::optional<std::pair<double, bool>> watts_of(const MarketDevice& device);
// The maximum; where only the typical watts are known, the range that it is in by the switches that have both.
std::optional<NumberRange> max_watts(const MarketDevice& device);
std::string watts_text(const MarketDevice& device);
// From the memory as it is sold to the pool that a lab has; empty for what no lab can name.
std::string memory_text(const MarketDevice& device);
std::string circuit_text(const MarketDevice& device, const Circuit& circuit);
std::string price_text(const MarketDevice& device);

std::string choose_text(const std::vector<Choice>& choices, const ChooseOptions& options);
std::string choose_json(const std::vector<Choice>& choices, const ChooseOptions& options);
// `weft catalog show`: the entry, and what the market list says of the model's price, watts, noise and memory.
std::string catalog_show_text(const lab::CatalogEntry& entry, const Market& market);
std::string catalog_show_json(const lab::CatalogEntry& entry, const Market& market);
std::string explain_text(const MarketDevice& device, const Market& market);
std::string explain_json(const MarketDevice& device, const Market& market);

}  // namespace weft::gear
