// Any bytes are a capture or an error; what a capture points to lies within the bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "pcap/pcap_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto capture = weft::pcap::read_capture(std::span(data, size));
  if (!capture) {
    if (capture.error().offset_B > size) std::abort();
    return 0;
  }
  std::size_t sum = 0;
  for (const auto& packet : capture->packets) {
    if (packet.interface >= capture->interfaces.size()) std::abort();
    for (const std::uint8_t byte : packet.bytes) sum += byte;
    for (const char c : packet.comment) sum += static_cast<unsigned char>(c);
  }
  for (const auto& interface : capture->interfaces) {
    for (const char c : interface.name) sum += static_cast<unsigned char>(c);
    for (const char c : interface.description) sum += static_cast<unsigned char>(c);
  }
  volatile std::size_t kept = sum;  // the sanitizer has seen every byte
  static_cast<void>(kept);
  return 0;
}
