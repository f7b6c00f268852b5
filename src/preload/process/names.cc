// Names of nodes and of localhost, as the node's /etc/hosts has them, in place of the machine's own name and its
// resolver. What the world does not know is asked of the real one.
#include "preload/process/names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "preload/connection.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/stream_address.h"
#include "preload/sockets/streams.h"
#include "verbs/address.h"

namespace weft::preload {

namespace {

bool is_numeric(const char* name) {
  in6_addr scratch;
  return inet_pton(AF_INET, name, &scratch) == 1 || inet_pton(AF_INET6, name, &scratch) == 1;
}

// Addresses of a name. More than that are left out.
struct Found {
  verbs::Address all[16];
  std::size_t count = 0;

  bool has(int family) const {
    return std::any_of(all, all + count, [&](const verbs::Address& each) { return family_of(each) == family; });
  }
  static int family_of(const verbs::Address& address) { return verbs::is_ipv4(address) ? AF_INET : AF_INET6; }
};

bool find_all(const char* name, Found& found) {
  verbs::LookUp question{};
  if (strlen(name) >= sizeof question.name) return false;
  memcpy(question.name, name, strlen(name) + 1);
  const iovec piece{&question, sizeof question};
  std::size_t size_B = sizeof found.all;
  if (call_in_pieces(verbs::Op::kLookUp, &piece, 1, found.all, &size_B, nullptr) != 0) return false;
  found.count = std::min(size_B, sizeof found.all) / sizeof found.all[0];
  return found.count > 0;
}

bool find_node(const char* name, Found& found) {
  return this_process().attached && name != nullptr && !is_numeric(name) && find_all(name, found);
}

struct HostRoom {
  char name[sizeof(verbs::LookUp::name)];
  in6_addr bytes[std::size(Found{}.all)];
  char* aliases[5];
  char* addresses[std::size(Found{}.all) + 1];
};

// Those of one family.
void fill(const char* name, const Found& found, int family, HostRoom& room, hostent& out) {
  const bool ipv4 = family == AF_INET;
  snprintf(room.name, sizeof room.name, "%s", name);
  room.aliases[0] = nullptr;
  std::size_t written = 0;
  for (std::size_t i = 0; i < found.count; ++i) {
    if (Found::family_of(found.all[i]) != family) continue;
    memcpy(&room.bytes[written], found.all[i].bytes + (ipv4 ? verbs::kIpv4At : 0), ipv4 ? 4 : 16);
    room.addresses[written] = reinterpret_cast<char*>(&room.bytes[written]);
    ++written;
  }
  room.addresses[written] = nullptr;
  out = {room.name, room.aliases, family, ipv4 ? 4 : 16, room.addresses};
}

hostent* fill_static(const char* name, const Found& found, int family, HostRoom** filled = nullptr) {
  static HostRoom room;  // overwritten by the next call, as the real ones say
  static hostent host;
  fill(name, found, family, room, host);
  if (filled != nullptr) *filled = &room;
  return &host;
}

int fill_given(const char* name, const Found& found, int family, hostent* out, char* buffer, size_t buffer_B,
               hostent** result) {
  void* place = buffer;
  if (std::align(alignof(HostRoom), sizeof(HostRoom), place, buffer_B) == nullptr) return ERANGE;
  fill(name, found, family, *static_cast<HostRoom*>(place), *out);
  *result = out;
  return 0;
}

bool find_name(const void* address, socklen_t size_B, int family, Found& found, verbs::LookUp& name) {
  if (!this_process().attached || size_B != (family == AF_INET ? 4u : 16u)) return false;
  found.count = 1;
  if (family == AF_INET) {
    found.all[0] = verbs::mapped(address);
  } else {
    memcpy(found.all[0].bytes, address, size_B);
  }
  const bool known = verbs::call(verbs::Op::kNameOf, found.all[0], name) == 0;
  name.name[sizeof name.name - 1] = '\0';
  return known;
}

// A line of the node's /etc/hosts that has an address and names.
hostent* read_host(FILE* file) {
  static char line[512];
  while (fgets(line, sizeof line, file) != nullptr) {
    line[strcspn(line, "#\n")] = '\0';
    char* rest = nullptr;
    const char* number = strtok_r(line, " \t", &rest);
    const char* name = number == nullptr ? nullptr : strtok_r(nullptr, " \t", &rest);
    if (name == nullptr) continue;
    Found found;
    found.count = 1;
    std::uint8_t ipv4[4];
    if (inet_pton(AF_INET, number, ipv4) == 1) {
      found.all[0] = verbs::mapped(ipv4);
    } else if (inet_pton(AF_INET6, number, found.all[0].bytes) != 1) {
      continue;
    }
    HostRoom* room = nullptr;
    hostent* host = fill_static(name, found, Found::family_of(found.all[0]), &room);
    std::size_t aliases = 0;
    while (aliases + 1 < std::size(room->aliases) &&
           (room->aliases[aliases] = strtok_r(nullptr, " \t", &rest)) != nullptr)
      ++aliases;
    room->aliases[aliases] = nullptr;
    return host;
  }
  return nullptr;
}

FILE* hosts_file = nullptr;  // of gethostent, which is not for threads

}  // namespace

const char* node_name() {
  static verbs::LookUp name;  // threads that ask at once write the same
  static std::atomic<bool> known{false};
  if (!this_process().attached) return nullptr;
  if (!known.load(std::memory_order_acquire)) {
    verbs::LookUp told;
    std::size_t told_B = sizeof told;
    if (call_in_pieces(verbs::Op::kNodeName, nullptr, 0, &told, &told_B, nullptr) != 0) return nullptr;
    told.name[sizeof told.name - 1] = '\0';
    name = told;
    known.store(true, std::memory_order_release);
  }
  return name.name;
}

bool look_up(const char* name, verbs::Address& address) {
  Found found;
  if (!find_all(name, found)) return false;
  address = found.all[0];
  return true;
}

bool own_address(verbs::Address& address) {
  const char* name = node_name();
  return name != nullptr && look_up(name, address);
}

WEFT_EXPORT int getaddrinfo(const char* __restrict name, const char* __restrict service,
                            const struct addrinfo* __restrict hints, struct addrinfo** __restrict out) {
  Found found;
  if (!find_node(name, found)) return WEFT_REAL(getaddrinfo)(name, service, hints, out);
  addrinfo wanted{};
  if (hints != nullptr) wanted = *hints;
  if ((wanted.ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
  // The resolver makes the entries from the numbers; it only must not look at the machine's own addresses.
  const bool map = wanted.ai_family == AF_INET6 && !found.has(AF_INET6);
  wanted.ai_flags = (wanted.ai_flags & ~AI_ADDRCONFIG) | AI_NUMERICHOST | (map ? AI_V4MAPPED : 0);
  addrinfo* first = nullptr;
  addrinfo** end = &first;
  int error = EAI_NODATA;  // of the family that is asked for
  for (std::size_t i = 0; i < found.count; ++i) {
    const int family = Found::family_of(found.all[i]);
    if (wanted.ai_family != AF_UNSPEC && wanted.ai_family != family && !map) continue;
    char text[INET6_ADDRSTRLEN];
    inet_ntop(family, found.all[i].bytes + (family == AF_INET ? verbs::kIpv4At : 0), text, sizeof text);
    error = WEFT_REAL(getaddrinfo)(text, service, &wanted, end);
    if (error != 0) break;
    while (*end != nullptr) end = &(*end)->ai_next;
    wanted.ai_flags &= ~AI_CANONNAME;  // the first entry has it
  }
  if (error != 0) {
    if (first != nullptr) freeaddrinfo(first);
    return error;
  }
  if (first->ai_canonname != nullptr) {
    free(first->ai_canonname);
    first->ai_canonname = strdup(name);
  }
  *out = first;
  return 0;
}

WEFT_EXPORT struct hostent* gethostbyname2(const char* name, int family) {
  Found found;
  if (!find_node(name, found)) return WEFT_REAL(gethostbyname2)(name, family);
  if (found.has(family)) return fill_static(name, found, family);
  h_errno = NO_DATA;
  return nullptr;
}
WEFT_EXPORT struct hostent* gethostbyname(const char* name) {
  Found found;
  if (!find_node(name, found)) return WEFT_REAL(gethostbyname)(name);
  return gethostbyname2(name, AF_INET);
}

WEFT_EXPORT int gethostbyname2_r(const char* __restrict name, int family, struct hostent* __restrict out,
                                 char* __restrict buffer, size_t buffer_B, struct hostent** __restrict result,
                                 int* __restrict error) {
  Found found;
  if (!find_node(name, found)) return WEFT_REAL(gethostbyname2_r)(name, family, out, buffer, buffer_B, result, error);
  if (found.has(family)) return fill_given(name, found, family, out, buffer, buffer_B, result);
  *result = nullptr;
  *error = NO_DATA;
  return 0;
}
WEFT_EXPORT int gethostbyname_r(const char* __restrict name, struct hostent* __restrict out, char* __restrict buffer,
                                size_t buffer_B, struct hostent** __restrict result, int* __restrict error) {
  return gethostbyname2_r(name, AF_INET, out, buffer, buffer_B, result, error);
}

WEFT_EXPORT struct hostent* gethostbyaddr(const void* bytes, socklen_t size_B, int family) {
  Found found;
  verbs::LookUp name;
  if (!find_name(bytes, size_B, family, found, name)) return WEFT_REAL(gethostbyaddr)(bytes, size_B, family);
  return fill_static(name.name, found, family);
}
WEFT_EXPORT int gethostbyaddr_r(const void* __restrict bytes, socklen_t size_B, int family,
                                struct hostent* __restrict out, char* __restrict buffer, size_t buffer_B,
                                struct hostent** __restrict result, int* __restrict error) {
  Found found;
  verbs::LookUp name;
  if (!find_name(bytes, size_B, family, found, name))
    return WEFT_REAL(gethostbyaddr_r)(bytes, size_B, family, out, buffer, buffer_B, result, error);
  return fill_given(name.name, found, family, out, buffer, buffer_B, result);
}

WEFT_EXPORT void sethostent(int stay_open) {
  if (!this_process().attached) return WEFT_REAL(sethostent)(stay_open);
  if (hosts_file != nullptr) rewind(hosts_file);
}
WEFT_EXPORT void endhostent() {
  if (!this_process().attached) return WEFT_REAL(endhostent)();
  if (hosts_file != nullptr) fclose(hosts_file);
  hosts_file = nullptr;
}
WEFT_EXPORT struct hostent* gethostent() {
  if (!this_process().attached) return WEFT_REAL(gethostent)();
  if (hosts_file == nullptr) hosts_file = fopen("/etc/hosts", "re");
  return hosts_file == nullptr ? nullptr : read_host(hosts_file);
}

// Names of addresses are the world's; the real resolver must not be asked for those of a lab.
WEFT_EXPORT int getnameinfo(const struct sockaddr* __restrict address, socklen_t size_B, char* __restrict host,
                            socklen_t host_B, char* __restrict service, socklen_t service_B, int flags) {
  if (!this_process().attached) {
    return WEFT_REAL(getnameinfo)(address, size_B, host, host_B, service, service_B, flags);
  }
  verbs::StreamAddress asked{};
  verbs::LookUp name;
  const bool wants_name = (flags & NI_NUMERICHOST) == 0 && host != nullptr && host_B > 0;
  const bool named = wants_name && read_address(address, size_B, asked.address, asked.port) &&
                     verbs::call(verbs::Op::kNameOf, asked.address, name) == 0;
  if (wants_name && !named && (flags & NI_NAMEREQD) != 0) return EAI_NONAME;
  const int error = WEFT_REAL(getnameinfo)(address, size_B, host, host_B, service, service_B,
                                           (flags & ~NI_NAMEREQD) | NI_NUMERICHOST);
  if (error != 0 || !named) return error;
  name.name[sizeof name.name - 1] = '\0';
  if (strlen(name.name) >= host_B) return EAI_OVERFLOW;
  strcpy(host, name.name);
  return 0;
}

WEFT_EXPORT int gethostname(char* out, size_t room_B) noexcept {
  const char* name = node_name();
  if (name == nullptr) return WEFT_REAL(gethostname)(out, room_B);
  const std::size_t size_B = strlen(name) + 1;
  memcpy(out, name, std::min(size_B, room_B));
  return size_B > room_B ? fail(ENAMETOOLONG) : 0;
}

WEFT_EXPORT int __gethostname_chk(char* out, size_t room_B, size_t object_B) {
  if (room_B > object_B) die("%s: more bytes requested than fit", "gethostname");
  return gethostname(out, room_B);
}

WEFT_EXPORT int uname(struct utsname* out) noexcept {
  const int done = WEFT_REAL(uname)(out);
  const char* name = done == 0 ? node_name() : nullptr;
  if (name != nullptr) {
    memset(out->nodename, 0, sizeof out->nodename);
    strncpy(out->nodename, name, sizeof out->nodename - 1);
  }
  return done;
}

}  // namespace weft::preload
