// The tables of a port: GIDs, of which those of DeviceInfo are filled and the rest are empty, and one P_Key.
#include <arpa/inet.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>

#include "verbs/ibverbs/objects.h"

using namespace weft::verbs;

namespace {

constexpr std::uint16_t kDefaultPkey = 0xffff;

// Types as ibv_devinfo asks for them: InfiniBand and RoCE v1 are one to sysfs.
enum class SysfsGidType : std::uint32_t { kInfinibandOrRoceV1, kRoceV2 };

bool is_empty(const Gid& gid) {
  static constexpr std::uint8_t kZero[sizeof gid.raw] = {};
  return std::memcmp(gid.raw, kZero, sizeof kZero) == 0;
}

void fill(const DeviceInfo& info, std::uint32_t index, ibv_gid_entry& entry) {
  std::memcpy(entry.gid.raw, info.gids[index].raw, sizeof entry.gid.raw);
  entry.gid_index = index;
  entry.port_num = kPort;
  entry.gid_type = info.gids[index].type;
  entry.ndev_ifindex = if_nametoindex(info.netdev);
}

}  // namespace

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (port != kPort || index < 0 || index >= kGidTable) {
    errno = EINVAL;
    return -1;
  }
  const DeviceInfo info = device_info(*context);
  *gid = {};
  if (static_cast<std::uint32_t>(index) < info.gid_count) std::memcpy(gid->raw, info.gids[index].raw, sizeof gid->raw);
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                      std::uint32_t flags, std::size_t entry_B) {
  if (flags != 0) return EOPNOTSUPP;
  if (port != kPort || index >= kGidTable || entry_B < sizeof *entry) return EINVAL;
  const DeviceInfo info = device_info(*context);
  if (index >= info.gid_count || is_empty(info.gids[index])) return ENODATA;
  std::memset(static_cast<void*>(entry), 0, entry_B);
  fill(info, index, *entry);
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t room, std::uint32_t flags,
                             std::size_t entry_B) {
  if (flags != 0) return -EOPNOTSUPP;
  if (entry_B < sizeof *entries) return -EINVAL;
  const DeviceInfo info = device_info(*context);
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < info.gid_count; ++i) {
    if (is_empty(info.gids[i])) continue;
    if (count == room) return -EINVAL;  // as Linux: all of them, or none
    auto* entry = reinterpret_cast<std::uint8_t*>(entries) + count * entry_B;
    std::memset(entry, 0, entry_B);
    fill(info, i, *reinterpret_cast<ibv_gid_entry*>(entry));
    ++count;
  }
  return static_cast<ssize_t>(count);
}

WEFT_VERB int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned int index, SysfsGidType* type) {
  if (port != kPort || index >= kGidTable) {
    errno = EINVAL;
    return -1;
  }
  const DeviceInfo info = device_info(*context);
  const bool is_v2 = index < info.gid_count && info.gids[index].type == IBV_GID_TYPE_ROCE_V2;
  *type = is_v2 ? SysfsGidType::kRoceV2 : SysfsGidType::kInfinibandOrRoceV1;
  return 0;
}

int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* pkey) {
  if (port != kPort || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *pkey = htons(kDefaultPkey);
  return 0;
}

int ibv_get_pkey_index(ibv_context*, std::uint8_t port, __be16 pkey) {
  if (port == kPort && pkey == htons(kDefaultPkey)) return 0;
  errno = EINVAL;
  return -1;
}
