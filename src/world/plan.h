// A world before it is built: who has which port number and address, which switch ports have a cable, how destinations
// are found, and which domain each node belongs to. A function of the lab and the number of domains alone, so that
// engines that share a world agree on it without a word.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/route_table.h"
#include "model/lab.h"
#include "spec/address_book.h"

namespace weft::lab {

struct WorldPlan {
  WorldPlan(const Lab& lab, std::uint32_t domains);

  std::uint32_t port_id(const PortRef& port) const {
    return port.is_switch() ? switch_port_ids[port.host][port.port] : port_ids[port.host][port.nic][port.port];
  }
  std::uint32_t cabled_index_of(const PortRef& port) const { return cabled_index[port.host][port.port]; }

  fabric::AddressBook book;                                       // by port id
  std::uint32_t host_ports = 0;                                   // of the port ids, the first: those of hosts
  std::vector<std::vector<std::vector<std::uint32_t>>> port_ids;  // of hosts: by host, NIC, port
  std::vector<std::vector<std::uint32_t>> switch_port_ids;        // by switch, port; kNoId without a cable
  std::vector<std::vector<std::uint32_t>> cabled;                 // by switch: its ports that have a cable
  std::vector<std::vector<std::uint32_t>> cabled_index;           // the other way round
  std::vector<std::vector<std::int64_t>> switch_rates_bps;        // by switch, cabled port
  std::vector<std::uint32_t> switch_of_port;                      // by port id; kNoId of hosts
  std::vector<std::uint32_t> subnets;                             // by port id, of hosts
  std::vector<std::uint32_t> carriers;                            // by port id, of hosts: of a VF its NIC's port
  bool has_vfs = false;
  fabric::Destinations destinations;  // by port id, of hosts
  std::vector<std::uint32_t> domain_of_host;
  std::vector<std::uint32_t> domain_of_switch;

 private:
  void number_ports(const Lab& lab);
  void set_destinations(const Lab& lab);
  void deal_domains(const Lab& lab, std::uint32_t domains);
};

}  // namespace weft::lab
