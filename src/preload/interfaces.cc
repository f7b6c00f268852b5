#include "preload/interfaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <new>

#include "preload/connection.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/stream_address.h"
#include "preload/streams.h"

namespace weft::preload {

namespace {

constexpr std::size_t kMostDevices = 64;
constexpr unsigned kUp = IFF_UP | IFF_RUNNING;

struct Interface {
  char name[IFNAMSIZ];
  verbs::Address address;
  int family;
  unsigned flags;
};
struct Interfaces {
  Interface all[kMostDevices + 1];
  std::size_t count = 0;
};

int family_of(const verbs::Address& address) {
  in6_addr in6;
  memcpy(&in6, address.bytes, sizeof in6);
  return IN6_IS_ADDR_V4MAPPED(&in6) ? AF_INET : AF_INET6;
}

bool is_link_local(const verbs::Gid& gid) {
  return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

void add_device(const verbs::DeviceInfo& device, Interfaces& list) {
  for (std::size_t i = 0; i < std::min<std::size_t>(device.gid_count, verbs::kMaxGids); ++i) {
    if (is_link_local(device.gids[i])) continue;
    Interface& made = list.all[list.count++];
    strncpy(made.name, device.netdev, sizeof made.name - 1);
    memcpy(made.address.bytes, device.gids[i].raw, sizeof made.address.bytes);
    made.family = family_of(made.address);
    made.flags = kUp | IFF_BROADCAST | IFF_MULTICAST;
    return;
  }
}

void list_interfaces(Interfaces& list) {
  list.all[0] = {"lo", {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}, AF_INET, kUp | IFF_LOOPBACK};
  list.count = 1;
  std::size_t size_B = kMostDevices * sizeof(verbs::DeviceInfo);
  auto* devices = static_cast<verbs::DeviceInfo*>(malloc(size_B));
  if (devices == nullptr) return;
  if (call_in_pieces(verbs::Op::kListDevices, nullptr, 0, devices, &size_B, nullptr) == 0) {
    for (std::size_t i = 0; i < size_B / sizeof(verbs::DeviceInfo); ++i) add_device(devices[i], list);
  }
  free(devices);
}

// Asked once: the interfaces of a lab's hosts do not change.
const Interfaces& interfaces() {
  static Interfaces list;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] { list_interfaces(list); });
  return list;
}

const Interface* find(const char* name) {
  const Interfaces& list = interfaces();
  for (std::size_t i = 0; i < list.count; ++i) {
    if (strncmp(list.all[i].name, name, IFNAMSIZ) == 0) return &list.all[i];
  }
  return nullptr;
}

int index_of(const Interface& interface) {
  return static_cast<int>(&interface - interfaces().all) + 1;
}

// The world does not tell prefixes; these are what its labs use. The loopback has the usual one.
verbs::Address mask_of(const Interface& interface) {
  verbs::Address mask{};
  const bool ipv4 = interface.family == AF_INET;
  const std::size_t first = ipv4 ? 12 : 0;
  const std::size_t size = !ipv4 ? 8 : (interface.flags & IFF_LOOPBACK) != 0 ? 1 : 3;
  memset(mask.bytes + first, 0xff, size);
  return mask;
}

void list_in(ifconf& out) {
  const Interfaces& list = interfaces();
  const auto room = static_cast<std::size_t>(out.ifc_len) / sizeof(ifreq);
  std::size_t written = 0;
  for (std::size_t i = 0; i < list.count; ++i) {
    if (list.all[i].family != AF_INET) continue;
    if (out.ifc_req != nullptr && written < room) {
      ifreq& entry = out.ifc_req[written];
      entry = {};
      memcpy(entry.ifr_name, list.all[i].name, IFNAMSIZ);
      socklen_t size_B = sizeof entry.ifr_addr;
      write_address(AF_INET, list.all[i].address, 0, &entry.ifr_addr, &size_B);
    }
    ++written;
  }
  out.ifc_len = static_cast<int>((out.ifc_req == nullptr ? written : std::min(written, room)) * sizeof(ifreq));
}

int answer(unsigned long request, const Interface& interface, ifreq& out) {
  socklen_t size_B = sizeof out.ifr_addr;
  switch (request) {
    case SIOCGIFFLAGS:
      out.ifr_flags = static_cast<short>(interface.flags);
      return 0;
    case SIOCGIFADDR:
      if (interface.family != AF_INET) return EADDRNOTAVAIL;
      write_address(AF_INET, interface.address, 0, &out.ifr_addr, &size_B);
      return 0;
    case SIOCGIFNETMASK:
      if (interface.family != AF_INET) return EADDRNOTAVAIL;
      write_address(AF_INET, mask_of(interface), 0, &out.ifr_netmask, &size_B);
      return 0;
    case SIOCGIFINDEX:
      out.ifr_ifindex = index_of(interface);
      return 0;
    case SIOCGIFMTU:
      out.ifr_mtu = (interface.flags & IFF_LOOPBACK) != 0 ? 65536 : 1500;
      return 0;
    case SIOCGIFHWADDR: {
      // A locally administered address made of the interface's own.
      const bool loopback = (interface.flags & IFF_LOOPBACK) != 0;
      out.ifr_hwaddr = {};
      out.ifr_hwaddr.sa_family = loopback ? ARPHRD_LOOPBACK : ARPHRD_ETHER;
      if (loopback) return 0;
      out.ifr_hwaddr.sa_data[0] = 2;
      memcpy(out.ifr_hwaddr.sa_data + 2, interface.address.bytes + 12, 4);
      return 0;
    }
    default:
      return EOPNOTSUPP;
  }
}

}  // namespace

