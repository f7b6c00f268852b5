// Names of nodes, in place of the machine's own name and its resolver. What the world does not know is asked of the
// real one.
#include "preload/names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "preload/connection.h"
#include "preload/process.h"
#include "preload/real.h"
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
  in_addr address;
  char* no_aliases[1];
  char* addresses[2];
};

void fill(const char* name, const verbs::Address& found, HostRoom& room, hostent& out) {
  strncpy(room.name, name, sizeof room.name - 1);
  room.name[sizeof room.name - 1] = '\0';
  memcpy(&room.address, found.bytes + 12, sizeof room.address);
  room.no_aliases[0] = nullptr;
  room.addresses[0] = reinterpret_cast<char*>(&room.address);
  room.addresses[1] = nullptr;
  out = {room.name, room.no_aliases, AF_INET, sizeof room.address, room.addresses};
}

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

WEFT_EXPORT struct hostent* gethostbyname(const char* name) {
  static HostRoom room;  // overwritten by the next call, as the real one says
  static hostent found;
  verbs::Address address;
  if (!find_node(name, address) || !is_ipv4(address)) return WEFT_REAL(gethostbyname)(name);
  fill(name, address, room, found);
  return &found;
}

WEFT_EXPORT int gethostbyname_r(const char* __restrict name, struct hostent* __restrict out, char* __restrict buffer,
                                size_t buffer_B, struct hostent** __restrict found, int* __restrict error) {
  verbs::Address address;
  if (!find_node(name, address) || !is_ipv4(address)) {
    return WEFT_REAL(gethostbyname_r)(name, out, buffer, buffer_B, found, error);
  }
  void* place = buffer;
  if (std::align(alignof(HostRoom), sizeof(HostRoom), place, buffer_B) == nullptr) return ERANGE;
  fill(name, address, *static_cast<HostRoom*>(place), *out);
  *found = out;
  return 0;
}

// The world does not name addresses, and the real resolver must not be asked for those of a lab.
WEFT_EXPORT int getnameinfo(const struct sockaddr* __restrict address, socklen_t size_B, char* __restrict host,
                            socklen_t host_B, char* __restrict service, socklen_t service_B, int flags) {
  const int numeric = this_process().attached ? NI_NUMERICHOST : 0;
  return WEFT_REAL(getnameinfo)(address, size_B, host, host_B, service, service_B, flags | numeric);
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
