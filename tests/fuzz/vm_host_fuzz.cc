// Any bytes are a description of a host, a list of prices, or an error; what is a description can be planned with.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fuzz/targets.h"
#include "gear/choose/market.h"
#include "gear/vm/plan.h"

int weft::fuzz::vm_host_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace weft::gear;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto read : {read_host_text, read_host_lstopo, describe_bundle}) {
    auto host = read(text, "input");
    if (!host) {
      if (host.error().message.empty()) std::abort();
      continue;
    }
    VmPlanOptions options;
    options.vms = {{"vm00", {"gpu0", "nic0"}}};
    const auto plan = plan_vms(std::move(*host), options);
    if (plan && (vm_plan_json(*plan).empty() || domain_xml(*plan, plan->vms[0]).empty())) std::abort();
  }
  (void)Market::parse(text, "input");
  return 0;
}
