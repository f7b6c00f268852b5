// weft choose: ranks what can be bought, explains one device, says RoCE or InfiniBand.
#include "gear/choose/choose.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "base/files.h"
#include "base/nearest.h"
#include "cli/common.h"
#include "cli/plan_verbs.h"
#include "cli/verbs.h"
#include "gear/choose/transport.h"

namespace weft::cli {

namespace {

constexpr std::string_view kChooseKinds[] = {"switch", "nic", "gpu", "host", "transport"};
constexpr std::size_t kMaxPrices_B = 16 << 20;

struct ChooseArguments {
  std::string kind, need, circuit, explain, prices;
  std::optional<double> budget, watts, noise;
  gear::TransportSituation situation;
  bool has_gpus = false, json = false, all = false;
};

int explain(const ChooseArguments& arguments, const gear::Market& market) {
  const auto device = market.find(arguments.explain);
  if (!device) return wrong_plan(device.error());
  put(arguments.json ? gear::explain_json(**device, market) : gear::explain_text(**device, market));
  return kExitWell;
}

int rank(const ChooseArguments& arguments, const gear::Market& market) {
  gear::ChooseOptions options;
  options.kind = arguments.kind;
  auto needs = gear::parse_needs(arguments.need, arguments.kind);
  if (!needs) return wrong_plan(needs.error());
  options.needs = std::move(*needs);
  options.budget_USD = arguments.budget;
  options.watts = arguments.watts;
  options.noise_dBA = arguments.noise;
  if (arguments.has_gpus) options.situation = arguments.situation;
  for (const auto& limit : {options.budget_USD, options.watts, options.noise_dBA}) {
    if (limit && (!std::isfinite(*limit) || *limit < 0))
      return wrong_input("a limit is a number above zero", "as in --budget 3000 --watts 300 --noise 50");
  }
  if (!arguments.circuit.empty()) {
    const auto circuit = gear::parse_circuit(arguments.circuit, market);
    if (!circuit) return wrong_plan(circuit.error());
    options.circuit = *circuit;
  }
  auto choices = gear::choose(market, options);
  // A device that breaks a need is listed only when nothing else is there, or it is asked for.
  const bool any = !choices.empty() && choices.front().count(gear::Answer::kNo) == 0;
  const std::size_t before = choices.size();
  if (any && !arguments.all)
    std::erase_if(choices, [](const gear::Choice& choice) { return choice.count(gear::Answer::kNo) > 0; });
  if (arguments.json) {
    put(gear::choose_json(choices, options));
  } else {
    put(gear::choose_text(choices, options));
    if (choices.size() < before)
      put(fmt::format("{} more do not fit; --all shows them and why\n", before - choices.size()));
  }
  return any ? kExitWell : kExitFailed;
}

int choose_device(const ChooseArguments& arguments) {
  use_json(arguments.json);
  gear::Market market = gear::Market::built_in();
  if (!arguments.prices.empty()) {
    const auto text = read_file(arguments.prices, kMaxPrices_B);
    if (!text) return wrong_input(fmt::format("{}: {}", arguments.prices, text.error()));
    const auto own = gear::Market::parse(*text, arguments.prices);
    if (!own) return wrong_plan(own.error());
    market.merge(*own);
  }
  if (!arguments.explain.empty()) return explain(arguments, market);
  if (std::find(std::begin(kChooseKinds), std::end(kChooseKinds), arguments.kind) == std::end(kChooseKinds))
    return wrong_input(arguments.kind.empty() ? "nothing to choose" : fmt::format("no kind {}", arguments.kind),
                       fmt::format("use one of {}, or --explain MODEL", join(kChooseKinds)));
  if (arguments.kind != "transport" && arguments.situation.mixed && !arguments.has_gpus)
    return wrong_input("--mixed without --gpus",
                       "both are about RoCE or InfiniBand: weft choose transport --gpus 64 --mixed");
  if (arguments.kind != "transport") return rank(arguments, market);
  if (!arguments.has_gpus) return wrong_input("how many GPUs?", "add --gpus 64");
  const auto advice = gear::advise_transport(arguments.situation);
  put(arguments.json ? gear::transport_json(advice) : gear::transport_text(advice));
  return kExitWell;
}

}  // namespace

void add_choose(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ChooseArguments>();
  CLI::App* verb =
      app.add_subcommand("choose", "Rank switches, NICs, GPUs and hosts by what is needed and what they cost");
  verb->add_option("KIND", arguments->kind, "switch, nic, gpu, host; or transport: RoCE or InfiniBand");
  verb->add_option("--need", arguments->need, "What it must have: 'roce, int, 100G>=8'");
  verb->add_option("--budget", arguments->budget, "USD at most");
  verb->add_option("--watts", arguments->watts, "W at most");
  verb->add_option("--noise", arguments->noise, "dB(A) at most");
  verb->add_option("--circuit", arguments->circuit, "What feeds it: '100 V 15 A', or jp, us, eu");
  CLI::Option* gpus = verb->add_option("--gpus", arguments->situation.gpus, "GPUs of the cluster: RoCE or InfiniBand")
                          ->check(whole_number(1, 10'000'000));
  verb->add_flag("--mixed", arguments->situation.mixed, "AI beside other workloads");
  verb->add_flag("--tenants", arguments->situation.tenants, "Several tenants");
  verb->add_flag("--small-budget", arguments->situation.small_budget, "Cost decides");
  verb->add_flag("--ethernet-there", arguments->situation.ethernet_there, "Ethernet gear that can be used again");
  verb->add_option("--explain", arguments->explain, "All about one device, with sources");
  verb->add_option("--prices", arguments->prices, "Rows of your own, as in catalog/market.csv, in place of ours");
  verb->add_flag("--all", arguments->all, "Also what does not fit");
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->callback([arguments, gpus, &status] {
    arguments->has_gpus = gpus->count() > 0;
    status = choose_device(*arguments);
  });
}

}  // namespace weft::cli
