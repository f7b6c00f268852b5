#include "engine/mailbox.h"

#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "engine/domain.h"
#include "engine/inlet.h"

namespace weft::engine {

namespace {

// Lengths of the four lists, as they lie in front of them.
using Lengths = std::array<std::uint64_t, 4>;

template <class T>
void append(const T* first, std::size_t count, std::vector<std::byte>& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* bytes = reinterpret_cast<const std::byte*>(first);
  out.insert(out.end(), bytes, bytes + count * sizeof(T));
}

template <class T>
bool take(std::span<const std::byte>& bytes, std::uint64_t count, T* to) {
  if (count > bytes.size() / sizeof(T)) return false;
  if (count > 0) std::memcpy(static_cast<void*>(to), bytes.data(), count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
  return true;
}
template <class T>
bool take(std::span<const std::byte>& bytes, std::uint64_t count, std::vector<T>& list) {
  if (count > bytes.size() / sizeof(T)) return false;
  list.resize(count);
  return take(bytes, count, list.data());
}

// True if what deliver() will look for is there, no more and no less.
bool is_whole(const Mailbox& box) {
  std::size_t cold = 0, telemetry = 0, bytes = 0;
  for (const Mailbox::Entry& entry : box.entries) {
    if ((entry.packet.flags & Packet::kHasCold) == 0) continue;
    if (cold == box.cold.size()) return false;
    const Cold& own = box.cold[cold++];
    if (own.payload != kNoSlot) {
      if (entry.packet.payload_B > kPayloadSlot_B) return false;
      bytes += entry.packet.payload_B;
    }
    if (own.telemetry != kNoSlot) ++telemetry;
  }
  return cold == box.cold.size() && telemetry == box.telemetry.size() && bytes == box.bytes.size();
}

}  // namespace

void append_bytes(const Mailbox& box, std::vector<std::byte>& out) {
  const Lengths lengths{box.entries.size(), box.cold.size(), box.telemetry.size(), box.bytes.size()};
  append(lengths.data(), lengths.size(), out);
  append(box.entries.data(), box.entries.size(), out);
  append(box.cold.data(), box.cold.size(), out);
  append(box.telemetry.data(), box.telemetry.size(), out);
  append(box.bytes.data(), box.bytes.size(), out);
}

bool read_bytes(std::span<const std::byte> bytes, Mailbox& box) {
  Lengths lengths{};
  if (!take(bytes, lengths.size(), lengths.data()) || !take(bytes, lengths[0], box.entries) ||
      !take(bytes, lengths[1], box.cold) || !take(bytes, lengths[2], box.telemetry) ||
      !take(bytes, lengths[3], box.bytes) || !bytes.empty() || !is_whole(box)) {
    box.clear();
    return false;
  }
  for (const Mailbox::Entry& entry : box.entries) box.first_ps = std::min(box.first_ps, entry.packet.time_ps);
  return true;
}

// The slots of the cold side travel by value; the receiver finds them in the order of its packets.
void MailRoute::post(std::uint32_t inlet, const Packet& packet) {
  WEFT_DCHECK(inlet < inlets.size() && source != nullptr, "mail for a link that this route has");
  WEFT_DCHECK(packet.time_ps >= source->window_end_ps(), "mail is due after the window in which it is sent");
  Mailbox& box = written();
  box.entries.push_back({inlet, packet});
  box.first_ps = std::min(box.first_ps, packet.time_ps);
  source->mail_ps = std::min(source->mail_ps, packet.time_ps);
  if ((packet.flags & Packet::kHasCold) == 0) return;
  const Cold& cold = source->cold[packet.aux];
  box.cold.push_back(cold);
  if (cold.payload != kNoSlot) {
    const PayloadSlot& bytes = source->payload[cold.payload];
    WEFT_DCHECK(packet.payload_B <= kPayloadSlot_B, "payload that fits into its slot");
    box.bytes.insert(box.bytes.end(), bytes.begin(), bytes.begin() + packet.payload_B);
  }
  if (cold.telemetry != kNoSlot) box.telemetry.push_back(source->telemetry[cold.telemetry]);
  source->free_cold(packet.aux);
}

void MailRoute::deliver(Mailbox& box) {
  auto cold = box.cold.begin();
  auto telemetry = box.telemetry.begin();
  const std::uint8_t* bytes = box.bytes.data();
  // The entries come from another CPU's cache, the inlets from wherever they were left.
  constexpr std::size_t kAhead = 4;
  const std::size_t count = box.entries.size();
  for (std::size_t i = 0; i < count; ++i) {
    Mailbox::Entry& entry = box.entries[i];
    WEFT_CHECK(entry.inlet < inlets.size(), "mail for a link that this route has");
    if (i + kAhead < count) {
      const std::uint32_t ahead = box.entries[i + kAhead].inlet;
      if (ahead < inlets.size()) __builtin_prefetch(inlets[ahead]);
      __builtin_prefetch(&entry + 3 * kAhead);
    }
    Packet& packet = entry.packet;
    Inlet& inlet = *inlets[entry.inlet];
    if (packet.flags & Packet::kHasCold) {
      Domain& domain = inlet.domain();
      packet.aux = domain.cold.take();
      Cold& mine = domain.cold[packet.aux];
      WEFT_DCHECK(cold != box.cold.end(), "mail has the cold side of each packet");
      mine = *cold++;
      if (mine.payload != kNoSlot) {
        mine.payload = domain.payload.take();
        std::memcpy(domain.payload[mine.payload].data(), bytes, packet.payload_B);
        bytes += packet.payload_B;
      }
      if (mine.telemetry != kNoSlot) {
        mine.telemetry = domain.telemetry.take();
        WEFT_DCHECK(telemetry != box.telemetry.end(), "mail has the telemetry of each packet");
        domain.telemetry[mine.telemetry] = *telemetry++;
      }
    }
    if (packet.transport == kLinkControl) {
      inlet.enter_pause(packet);
    } else {
      inlet.enter(packet);
    }
  }
  WEFT_DCHECK(
      cold == box.cold.end() && telemetry == box.telemetry.end() && bytes == box.bytes.data() + box.bytes.size(),
      "all that mail has belongs to its packets");
  box.clear();
}

}  // namespace weft::engine
