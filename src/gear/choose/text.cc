// A ranking, and one device explained, as text and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "catalog/catalog.h"
#include "catalog/catalog_text.h"
#include "gear/choose/choose.h"

namespace weft::gear {
namespace {

using ChooseJson = nlohmann::ordered_json;

std::string_view answer_word(Answer answer) {
  return answer == Answer::kYes ? "yes" : answer == Answer::kNo ? "no" : "not known";
}

std::string noise_text(const MarketDevice& device) {
  const auto noise = device.number("noise_dBA");
  return noise ? range_text(*noise) + " dB(A)" : "";
}

ChooseJson row_json(const MarketRow& row) {
  return {{"field", row.field}, {"value", row.value}, {"tag", row.tag}, {"source", row.source}, {"date", row.date}};
}

std::string source_line(const MarketDevice& device) {
  const MarketRow* price = device.price_row();
  if (price == nullptr) return "";
  return fmt::format("     price: [{}] {}, {}\n", price->tag, price->source, price->date);
}

std::string verdict_of(const Choice& choice) {
  const std::size_t no = choice.count(Answer::kNo), unknown = choice.count(Answer::kUnknown);
  if (no > 0) return "does not fit";
  return unknown > 0 ? "may fit" : "fits";
}

std::string checks_of(const Choice& choice, Answer answer) {
  std::vector<std::string> found;
  for (const Check& check : choice.checks) {
    if (check.answer == answer) found.push_back(check.what);
  }
  return fmt::format("{}", fmt::join(found, "; "));
}

// Fields that a buyer asks about and no packet depends on.
constexpr std::string_view kMarketFields[] = {"buffer_MB",      "power_typical_W", "power_max_W",  "noise_dBA",
                                              "price_used_USD", "price_new_USD",   "price_new_EUR"};

const MarketDevice* sold_as(const Market& market, std::string_view model) {
  const auto found = market.find(model);
  return found && (*found)->value("model") == model ? *found : nullptr;
}

std::vector<const MarketRow*> market_rows(const MarketDevice& device) {
  std::vector<const MarketRow*> found;
  for (const MarketRow& row : device.rows) {
    if (std::find(std::begin(kMarketFields), std::end(kMarketFields), row.field) != std::end(kMarketFields))
      found.push_back(&row);
  }
  return found;
}

const char* const kTagLine = "tags: V primary source, S secondary, R recalled, E estimate (docs/catalog.md)\n";

}  // namespace

std::string memory_text(const MarketDevice& device) {
  const fabric::SwitchModel* model = lab::Catalog::built_in().switch_model(device.value("model"));
  const auto sold_MB = device.number("buffer_MB");
  if (model == nullptr || !sold_MB) return "";
  const auto MB = [](std::int64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6); };
  return fmt::format(
      "{} MB as sold, {} MB that the chip can use, {} MB of it in the pool that lossless classes share; the rest is "
      "headroom and what is reserved for ports, queues and other pools",
      range_text(*sold_MB), MB(model->buffer_B), MB(model->ingress_pool_B));
}

std::string catalog_show_text(const lab::CatalogEntry& entry, const Market& market) {
  std::string out = lab::catalog_entry_text(entry);
  const MarketDevice* device = sold_as(market, entry.name);
  if (device == nullptr) return out;
  out += fmt::format("on the market list as {} (weft choose --explain {})\n", device->name, entry.name);
  for (const MarketRow* row : market_rows(*device))
    out += fmt::format("  {:<17} {}  [{}] {}, {}\n", row->field, row->value, row->tag, row->source, row->date);
  if (const std::string memory = memory_text(*device); !memory.empty()) out += "  memory: " + memory + "\n";
  return out;
}

std::string catalog_show_json(const lab::CatalogEntry& entry, const Market& market) {
  ChooseJson j = ChooseJson::parse(lab::catalog_entry_json(entry));
  if (const MarketDevice* device = sold_as(market, entry.name)) {
    j["market"] = {{"device", device->name}, {"rows", ChooseJson::array()}};
    for (const MarketRow* row : market_rows(*device)) j["market"]["rows"].push_back(row_json(*row));
  }
  return j.dump(2) + "\n";
}

