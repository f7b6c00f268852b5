// The same configuration as `config` commands of SONiC, and the values that both have in its words.
#include <fmt/format.h>

#include <algorithm>

#include "gear/emit/sonic.h"
#include "model/qos_words.h"
#include "model/sonic_ranges.h"

namespace weft::gear {

std::string sonic_fec(lab::Fec fec) {
  return fec == lab::Fec::kNone ? "none" : fec == lab::Fec::kBaseR ? "fc" : "rs";
}

WatchdogTimes asked_watchdog(const fabric::WatchdogConfig& dog) {
  return {whole_ms(dog.detection_ps), whole_ms(dog.restoration_ps), whole_ms(dog.poll_ps)};
}

// The nearest times that PFC_WD and pfcwd take (sonic-pfcwd.yang): the poll is never above the other two.
WatchdogTimes sonic_watchdog(const fabric::WatchdogConfig& dog) {
  WatchdogTimes times = asked_watchdog(dog);
  const auto within = [](std::int64_t ms, Time_ps most_ps) -> std::int64_t {
    return std::clamp<std::int64_t>(ms, lab::kSonicWatchdogMin_ps / kMillisecond_ps, most_ps / kMillisecond_ps);
  };
  times.detection_ms = within(times.detection_ms, lab::kSonicDetectionMax_ps);
  times.restoration_ms = within(times.restoration_ms, lab::kSonicRestorationMax_ps);
  times.poll_ms = std::min({within(times.poll_ms, lab::kSonicPollMax_ps), times.detection_ms, times.restoration_ms});
  return times;
}

std::string sonic_commands(const SwitchJob& job, const SwitchOutput& out) {
  const Contract& contract = job.contract;
  const fabric::SwitchQos& qos = contract.qos;
  std::string text =
      "#!/bin/sh\n" + head_comment(job, "SONiC commands", "# ") + out.comments("# ") +
      "#\n# Maps, buffers and schedulers have no command: config load merges them from config_db.json.\n"
      "# What the switch has and this file lacks stays: a BUFFER_PG|Ethernet0|3-4 or a QUEUE|Ethernet0|3-4 of the "
      "image\n"
      "# lies over |3 here. Before the first load delete BUFFER_PG, BUFFER_QUEUE and QUEUE entries of ranges\n"
      "# (`sonic-db-cli CONFIG_DB keys 'BUFFER_PG|*'`, `sonic-db-cli CONFIG_DB del KEY`), and compare afterwards:\n"
      "# weft import of `show runningconfiguration all`, --against the lab.\n"
      "# A changed buffer_model acts after `config save -y` and `config reload -y`, which stops traffic.\n"
      "# Never `config qos reload` on a switch in service: it writes the image's own template.\nset -eu\n"
      "cd \"$(dirname \"$0\")\"\nconfig load -y ./config_db.json\n";
  if (job.routes() && !job.options.numbered)
    text +=
        "# Mode split-unified: the bgp container keeps this file. In mode split it deletes it at its start.\n"
        "cp ./frr.conf /etc/sonic/frr/frr.conf\n";
  for (std::uint8_t q : contract.queues()) {
    const fabric::EcnRamp& ecn = qos.queues[q].ecn;
    if (!ecn.enabled) continue;
    const std::int64_t drop = whole_percent(ecn.probability_ppb);
    text += fmt::format(
        "ecnconfig -p WEFT_QUEUE{} -gmin {} -gmax {} -gdrop {} -ymin {} -ymax {} -ydrop {} -rmin {} -rmax {} "
        "-rdrop {}\n",
        q, ecn.min_B, ecn.max_B, drop, ecn.min_B, ecn.max_B, drop, ecn.min_B, ecn.max_B, drop);
  }
  for (const ContractPort& port : contract.ports) {
    const std::string& name = port.sonic_name;
    text += fmt::format("config interface speed {} {}\nconfig interface fec {} {}\nconfig interface mtu {} {}\n", name,
                        port.rate_bps / 1'000'000, name, sonic_fec(port.fec), name, port.mtu_B);
    for (std::uint8_t priority : contract.pfc_priorities())
      text += fmt::format("config interface pfc priority {} {} on\n", name, priority);
  }
  if (qos.watchdog.enabled && !contract.pfc_priorities().empty()) {
    const WatchdogTimes times = sonic_watchdog(qos.watchdog);
    text += fmt::format("pfcwd interval {}\n", times.poll_ms);
    for (const ContractPort& port : contract.ports)
      text += fmt::format("pfcwd start --action {} --restoration-time {} {} {}\n",
                          lab::word_of(lab::watchdog_words(), qos.watchdog.action), times.restoration_ms,
                          port.sonic_name, times.detection_ms);
  } else {
    text += "pfcwd stop\n";
  }
  text += "config save -y\n";
  if (job.routes())
    text +=
        "# The routing mode is read when the container starts: its BGP sessions go down for it.\nsystemctl restart "
        "bgp\n";
  return text + "# Look: show pfc counters; show priority-group watermark headroom; pfcwd show stats\n";
}

}  // namespace weft::gear
