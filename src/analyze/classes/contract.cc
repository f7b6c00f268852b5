#include "analyze/classes/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/cm_mad.h"

namespace weft::analyze {
namespace {

constexpr std::array<std::string_view, 4> kEcnNames = {"not-ECT", "ECT(1)", "ECT(0)", "CE"};

std::string bits_text(std::uint64_t bits) {
  std::string text;
  for (int bit = 0; bit < 64; ++bit)
    if ((bits >> bit & 1) != 0) text += fmt::format("{}{}", text.empty() ? "" : " or ", bit);
  return text.empty() ? "none" : text;
}

const ContractPort* find_port(const Contract& contract, const wire::IpAddress& address) {
  const auto found = std::find_if(contract.ports.begin(), contract.ports.end(),
                                  [&](const ContractPort& port) { return port.address == address; });
  return found == contract.ports.end() ? nullptr : &*found;
}

}  // namespace

const ContractPort* ContractCheck::port_of(AddressId address, const Addresses& addresses) {
  if (address >= port_by_address_.size()) port_by_address_.resize(addresses.size(), -2);
  std::int32_t& at = port_by_address_[address];
  if (at == -2) {
    const ContractPort* port = find_port(contract_, addresses.at(address));
    at = port == nullptr ? -1 : static_cast<std::int32_t>(port - contract_.ports.data());
  }
  return at < 0 ? nullptr : &contract_.ports[static_cast<std::size_t>(at)];
}

void ContractCheck::note(Kind kind, const std::string& place, const Frame& frame, std::string what) {
  constexpr std::size_t kMostPlaces = 1000;
  if (seen_[kind].size() == kMostPlaces && !seen_[kind].contains(place)) return;
  Seen& seen = seen_[kind][place];
  if (seen.count++ == 0) seen.what = std::move(what);
  if (seen.first.size() < 3) seen.first.push_back({frame.number, frame.time_ns, frame.point, ""});
}

void ContractCheck::see(const Frame& frame, const Addresses& addresses) {
  if (frame.dest_qp == wire::kGeneralServicesQp) return;  // CM has a class of its own
  ++frames_;
  const ContractPort* port = port_of(frame.src, addresses);
  if (port == nullptr) {
    note(kUnknown, addresses.text(frame.src) + " > " + addresses.text(frame.dst), frame,
         fmt::format("RoCE from {}, which is no port of {}", addresses.text(frame.src), contract_.lab));
    return;
  }
  const bool is_cnp = frame.is_cnp();
  const std::uint64_t dscps = is_cnp ? port->cnp_dscps : port->dscps;
  if ((dscps >> frame.dscp() & 1) == 0)
    note(kDscp, port->name, frame,
         fmt::format("{} carry DSCP {}, the lab says {}", is_cnp ? "CNPs" : "RoCE packets", frame.dscp(),
                     bits_text(dscps)));
  const std::uint8_t priorities = is_cnp ? port->cnp_priorities : port->priorities;
  if (port->tagged && frame.vlan_tci >= 0 && (priorities >> frame.pcp() & 1) == 0)
    note(kPriority, port->name, frame,
         fmt::format("{} carry VLAN priority {}, the lab says {}", is_cnp ? "CNPs" : "RoCE packets", frame.pcp(),
                     bits_text(priorities)));
  // A packet that others of its message follow is a whole path MTU.
  const ContractPort* peer = port_of(frame.dst, addresses);
  const bool is_whole = wire::is_first(frame.opcode) || wire::is_middle(frame.opcode);
  if (is_whole && peer != nullptr && frame.payload_B < std::min(port->path_mtu_B, peer->path_mtu_B))
    note(kSmallMtu, port->name + " > " + peer->name, frame,
         fmt::format("messages are cut into packets of {} B, the MTUs of the lab allow {}", frame.payload_B,
                     std::min(port->path_mtu_B, peer->path_mtu_B)));
  // A switch may have marked what was ECT; only data has to be.
  const bool is_data = frame.payload_B > 0 && !is_cnp;
  const bool is_capable = frame.ecn() != 0;
  if (is_data && is_capable != port->ect)
    note(port->ect ? kEcn : kUnwantedEcn, port->name, frame,
         fmt::format("RoCE data is {}, the lab says {}", kEcnNames[frame.ecn()], port->ect ? "ECT(0)" : "not-ECT"));
}

void ContractCheck::see_pause(const Frame& frame, const std::string& interface) {
  ++pauses_;
  const auto own = contract_.lossless.find(interface);
  const std::uint8_t allowed = own == contract_.lossless.end() ? contract_.lossless_anywhere : own->second;
  const std::uint8_t paused = frame.kind == FrameKind::kPfc ? frame.class_enable : 0xff;
  if ((paused & ~allowed) == 0) return;
  note(kPauseClass, interface.empty() ? "the capture" : interface, frame,
       frame.kind == FrameKind::kPause
           ? fmt::format("an 802.3x pause stops all classes, the lab makes {} lossless", bits_text(allowed))
           : fmt::format("a pause of class {}, the lab makes {} lossless",
                         bits_text(static_cast<std::uint8_t>(paused & ~allowed)), bits_text(allowed)));
}

void ContractCheck::judge_mtu(const Addresses& addresses, const Streams& streams, Findings& findings) const {
  std::map<std::string, Finding> by_place;
  for (StreamId id = 0; id < streams.size(); ++id) {
    const Stream& stream = streams[id];
    const ContractPort* src = find_port(contract_, addresses.at(stream.src));
    const ContractPort* dst = find_port(contract_, addresses.at(stream.dst));
    if (src == nullptr || dst == nullptr || stream.dst_qp == wire::kGeneralServicesQp) continue;
    const std::uint32_t allowed_B = std::min(src->path_mtu_B, dst->path_mtu_B);
    if (stream.payload_B_most <= allowed_B) continue;
    const std::string place = src->name + " > " + dst->name;
    by_place[place] = {
        "contract.mtu",
        place,
        fmt::format("packets carry {} B, the MTUs of the lab allow {}", stream.payload_B_most, allowed_B),
        "the interfaces have a larger MTU than the lab says",
        1,
        {{stream.first_frame, stream.first_ns, stream.point, "the first packet of the queue pair"}},
        {{"host", "ip link show; ibv_devinfo -v: active_mtu"}}};
  }
  for (auto& [place, finding] : by_place) findings.add(std::move(finding));
}

void ContractCheck::finish(const Addresses& addresses, const Streams& streams, Findings& findings) const {
  if (!is_used()) {
    findings.judge("contract", 0, "frames", "no lab was given (--lab)");
    return;
  }
  struct Text {
    std::string_view id, cause, where, remedy;
  };
  static constexpr std::array<Text, kKinds> kContractTexts = {{
      {"contract.dscp", "the program or the NIC sets another traffic class, or a switch on the way rewrites it", "NIC",
       "cma_roce_tos -d DEV -t TOS; echo TOS > /sys/class/infiniband/DEV/tc/1/traffic_class; NCCL_IB_TC=TOS"},
      {"contract.priority", "the map from priority to VLAN priority of the host differs", "host",
       "ip link set dev IFACE.VLAN type vlan egress 0:PRIO ...; mlnx_qos -i IFACE --trust=pcp"},
      {"contract.ecn", "ECN is off in the traffic class of the sender", "NIC",
       "TOS with 2 in the low bits: cma_roce_tos -d DEV -t 106; echo 1 > /sys/class/net/IFACE/ecn/roce_rp/enable/PRIO"},
      {"contract.pause-class", "PFC is on for another priority than the lab's on one end of the link", "NIC",
       "mlnx_qos -i IFACE --pfc 0,0,0,1,0,0,0,0; on the switch: show pfc priority"},
      {"contract.unknown-flow", "another host, or another address of a host", "host",
       "show_gids on the host; the lab's addresses"},
      {"contract.mtu", "an interface has a smaller MTU than the lab says, or the program asks for a smaller path MTU",
       "host", "ip link set IFACE mtu MTU; ibv_devinfo -v: active_mtu; perftest -m"},
      {"contract.ecn", "the traffic class of the sender has ECN on: switches mark its data where they would drop it",
       "NIC", "TOS with 0 in the low bits: cma_roce_tos -d DEV -t 104; or ecn: true in the lab, if ECN is wanted"},
  }};
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    for (const auto& [place, seen] : seen_[kind]) {
      const Text& text = kContractTexts[kind];
      findings.add({text.id,
                    place,
                    fmt::format("{} ({})", seen.what, counted(seen.count, "frame")),
                    std::string(text.cause),
                    seen.count,
                    seen.first,
                    {{std::string(text.where), std::string(text.remedy)}}});
    }
  judge_mtu(addresses, streams, findings);
  findings.judge("contract", frames_ + pauses_, "frames", "no RoCE or pause frame");
}

}  // namespace weft::analyze
