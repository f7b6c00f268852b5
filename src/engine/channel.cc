#include "engine/channel.h"

namespace weft::engine {

void Channel::push_remote(const Packet& packet) {
  Mailbox& box = route_->written();
  box.letters.push_back({this, packet});
  box.first_ps = std::min(box.first_ps, packet.time_ps);
  if (packet.flags & Packet::kHasCold) mail_cold(box, packet);
}

// What the slots hold travels by value; the receiver finds it in the order of its packets.
void Channel::mail_cold(Mailbox& box, const Packet& packet) {
  const Cold& cold = source_.cold[packet.aux];
  box.cold.push_back(cold);
  if (cold.payload != kNoSlot) {
    const PayloadSlot& bytes = source_.payload[cold.payload];
    box.bytes.insert(box.bytes.end(), bytes.begin(), bytes.begin() + packet.payload_B);
  }
  if (cold.telemetry != kNoSlot) box.telemetry.push_back(source_.telemetry[cold.telemetry]);
  source_.free_cold(packet.aux);
}

void deliver(Mailbox& box) {
  auto cold = box.cold.begin();
  auto telemetry = box.telemetry.begin();
  const std::uint8_t* bytes = box.bytes.data();
  for (Mailbox::Letter& letter : box.letters) {
    Packet& packet = letter.packet;
    Domain& domain = letter.channel->destination();
    if (packet.flags & Packet::kHasCold) {
      packet.aux = domain.cold.take();
      Cold& mine = domain.cold[packet.aux];
      mine = *cold++;
      if (mine.payload != kNoSlot) {
        mine.payload = domain.payload.take();
        std::memcpy(domain.payload[mine.payload].data(), bytes, packet.payload_B);
        bytes += packet.payload_B;
      }
      if (mine.telemetry != kNoSlot) {
        mine.telemetry = domain.telemetry.take();
        domain.telemetry[mine.telemetry] = *telemetry++;
      }
    }
    letter.channel->enter_from_mail(packet);
  }
  box.clear();
}

}  // namespace weft::engine