std::string choose_text(const std::vector<Choice>& choices, const ChooseOptions& options) {
  std::string out;
  std::size_t number = 0;
  for (const Choice& choice : choices) {
    const MarketDevice& device = *choice.device;
    const std::string noise = noise_text(device);
    out += fmt::format("{:>3}. {:<18} {:<12}  {}, {}{}\n", ++number, device.name, verdict_of(choice),
                       price_text(device), watts_text(device), noise.empty() ? "" : ", " + noise);
    out += fmt::format("     {}{}\n", device.value("description"),
                       device.value("ports").empty() ? "" : fmt::format(", {}", device.value("ports")));
    if (const std::string broken = checks_of(choice, Answer::kNo); !broken.empty())
      out += fmt::format("     broken: {}\n", broken);
    if (const std::string open = checks_of(choice, Answer::kUnknown); !open.empty())
      out += fmt::format("     open: {}\n", open);
    if (const std::string memory = memory_text(device); !memory.empty())
      out += fmt::format("     memory: {}\n", memory);
    if (!choice.cannot.empty()) out += fmt::format("     cannot: {}\n", fmt::join(choice.cannot, ", "));
    if (!choice.not_known.empty()) out += fmt::format("     not known: {}\n", fmt::join(choice.not_known, ", "));
    if (!choice.circuit.empty()) out += fmt::format("     circuit: {}\n", choice.circuit);
    for (const MarketRow& row : device.rows) {
      if (row.field == "note") out += fmt::format("     note: {}\n", row.value);
    }
    out += source_line(device);
  }
  if (options.kind == "switch")
    out +=
        "Two or three nodes need no switch: NICs joined by DAC are silent and show PFC; ECN needs a switch, or CE "
        "marks "
        "made on purpose.\n";
  out += kTagLine;
  if (options.situation) out += "\n" + transport_text(advise_transport(*options.situation));
  return out;
}

std::string choose_json(const std::vector<Choice>& choices, const ChooseOptions& options) {
  ChooseJson j;
  j["kind"] = options.kind;
  j["choices"] = ChooseJson::array();
  for (const Choice& choice : choices) {
    ChooseJson one;
    one["device"] = choice.device->name;
    one["model"] = choice.device->value("model");
    one["verdict"] = verdict_of(choice);
    one["checks"] = ChooseJson::array();
    for (const Check& check : choice.checks)
      one["checks"].push_back({{"what", check.what}, {"answer", answer_word(check.answer)}});
    one["cannot"] = choice.cannot;
    one["not_known"] = choice.not_known;
    if (!choice.circuit.empty()) one["circuit"] = choice.circuit;
    if (const MarketRow* price = choice.device->price_row()) one["price"] = row_json(*price);
    if (const auto watts = watts_of(*choice.device)) {
      one["watts"] = watts->first;
      one["watts_are_maximum"] = watts->second;
    }
    j["choices"].push_back(std::move(one));
  }
  if (options.situation) j["transport"] = ChooseJson::parse(transport_json(advise_transport(*options.situation)));
  return j.dump(2, ' ', false, ChooseJson::error_handler_t::replace) + "\n";
}

std::string explain_text(const MarketDevice& device, const Market& market) {
  std::string out = fmt::format("{} ({}): {}\n", device.name, device.kind, device.value("description"));
  for (const MarketRow& row : device.rows)
    out += fmt::format("  {:<17} {}  [{}] {}, {}\n", row.field, row.value, row.tag, row.source, row.date);
  if (const std::string memory = memory_text(device); !memory.empty()) out += fmt::format("memory: {}\n", memory);
  std::vector<std::string> cannot, not_known;
  add_lacks(device, cannot, not_known);
  if (!cannot.empty()) out += fmt::format("cannot: {}\n", fmt::join(cannot, ", "));
  if (!not_known.empty()) out += fmt::format("not known: {}\n", fmt::join(not_known, ", "));
  if (watts_of(device)) {
    for (const MarketDevice* circuit : market.of_kind("circuit")) {
      const auto volts = circuit->number("volts"), amps = circuit->number("amps");
      if (volts && amps)
        out += fmt::format("{}: {}\n", circuit->name, circuit_text(device, Circuit{volts->low, amps->low}));
    }
  }
  if (!device.value("model").empty())
    out += fmt::format("in a lab: {} (weft catalog show {})\n", device.value("model"), device.value("model"));
  return out + kTagLine;
}

std::string explain_json(const MarketDevice& device, const Market& market) {
  ChooseJson j;
  j["device"] = device.name;
  j["kind"] = device.kind;
  j["rows"] = ChooseJson::array();
  for (const MarketRow& row : device.rows) j["rows"].push_back(row_json(row));
  std::vector<std::string> cannot, not_known;
  add_lacks(device, cannot, not_known);
  j["cannot"] = cannot;
  j["not_known"] = not_known;
  j["circuits"] = ChooseJson::object();
  for (const MarketDevice* circuit : market.of_kind("circuit")) {
    const auto volts = circuit->number("volts"), amps = circuit->number("amps");
    if (volts && amps) j["circuits"][circuit->name] = circuit_text(device, Circuit{volts->low, amps->low});
  }
  return j.dump(2, ' ', false, ChooseJson::error_handler_t::replace) + "\n";
}

}  // namespace weft::gear
