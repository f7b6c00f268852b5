#include "engine/channel.h"

namespace weft::engine {

void Channel::push_remote(const Packet& packet) {
  if (mail_->packets.empty() && post_ != nullptr) post_->push_back(this);
  mail_->packets.push_back(packet);
  if (packet.flags & Packet::kHasCold) mail_cold(packet);
}

// What the slots hold travels by value; the receiver finds it in the order of its packets.
void Channel::mail_cold(const Packet& packet) {
  const Cold& cold = source_.cold[packet.aux];
  mail_->cold.push_back(cold);
  if (cold.payload != kNoSlot) {
    const PayloadSlot& bytes = source_.payload[cold.payload];
    mail_->bytes.insert(mail_->bytes.end(), bytes.begin(), bytes.begin() + packet.payload_B);
  }
  if (cold.telemetry != kNoSlot) mail_->telemetry.push_back(source_.telemetry[cold.telemetry]);
  source_.free_cold(packet.aux);
}

void Channel::empty_mailbox() {
  auto cold = mail_->cold.begin();
  auto telemetry = mail_->telemetry.begin();
  const std::uint8_t* bytes = mail_->bytes.data();
  for (Packet& packet : mail_->packets) {
    if (packet.flags & Packet::kHasCold) {
      packet.aux = destination_.cold.take();
      Cold& mine = destination_.cold[packet.aux];
      mine = *cold++;
      if (mine.payload != kNoSlot) {
        mine.payload = destination_.payload.take();
        std::memcpy(destination_.payload[mine.payload].data(), bytes, packet.payload_B);
        bytes += packet.payload_B;
      }
      if (mine.telemetry != kNoSlot) {
        mine.telemetry = destination_.telemetry.take();
        destination_.telemetry[mine.telemetry] = *telemetry++;
      }
    }
    packet.transport == kLinkControl ? enter_pause(packet) : enter(packet);
  }
  mail_->packets.clear();
  mail_->cold.clear();
  mail_->telemetry.clear();
  mail_->bytes.clear();
}

}  // namespace weft::engine
