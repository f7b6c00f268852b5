// Capabilities of a card of mlx5 past the verbs: none here. The call itself answers, as on every such card, because
// programs (perftest from 6.0 on) take an error for a broken device.
#include <cerrno>
#include <cstdint>

#pragma GCC visibility push(default)
#include <infiniband/mlx5dv.h>
#pragma GCC visibility pop

namespace {

constexpr std::uint32_t kVendorMellanox = 0x02c9;  // ibv_query_device reports the OUI

}  // namespace

// In: the capabilities that the program knows of. Out: those that were filled in.
int mlx5dv_query_device(ibv_context* context, mlx5dv_context* attributes) {
  ibv_device_attr device{};
  if (ibv_query_device(context, &device) != 0 || device.vendor_id != kVendorMellanox) return EOPNOTSUPP;
  attributes->version = 0;
  attributes->flags = 0;
  attributes->comp_mask = 0;
  return 0;
}
