#include "nic/transports/transport.h"

#include "fabric/link_flow_control.h"
#include "nic/transports/ip_datagram.h"
#include "nic/transports/roce_packet.h"

namespace weft::nic {

const Transport& transport_of(QpType type) {
  switch (type) {
    case QpType::kRc:
      return kRcTransport;
    case QpType::kUd:
      return kUdTransport;
    case QpType::kUc:
      return kUcTransport;
    case QpType::kXrc:
      return kXrcTransport;
  }
  return kRcTransport;
}

const engine::PacketFormats& packet_formats() {
  static const engine::PacketFormats kFormats = [] {
    engine::PacketFormats all;
    for (const Transport* each : {&kRcTransport, &kUcTransport, &kUdTransport, &kXrcTransport, &kIpTransport})
      all.formats[each->number] = each->format;
    all.formats[kCnpNumber] = &kCnpFormat;
    all.formats[engine::kLinkControl] = &fabric::kLinkControlFormat;
    return all;
  }();
  return kFormats;
}

}  // namespace weft::nic
