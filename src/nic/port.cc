#include "nic/port.h"

#include "base/check.h"
#include "nic/device.h"

namespace weft::nic {

Port::Port(Device& owner, DeviceConfig given, Card& its_card, fabric::LinkDirection& out, fabric::LinkDirection& into)
    : schedule(*into.inlet(), out),
      qps(given.seed, given.port_id, given.bond != nullptr),
      in(into),
      functions(its_card.functions.data()),
      cc(congestion_algorithm(given.qos.congestion.kind)),
      ack_interval_packets(given.model.ack_interval_packets),
      carry_payload(given.carry_payload),
      records(given.record),
      classes(given.qos),
      memory(given.bond == nullptr ? own_memory : given.bond->port().memory),
      buffer(given, config.model, its_card, counters, recovery),
      config(std::move(given)),
      device(owner),
      card(its_card),
      wire(out),
      own_memory(config.seed, config.port_id),
      shared(config.bond == nullptr ? own_shared : config.bond->port().shared),
      completions(config, shared.cqs, schedule, in),
      cnps(config.model, schedule),
      pauses(config, wire, schedule, buffer, counters),
      recovery(config.seed, config.port_id, RandomPurpose::kRecovery),
      message_interval_ps(kSecond_ps / config.model.message_rate_per_s),
      line_rate_bps(8 * kSecond_ps / out.timing().ps_per_byte) {
  WEFT_CHECK(ack_interval_packets > 0, "a NIC that never acknowledges");
  card.contexts.configure(config.model.context_cache, config.model.context_map, config.model.context_fetches,
                          config.host.dma_read_ps);
  own_memory.count_in(card.registered_B);
  if (config.bond != nullptr) Bond::join(config.bond->port(), *this);
  if (records) recorder = std::make_unique<PortRecord>();
}

}  // namespace weft::nic
