#include "engine/channel.h"

namespace weft::engine {

void Channel::push_remote(const Packet& packet) {
  if (mail_.empty() && post_ != nullptr) post_->push_back(this);
  mail_.push_back(packet);
  if (packet.flags & Packet::kHasCold) mail_cold(packet);
}

// What the slots hold travels by value; the receiver finds it in the order of its packets.
void Channel::mail_cold(const Packet& packet) {
  const Cold& cold = source_.cold[packet.aux];
  mail_cold_.push_back(cold);
  if (cold.payload != kNoSlot) {
    const PayloadSlot& bytes = source_.payload[cold.payload];
    mail_bytes_.insert(mail_bytes_.end(), bytes.begin(), bytes.begin() + packet.payload_B);
  }
  if (cold.telemetry != kNoSlot) mail_telemetry_.push_back(source_.telemetry[cold.telemetry]);
  source_.free_cold(packet.aux);
}

void Channel::empty_mailbox() {
  auto cold = mail_cold_.begin();
  auto telemetry = mail_telemetry_.begin();
  const std::uint8_t* bytes = mail_bytes_.data();
  for (Packet& packet : mail_) {
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
    packet.opcode == kPauseOpcode ? enter_pause(packet) : enter(packet);
  }
  mail_.clear();
  mail_cold_.clear();
  mail_telemetry_.clear();
  mail_bytes_.clear();
}

}  // namespace weft::engine
