// Names of nodes, in place of the machine's own name and its resolver. What the world does not know is asked of the
// real one.
#include "preload/names.h"

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
#include "preload/process.h"
#include "preload/real.h"
#include "preload/stream_address.h"
#include "preload/streams.h"

namespace weft::preload {

namespace {

bool is_numeric(const char* name) {
  in6_addr scratch;
  return inet_pton(AF_INET, name, &scratch) == 1 || inet_pton(AF_INET6, name, &scratch) == 1;
}

bool is_ipv4(const verbs::Address& address) {
  in6_addr in6;
  memcpy(&in6, address.bytes, sizeof in6);
  return IN6_IS_ADDR_V4MAPPED(&in6);
}

bool write_text(const verbs::Address& address, char (&text)[INET6_ADDRSTRLEN]) {
  const bool ipv4 = is_ipv4(address);
  return inet_ntop(ipv4 ? AF_INET : AF_INET6, address.bytes + (ipv4 ? 12 : 0), text, sizeof text) != nullptr;
}

bool find_node(const char* name, verbs::Address& address) {
  return this_process().attached && name != nullptr && !is_numeric(name) && look_up(name, address);
}

struct HostRoom {
  char name[sizeof(verbs::LookUp::name)];
  in6_addr address;
  char* no_aliases[1];
  char* addresses[2];
};

void fill(const char* name, const verbs::Address& found, HostRoom& room, hostent& out) {
  const bool ipv4 = is_ipv4(found);
  snprintf(room.name, sizeof room.name, "%s", name);
  memcpy(&room.address, found.bytes + (ipv4 ? 12 : 0), ipv4 ? 4 : 16);
  room.no_aliases[0] = nullptr;
  room.addresses[0] = reinterpret_cast<char*>(&room.address);
  room.addresses[1] = nullptr;
  out = {room.name, room.no_aliases, ipv4 ? AF_INET : AF_INET6, ipv4 ? 4 : 16, room.addresses};
}

hostent* fill_static(const char* name, const verbs::Address& found) {
  static HostRoom room;  // overwritten by the next call, as the real ones say
  static hostent host;
  fill(name, found, room, host);
  return &host;
}

int fill_given(const char* name, const verbs::Address& found, hostent* out, char* buffer, size_t buffer_B,
               hostent** result) {
  void* place = buffer;
  if (std::align(alignof(HostRoom), sizeof(HostRoom), place, buffer_B) == nullptr) return ERANGE;
  fill(name, found, *static_cast<HostRoom*>(place), *out);
  *result = out;
  return 0;
}

bool has_family(const verbs::Address& address, int family) {
  return (is_ipv4(address) ? AF_INET : AF_INET6) == family;
}

bool find_name(const void* address, socklen_t size_B, int family, verbs::Address& found, verbs::LookUp& name) {
  if (!this_process().attached || size_B != (family == AF_INET ? 4u : 16u)) return false;
  found = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};
  memcpy(found.bytes + 16 - size_B, address, size_B);
  const bool known = verbs::call(verbs::Op::kNameOf, found, name) == 0;
  name.name[sizeof name.name - 1] = '\0';
  return known;
}

// A line of the node's /etc/hosts that has an address and a name.
bool read_host(FILE* file, verbs::Address& address, char (&name)[256]) {
  char line[512], number[64];
  while (fgets(line, sizeof line, file) != nullptr) {
    if (line[0] == '#' || sscanf(line, "%63s %255s", number, name) != 2) continue;
    address = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};
    if (inet_pton(AF_INET, number, address.bytes + 12) == 1 || inet_pton(AF_INET6, number, address.bytes) == 1)
      return true;
  }
  return false;
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
  verbs::LookUp question{};
  if (strlen(name) >= sizeof question.name) return false;
  memcpy(question.name, name, strlen(name) + 1);
  return verbs::call(verbs::Op::kLookUp, question, address) == 0;
}

bool own_address(verbs::Address& address) {
  const char* name = node_name();
  return name != nullptr && look_up(name, address);
}

WEFT_EXPORT int getaddrinfo(const char* __restrict name, const char* __restrict service,
                            const struct addrinfo* __restrict hints, struct addrinfo** __restrict out) {
  verbs::Address address;
  char text[INET6_ADDRSTRLEN];
  if (!find_node(name, address) || !write_text(address, text)) {
    return WEFT_REAL(getaddrinfo)(name, service, hints, out);
  }
  // The resolver makes the list from the number; it only must not look at the machine's own addresses.
  addrinfo wanted{};
  if (hints != nullptr) wanted = *hints;
  wanted.ai_flags =
      (wanted.ai_flags & ~AI_ADDRCONFIG) | AI_NUMERICHOST | (wanted.ai_family == AF_INET6 ? AI_V4MAPPED : 0);
  const int error = WEFT_REAL(getaddrinfo)(text, service, &wanted, out);
  if (error == 0 && (*out)->ai_canonname != nullptr) {
    free((*out)->ai_canonname);
    (*out)->ai_canonname = strdup(name);
  }
  return error;
}

WEFT_EXPORT struct hostent* gethostbyname2(const char* name, int family) {
  verbs::Address address;
  if (!find_node(name, address)) return WEFT_REAL(gethostbyname2)(name, family);
  if (has_family(address, family)) return fill_static(name, address);
  h_errno = NO_DATA;
  return nullptr;
}
WEFT_EXPORT struct hostent* gethostbyname(const char* name) {
  verbs::Address address;
  if (!find_node(name, address) || !is_ipv4(address)) return WEFT_REAL(gethostbyname)(name);
  return fill_static(name, address);
}

WEFT_EXPORT int gethostbyname2_r(const char* __restrict name, int family, struct hostent* __restrict out,
                                 char* __restrict buffer, size_t buffer_B, struct hostent** __restrict found,
                                 int* __restrict error) {
  verbs::Address address;
  if (!find_node(name, address) || !has_family(address, family))
    return WEFT_REAL(gethostbyname2_r)(name, family, out, buffer, buffer_B, found, error);
  return fill_given(name, address, out, buffer, buffer_B, found);
}
WEFT_EXPORT int gethostbyname_r(const char* __restrict name, struct hostent* __restrict out, char* __restrict buffer,
                                size_t buffer_B, struct hostent** __restrict found, int* __restrict error) {
  verbs::Address address;
  if (!find_node(name, address) || !is_ipv4(address))
    return WEFT_REAL(gethostbyname_r)(name, out, buffer, buffer_B, found, error);
  return fill_given(name, address, out, buffer, buffer_B, found);
}

WEFT_EXPORT struct hostent* gethostbyaddr(const void* bytes, socklen_t size_B, int family) {
  verbs::Address address;
  verbs::LookUp name;
  if (!find_name(bytes, size_B, family, address, name)) return WEFT_REAL(gethostbyaddr)(bytes, size_B, family);
  return fill_static(name.name, address);
}
WEFT_EXPORT int gethostbyaddr_r(const void* __restrict bytes, socklen_t size_B, int family,
                                struct hostent* __restrict out, char* __restrict buffer, size_t buffer_B,
                                struct hostent** __restrict found, int* __restrict error) {
  verbs::Address address;
  verbs::LookUp name;
  if (!find_name(bytes, size_B, family, address, name))
    return WEFT_REAL(gethostbyaddr_r)(bytes, size_B, family, out, buffer, buffer_B, found, error);
  return fill_given(name.name, address, out, buffer, buffer_B, found);
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
  verbs::Address address;
  char name[256];
  if (hosts_file == nullptr || !read_host(hosts_file, address, name)) return nullptr;
  return fill_static(name, address);
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
