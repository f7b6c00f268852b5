#include "engine/channel.h"

namespace weft::engine {

void Channel::push_remote(const Packet& packet) {
  Mail mail{packet, {}, 0};
  if (packet.flags & Packet::kHasCold) {
    mail.cold = source_.cold[packet.aux];
    if (mail.cold.payload != kNoSlot) {
      const PayloadSlot& bytes = source_.payload[mail.cold.payload];
      mail.bytes_at = static_cast<std::uint32_t>(mail_bytes_.size());
      mail_bytes_.insert(mail_bytes_.end(), bytes.begin(), bytes.begin() + packet.payload_B);
    }
    source_.free_cold(packet.aux);
  }
  mail_.push_back(mail);
}

void Channel::empty_mailbox() {
  for (Mail& mail : mail_) {
    if (mail.packet.flags & Packet::kHasCold) {
      if (mail.cold.payload != kNoSlot) {
        mail.cold.payload = destination_.payload.take();
        std::memcpy(destination_.payload[mail.cold.payload].data(), mail_bytes_.data() + mail.bytes_at,
                    mail.packet.payload_B);
      }
      mail.packet.aux = destination_.cold.take();
      destination_.cold[mail.packet.aux] = mail.cold;
    }
    enter(mail.packet);
  }
  mail_.clear();
  mail_bytes_.clear();
}

}  // namespace weft::engine
