#include "preload/sockets/interfaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "preload/connection.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/refusals.h"
#include "preload/sockets/stream_address.h"
#include "preload/sockets/streams.h"
#include "verbs/address.h"

namespace weft::preload {

namespace {

using verbs::InterfaceInfo;

constexpr verbs::Address kNoAddress{};
constexpr verbs::Address kLoopback6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

bool is_loopback(const InterfaceInfo& interface) {
  return (interface.flags & IFF_LOOPBACK) != 0;
}

bool has_name(const InterfaceInfo& interface, const char* name) {
  return strncmp(interface.name, name, IFNAMSIZ) == 0;
}

template <typename Wanted>
bool find(const Wanted& wanted, InterfaceInfo& found) {
  const Interfaces list = interfaces();
  const InterfaceInfo* end = list.all + list.count;
  const InterfaceInfo* each = std::find_if(list.all, end, wanted);
  if (each != end) found = *each;
  return each != end;
}
bool find_named(const char* name, InterfaceInfo& found) {
  return find([name](const InterfaceInfo& each) { return has_name(each, name); }, found);
}
bool find_numbered(unsigned index, InterfaceInfo& found) {
  return find([index](const InterfaceInfo& each) { return each.index == index; }, found);
}

// In the form of an address: of IPv4, behind the 96 bits that its mapping takes.
verbs::Address mask_of(bool ipv4, unsigned prefix_bits) {
  verbs::Address mask{};
  const unsigned first = ipv4 ? 96 : 0;
  for (unsigned bit = first; bit < first + prefix_bits && bit < 128; ++bit)
    mask.bytes[bit / 8] = static_cast<std::uint8_t>(mask.bytes[bit / 8] | 0x80 >> bit % 8);
  return mask;
}

verbs::Address broadcast_of(const InterfaceInfo& interface) {
  verbs::Address address = interface.address;
  const verbs::Address mask = mask_of(true, interface.prefix_bits);
  for (std::size_t i = 12; i < 16; ++i) address.bytes[i] = static_cast<std::uint8_t>(address.bytes[i] | ~mask.bytes[i]);
  return address;
}

void list_in(ifconf& out) {
  const Interfaces list = interfaces();
  const auto room = static_cast<std::size_t>(out.ifc_len) / sizeof(ifreq);
  std::size_t written = 0;
  for (std::size_t i = 0; i < list.count; ++i) {
    if (!is_ipv4(list.all[i])) continue;
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

int answer_address(const InterfaceInfo& interface, const verbs::Address& address, sockaddr& out) {
  if (!is_ipv4(interface)) return EADDRNOTAVAIL;
  socklen_t size_B = sizeof out;
  write_address(AF_INET, address, 0, &out, &size_B);
  return 0;
}

int answer(unsigned long request, const InterfaceInfo& interface, ifreq& out) {
  switch (request) {
    case SIOCGIFFLAGS:
      out.ifr_flags = static_cast<short>(interface.flags);
      return 0;
    case SIOCGIFADDR:
      return answer_address(interface, interface.address, out.ifr_addr);
    case SIOCGIFNETMASK:
      return answer_address(interface, mask_of(true, interface.prefix_bits), out.ifr_netmask);
    case SIOCGIFBRDADDR:
      return answer_address(interface, broadcast_of(interface), out.ifr_broadaddr);
    case SIOCGIFDSTADDR:
      return answer_address(interface, interface.address, out.ifr_dstaddr);
    case SIOCGIFINDEX:
      out.ifr_ifindex = static_cast<int>(interface.index);
      return 0;
    case SIOCGIFMTU:
      out.ifr_mtu = static_cast<int>(interface.mtu_B);
      return 0;
    case SIOCGIFMETRIC:
      out.ifr_metric = 0;
      return 0;
    case SIOCGIFTXQLEN:
      out.ifr_qlen = 1000;
      return 0;
    case SIOCGIFMAP:
      out.ifr_map = {};
      return 0;
    case SIOCGIFHWADDR:
      out.ifr_hwaddr = {};
      out.ifr_hwaddr.sa_family = is_loopback(interface) ? ARPHRD_LOOPBACK : ARPHRD_ETHER;
      memcpy(out.ifr_hwaddr.sa_data, interface.mac, 6);
      return 0;
    default:
      return EOPNOTSUPP;
  }
}

bool is_of_one(unsigned long request) {
  switch (request) {
    case SIOCGIFFLAGS:
    case SIOCGIFADDR:
    case SIOCGIFNETMASK:
    case SIOCGIFBRDADDR:
    case SIOCGIFDSTADDR:
    case SIOCGIFINDEX:
    case SIOCGIFMTU:
    case SIOCGIFMETRIC:
    case SIOCGIFTXQLEN:
    case SIOCGIFMAP:
    case SIOCGIFHWADDR:
      return true;
    default:
      return false;
  }
}

// Changes of a node's interfaces are the lab file's business.
bool changes_one(unsigned long request) {
  return request == SIOCSIFFLAGS || request == SIOCSIFADDR || request == SIOCSIFNETMASK || request == SIOCSIFMTU ||
         request == SIOCSIFHWADDR || request == SIOCSIFNAME || request == SIOCSIFBRDADDR;
}

struct Entry {
  ifaddrs head;
  sockaddr_storage address, mask, broadcast;
  char name[IFNAMSIZ];
};

void fill_link(const InterfaceInfo& interface, Entry& entry) {
  auto& link = reinterpret_cast<sockaddr_ll&>(entry.address);
  link.sll_family = AF_PACKET;
  link.sll_ifindex = static_cast<int>(interface.index);
  link.sll_hatype = is_loopback(interface) ? ARPHRD_LOOPBACK : ARPHRD_ETHER;
  link.sll_halen = 6;
  memcpy(link.sll_addr, interface.mac, 6);
}

void fill_address(const InterfaceInfo& interface, const verbs::Address& address, unsigned prefix_bits, Entry& entry) {
  const bool ipv4 = verbs::is_ipv4(address);
  socklen_t size_B = sizeof entry.address;
  write_address(ipv4 ? AF_INET : AF_INET6, address, 0, entry.head.ifa_addr, &size_B);
  size_B = sizeof entry.mask;
  entry.head.ifa_netmask = reinterpret_cast<sockaddr*>(&entry.mask);
  write_address(ipv4 ? AF_INET : AF_INET6, mask_of(ipv4, prefix_bits), 0, entry.head.ifa_netmask, &size_B);
  if (ipv4 && !is_loopback(interface)) {
    size_B = sizeof entry.broadcast;
    entry.head.ifa_broadaddr = reinterpret_cast<sockaddr*>(&entry.broadcast);
    write_address(AF_INET, broadcast_of(interface), 0, entry.head.ifa_broadaddr, &size_B);
  }
  if (!ipv4 && memcmp(&address, &interface.link_local, sizeof address) == 0)
    reinterpret_cast<sockaddr_in6&>(entry.address).sin6_scope_id = interface.index;
}

}  // namespace

Interfaces interfaces() {
  Interfaces list;
  std::size_t size_B = sizeof list.all;
  if (call_in_pieces(verbs::Op::kInterfaces, nullptr, 0, list.all, &size_B, nullptr) == 0)
    list.count = std::min(size_B / sizeof list.all[0], kMaxInterfaces);
  return list;
}

bool is_ipv4(const InterfaceInfo& interface) {
  return verbs::is_ipv4(interface.address);
}

// ifconfig: what `ip link` says in netlink is refused with what to type instead.
int refuse_change(unsigned long request, const ifreq& question) {
  verbs::InterfaceChange change{};
  memcpy(change.interface, question.ifr_name, sizeof change.interface - 1);
  change.request = static_cast<std::uint32_t>(request);
  change.value = request == SIOCSIFMTU     ? static_cast<std::uint32_t>(question.ifr_mtu)
                 : request == SIOCSIFFLAGS ? static_cast<std::uint32_t>(static_cast<std::uint16_t>(question.ifr_flags))
                                           : 0;
  const int error = verbs::call(verbs::Op::kChangeInterface, change);
  if (error == EPERM || error == EINVAL) say_refusal();
  return error;
}

bool ask_interface(unsigned long request, void* argument, int* error) {
  if (!this_process().attached) return false;
  if (request == SIOCGIFCONF) {
    list_in(*static_cast<ifconf*>(argument));
    *error = 0;
    return true;
  }
  if (request == SIOCETHTOOL) {
    *error = ask_ethtool(argument);
    return true;
  }
  if (request == SIOCGIFNAME) {
    auto& question = *static_cast<ifreq*>(argument);
    InterfaceInfo interface;
    const bool known = find_numbered(static_cast<unsigned>(question.ifr_ifindex), interface);
    if (known) memcpy(question.ifr_name, interface.name, IFNAMSIZ);
    *error = known ? 0 : ENODEV;
    return true;
  }
  if (!is_of_one(request) && !changes_one(request)) return false;
  auto& question = *static_cast<ifreq*>(argument);
  InterfaceInfo interface;
  *error = !find_named(question.ifr_name, interface) ? ENODEV
           : changes_one(request)                    ? refuse_change(request, question)
                                                     : answer(request, interface, question);
  return true;
}

// As on Linux: of all interfaces the link, then the addresses of IPv4, then those of IPv6.
WEFT_EXPORT int getifaddrs(struct ifaddrs** out) noexcept {
  if (!this_process().attached) return WEFT_REAL(getifaddrs)(out);
  const Interfaces list = interfaces();
  auto* entries = static_cast<Entry*>(calloc(3 * list.count + 1, sizeof(Entry)));
  if (entries == nullptr) return fail(ENOMEM);
  std::size_t made = 0;
  const auto add = [&](const InterfaceInfo& interface) -> Entry& {
    Entry& entry = entries[made++];
    memcpy(entry.name, interface.name, sizeof entry.name);
    entry.head.ifa_name = entry.name;
    entry.head.ifa_flags = interface.flags;
    entry.head.ifa_addr = reinterpret_cast<sockaddr*>(&entry.address);
    if (made > 1) entries[made - 2].head.ifa_next = &entry.head;
    return entry;
  };
  for (std::size_t i = 0; i < list.count; ++i) fill_link(list.all[i], add(list.all[i]));
  for (std::size_t i = 0; i < list.count; ++i) {
    const InterfaceInfo& each = list.all[i];
    if (is_ipv4(each)) fill_address(each, each.address, each.prefix_bits, add(each));
  }
  for (std::size_t i = 0; i < list.count; ++i) {
    const InterfaceInfo& each = list.all[i];
    if (is_loopback(each)) fill_address(each, kLoopback6, 128, add(each));
    if (!is_ipv4(each)) fill_address(each, each.address, each.prefix_bits, add(each));
    if (memcmp(&each.link_local, &kNoAddress, sizeof kNoAddress) != 0)
      fill_address(each, each.link_local, 64, add(each));
  }
  *out = made == 0 ? nullptr : &entries[0].head;
  if (made == 0) free(entries);
  return 0;
}

WEFT_EXPORT void freeifaddrs(struct ifaddrs* list) noexcept {
  if (!this_process().attached) return WEFT_REAL(freeifaddrs)(list);
  free(list);  // one piece, and its head is the first entry
}

WEFT_EXPORT unsigned if_nametoindex(const char* name) noexcept {
  if (!this_process().attached) return WEFT_REAL(if_nametoindex)(name);
  InterfaceInfo interface;
  if (find_named(name, interface)) return interface.index;
  errno = ENODEV;
  return 0;
}

WEFT_EXPORT char* if_indextoname(unsigned index, char* name) noexcept {
  if (!this_process().attached) return WEFT_REAL(if_indextoname)(index, name);
  InterfaceInfo interface;
  if (!find_numbered(index, interface)) {
    errno = ENXIO;
    return nullptr;
  }
  memcpy(name, interface.name, IFNAMSIZ);
  return name;
}

WEFT_EXPORT struct if_nameindex* if_nameindex() noexcept {
  if (!this_process().attached) return WEFT_REAL(if_nameindex)();
  const Interfaces list = interfaces();
  auto* names = static_cast<struct if_nameindex*>(calloc(list.count + 1, sizeof(struct if_nameindex) + IFNAMSIZ));
  if (names == nullptr) return nullptr;
  char* text = reinterpret_cast<char*>(names + list.count + 1);
  for (std::size_t i = 0; i < list.count; ++i, text += IFNAMSIZ) {
    memcpy(text, list.all[i].name, IFNAMSIZ);
    names[i] = {list.all[i].index, text};
  }
  return names;
}

WEFT_EXPORT void if_freenameindex(struct if_nameindex* list) noexcept {
  if (!this_process().attached) return WEFT_REAL(if_freenameindex)(list);
  free(list);
}

}  // namespace weft::preload
