// Sums of a fabric's bill, lengths of cables, addresses of the management network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gear/plan/fabric.h"

namespace weft::gear {

std::string speed_name(std::int64_t rate_bps) {
  return fmt::format("{:g}G", static_cast<double>(rate_bps) / 1e9);
}

std::uint32_t cable_length_m(std::uint32_t rack, std::uint32_t other_rack) {
  static constexpr std::uint32_t kSold_m[] = {1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100};
  const std::uint32_t apart = rack > other_rack ? rack - other_rack : other_rack - rack;
  const double needed_m = apart == 0 ? 2 : 2 * 2 + 0.6 * apart;
  for (std::uint32_t length_m : kSold_m) {
    if (length_m >= needed_m) return length_m;
  }
  return static_cast<std::uint32_t>(std::ceil(needed_m / 50) * 50);
}

std::string management_address(std::uint32_t block, std::uint32_t index) {
  constexpr std::uint32_t kPerSubnet = 250;
  return fmt::format("172.16.{}.{}", 64 * block + index / kPerSubnet, 1 + index % kPerSubnet);
}

NumberRange FabricPlan::price_USD() const {
  NumberRange sum;
  for (const BillItem& item : bill) {
    if (!item.price_USD) continue;
    sum.low += item.price_USD->low * static_cast<double>(item.count);
    sum.high += item.price_USD->high * static_cast<double>(item.count);
  }
  return sum;
}

bool FabricPlan::all_priced() const {
  return std::all_of(bill.begin(), bill.end(), [](const BillItem& item) { return item.price_USD || item.count == 0; });
}

std::optional<Answer> FabricPlan::within_budget() const {
  if (!options.budget_USD) return std::nullopt;
  const NumberRange sum = price_USD();
  if (sum.low > *options.budget_USD) return Answer::kNo;
  return sum.high <= *options.budget_USD && all_priced() ? Answer::kYes : Answer::kUnknown;
}

double FabricPlan::watts_typical() const {
  double sum = 0;
  for (const BillItem& item : bill) sum += item.watts_typical * static_cast<double>(item.count);
  return sum;
}

double FabricPlan::watts_max() const {
  double sum = 0;
  for (const BillItem& item : bill) sum += item.watts_max * static_cast<double>(item.count);
  return sum;
}

}  // namespace weft::gear
