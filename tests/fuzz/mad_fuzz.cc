// Hostile MADs: a message that says the same when it is written and read again, or an error, never anything else.
//   mad_fuzz CORPUS
#include <cstdint>

#include "base/check.h"
#include "fuzz/targets.h"
#include "wire/cm_mad.h"

int weft::fuzz::mad_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace weft::wire;
  const Bytes bytes(data, size);
  if (const auto message = parse_cm_mad(bytes)) {
    const auto again = parse_cm_mad(build_cm_mad(*message));
    WEFT_CHECK(again && *again == *message, "a MAD is what was read");
  }
  if (const auto header = parse_ip_cm_header(bytes)) {
    std::array<std::uint8_t, kIpCmHeader_B> out{};
    write_ip_cm_header(*header, out);
    const auto again = parse_ip_cm_header(out);
    WEFT_CHECK(again && *again == *header, "addresses are what was read");
  }
  return 0;
}