bool ask_interface(unsigned long request, void* argument, int* error) {
  const bool of_one = request == SIOCGIFFLAGS || request == SIOCGIFADDR || request == SIOCGIFNETMASK ||
                      request == SIOCGIFINDEX || request == SIOCGIFMTU || request == SIOCGIFHWADDR;
  if (!this_process().attached || (!of_one && request != SIOCGIFCONF)) return false;
  if (request == SIOCGIFCONF) {
    list_in(*static_cast<ifconf*>(argument));
    *error = 0;
    return true;
  }
  auto& question = *static_cast<ifreq*>(argument);
  const Interface* interface = find(question.ifr_name);
  *error = interface == nullptr ? ENODEV : answer(request, *interface, question);
  return true;
}

WEFT_EXPORT int getifaddrs(struct ifaddrs** out) noexcept {
  if (!this_process().attached) return WEFT_REAL(getifaddrs)(out);
  struct Entry {
    ifaddrs head;
    sockaddr_storage address, mask;
    char name[IFNAMSIZ];
  };
  const Interfaces& list = interfaces();
  auto* entries = static_cast<Entry*>(calloc(list.count, sizeof(Entry)));
  if (entries == nullptr) return fail(ENOMEM);
  for (std::size_t i = 0; i < list.count; ++i) {
    const Interface& interface = list.all[i];
    Entry& entry = entries[i];
    memcpy(entry.name, interface.name, sizeof entry.name);
    entry.head.ifa_name = entry.name;
    entry.head.ifa_flags = interface.flags;
    entry.head.ifa_addr = reinterpret_cast<sockaddr*>(&entry.address);
    entry.head.ifa_netmask = reinterpret_cast<sockaddr*>(&entry.mask);
    entry.head.ifa_next = i + 1 < list.count ? &entries[i + 1].head : nullptr;
    socklen_t size_B = sizeof entry.address;
    write_address(interface.family, interface.address, 0, entry.head.ifa_addr, &size_B);
    size_B = sizeof entry.mask;
    write_address(interface.family, mask_of(interface), 0, entry.head.ifa_netmask, &size_B);
  }
  *out = &entries[0].head;
  return 0;
}

WEFT_EXPORT void freeifaddrs(struct ifaddrs* list) noexcept {
  if (!this_process().attached) return WEFT_REAL(freeifaddrs)(list);
  free(list);  // one piece, and its head is the first entry
}

WEFT_EXPORT unsigned if_nametoindex(const char* name) noexcept {
  if (!this_process().attached) return WEFT_REAL(if_nametoindex)(name);
  const Interface* interface = find(name);
  if (interface == nullptr) errno = ENODEV;
  return interface == nullptr ? 0 : static_cast<unsigned>(index_of(*interface));
}

WEFT_EXPORT char* if_indextoname(unsigned index, char* name) noexcept {
  if (!this_process().attached) return WEFT_REAL(if_indextoname)(index, name);
  if (index == 0 || index > interfaces().count) {
    errno = ENXIO;
    return nullptr;
  }
  memcpy(name, interfaces().all[index - 1].name, IFNAMSIZ);
  return name;
}

}  // namespace weft::preload
