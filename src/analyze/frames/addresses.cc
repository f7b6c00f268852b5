#include "analyze/frames/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace weft::analyze {
namespace {

std::size_t hash_of(const wire::IpAddress& address) {
  std::uint64_t high = 0, low = 0;
  std::memcpy(&high, address.data(), 8);
  std::memcpy(&low, address.data() + 8, 8);
  // Addresses differ in their last bytes, the high ones of `low`: bring them down before it is
  // multiplied, which carries upwards only.
  std::uint64_t mixed = (high ^ 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL ^ low;
  mixed = (mixed ^ mixed >> 32) * 0x94d049bb133111ebULL;
  mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

}  // namespace

AddressId Addresses::id_of(const wire::IpAddress& address) {
  if (addresses_.size() * 2 >= slots_.size()) grow();
  for (std::size_t at = hash_of(address);; ++at) {
    std::uint32_t& slot = slots_[at & (slots_.size() - 1)];
    if (slot == 0) {
      if (addresses_.size() == kMostAddresses) return kNone;
      addresses_.push_back(address);
      slot = static_cast<std::uint32_t>(addresses_.size());
      return slot - 1;
    }
    if (addresses_[slot - 1] == address) return slot - 1;
  }
}

AddressId Addresses::add_ipv4(std::uint32_t address) {
  const auto byte = [address](int shift) { return static_cast<std::uint8_t>(address >> shift); };
  const AddressId id = id_of(wire::ipv4_mapped(byte(24), byte(16), byte(8), byte(0)));
  recent_[address * 0x9e3779b1U >> kRecentShift] = {address, id};
  return id;
}

AddressId Addresses::id_of_lid(std::uint16_t lid) {
  wire::IpAddress address{};
  address[14] = static_cast<std::uint8_t>(lid >> 8);
  address[15] = static_cast<std::uint8_t>(lid);
  return id_of(address);
}

void Addresses::grow() {
  slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
  for (std::uint32_t id = 0; id < addresses_.size(); ++id) {
    std::size_t at = hash_of(addresses_[id]);
    while (slots_[at & (slots_.size() - 1)] != 0) ++at;
    slots_[at & (slots_.size() - 1)] = id + 1;
  }
}

std::string Addresses::text(AddressId id) const {
  if (id >= addresses_.size()) return "?";
  char text[INET6_ADDRSTRLEN] = "";
  const wire::IpAddress& address = addresses_[id];
  if (wire::is_ipv4_mapped(address)) {
    inet_ntop(AF_INET, address.data() + 12, text, sizeof(text));
  } else if (std::all_of(address.begin(), address.end() - 2, [](std::uint8_t byte) { return byte == 0; })) {
    return "LID " + std::to_string(address[14] << 8 | address[15]);
  } else {
    inet_ntop(AF_INET6, address.data(), text, sizeof(text));
  }
  return text;
}

}  // namespace weft::analyze
