// What the transports that acknowledge have in common: RC, and XRC, whose packets name a shared receive queue.
#pragma once

#include "nic/device.h"
#include "nic/roce_packet.h"
#include "nic/transport.h"

namespace weft::nic {

constexpr Transport reliable_transport(std::string_view name, std::uint8_t number, decltype(Transport::send) send,
                                       decltype(Transport::receive) receive) {
  return {.name = name,
          .number = number,
          .connected = true,
          .reliable = true,
          .one_packet = false,
          .operations = kReliableOperations,
          .state_B = 0,
          .format = &kRoceFormat,
          .send = send,
          .send_reply = &Device::send_rc_reply,
          .receive = receive,
          .on_timer = &Device::on_rc_timer};
}

}  // namespace weft::nic
