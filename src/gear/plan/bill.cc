#include "gear/plan/bill.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::gear {
namespace {

class BillWriter {
 public:
  BillWriter(FabricPlan& plan, const Market& market) : plan_(plan), market_(market) {}

  void write_bill() {
    add_item("NIC " + plan_.nic, plan_.host_ports.size(), sold(plan_.nic));
    if (plan_.leaves > 0) add_item("leaf " + plan_.leaf_model, plan_.leaves, sold(plan_.leaf_model));
    if (plan_.spines > 0) add_item("spine " + plan_.spine_model, plan_.spines, sold(plan_.spine_model));
    if (plan_.cores > 0) add_item("core " + plan_.spine_model, plan_.cores, sold(plan_.spine_model));
    struct Group {
      FabricCable cable;
      std::uint64_t count = 0;
    };
    std::vector<Group> groups;
    for (const FabricCable& cable : plan_.cables) {
      const auto same = [&](const Group& group) {
        return group.cable.kind == cable.kind && group.cable.length_m == cable.length_m &&
               group.cable.rate_bps == cable.rate_bps;
      };
      auto found = std::find_if(groups.begin(), groups.end(), same);
      if (found == groups.end()) found = groups.insert(groups.end(), {cable, 0});
      ++found->count;
    }
    std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
      return std::pair(a.cable.rate_bps, a.cable.length_m) < std::pair(b.cable.rate_bps, b.cable.length_m);
    });
    for (const Group& group : groups)
      add_item(
          fmt::format("cable {} {} {} m", group.cable.kind, speed_name(group.cable.rate_bps), group.cable.length_m),
          group.count, cable_for(market_, group.cable.rate_bps, group.cable.length_m));
    add_item("management switch, 48 x 1 GbE", plan_.management_switches, sold("Management-48x1G"));
  }

 private:
  void add_item(std::string what, std::uint64_t count, const MarketDevice* device) {
    BillItem item;
    item.what = std::move(what);
    item.count = count;
    const MarketRow* price = device == nullptr ? nullptr : device->price_row();
    if (price != nullptr) {
      item.price_USD = parse_range(price->value);
      item.source = fmt::format("[{}] {}, {}", price->tag, price->source, price->date);
    } else {
      plan_.notes.push_back(fmt::format("{}: no price is known, it is not in the sum", item.what));
    }
    if (device != nullptr) {
      const auto typical = device->number("power_typical_W"), most = device->number("power_max_W");
      const auto ends = device->number("power_end_W");
      item.watts_typical = ends ? 2 * ends->low : typical ? typical->low : most ? most->low : 0;
      item.watts_max = ends ? 2 * ends->high : most ? most->high : item.watts_typical;
    }
    plan_.bill.push_back(std::move(item));
  }

  const MarketDevice* sold(std::string_view model) const {
    const auto found = market_.find(model);
    return found ? *found : nullptr;
  }

  FabricPlan& plan_;
  const Market& market_;
};

}  // namespace

void write_bill(FabricPlan& plan, const Market& market) {
  BillWriter(plan, market).write_bill();
}

const MarketDevice* cable_for(const Market& market, std::int64_t rate_bps, std::uint32_t length_m) {
  const MarketDevice* best = nullptr;
  for (const MarketDevice* cable : market.of_kind("cable")) {
    const auto rate = cable->number("rate_G"), reach = cable->number("reach_m"), price = cable->number("price_new_USD");
    if (!rate || !reach || !price || rate->low * 1e9 != static_cast<double>(rate_bps) || reach->low < length_m)
      continue;
    if (best == nullptr || price->high < best->number("price_new_USD")->high) best = cable;
  }
  return best;
}

}  // namespace weft::gear
