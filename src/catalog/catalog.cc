#include "catalog/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/nearest.h"

namespace weft::lab {
namespace {

template <class Value>
const Value* find(const std::map<std::string, Value, std::less<>>& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

std::string_view to_string(CatalogKind kind) {
  switch (kind) {
    case CatalogKind::kNic:
      return "nic";
    case CatalogKind::kHost:
      return "host";
    case CatalogKind::kGpu:
      return "gpu";
    case CatalogKind::kSwitch:
      return "switch";
    case CatalogKind::kCable:
      return "cable";
    case CatalogKind::kFec:
      return "fec";
  }
  return "";
}

const Catalog& Catalog::built_in() {
  static const Catalog catalog = [] {
    auto parsed = parse({kCatalogFiles, kCatalogFileCount});
    if (!parsed) {
      const std::string text = fmt::format("{}", fmt::join(parsed.error(), "\n"));
      WEFT_CHECK(parsed.has_value(), text.c_str());
    }
    return *std::move(parsed);
  }();
  return catalog;
}

const nic::NicModel* Catalog::nic(std::string_view name) const {
  return find(nics_, name);
}
const host::HostModel* Catalog::host(std::string_view name) const {
  return find(hosts_, name);
}
const fabric::SwitchModel* Catalog::switch_model(std::string_view name) const {
  return find(switches_, name);
}

bool Catalog::has_gpu(std::string_view name) const {
  const CatalogEntry* found = entry(name);
  return found != nullptr && found->kind == CatalogKind::kGpu;
}

std::span<const std::int64_t> Catalog::link_rates_bps(std::string_view nic_name) const {
  const auto* rates = find(link_rates_bps_, nic_name);
  return rates == nullptr ? std::span<const std::int64_t>() : *rates;
}

const CableModel& Catalog::cable(CableKind kind) const {
  return cables_.at(kind);
}

std::optional<Time_ps> Catalog::fec_latency_ps(Fec fec, std::int64_t rate_bps) const {
  const auto& latencies_ps = fec_latencies_ps_.at(fec);
  const auto found = latencies_ps.find(rate_bps);
  if (found == latencies_ps.end()) return std::nullopt;
  return found->second;
}

const CatalogEntry* Catalog::entry(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<std::string_view> Catalog::names(CatalogKind kind) const {
  std::vector<std::string_view> names;
  for (const CatalogEntry& entry : entries_) {
    if (entry.kind == kind) names.push_back(entry.name);
  }
  return names;
}

std::vector<std::string> Catalog::nearest(std::string_view name) const {
  std::vector<std::string_view> all;
  // A FEC is no device: "did you mean none?" helps nobody.
  for (const CatalogEntry& entry : entries_) {
    if (entry.kind != CatalogKind::kFec) all.push_back(entry.name);
  }
  return weft::nearest(name, all);
}

std::vector<std::string> Catalog::nearest(std::string_view name, CatalogKind kind) const {
  return weft::nearest(name, names(kind));
}

}  // namespace weft::lab
