#include "live/view/host_names.h"

#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "verbs/protocol.h"

namespace weft::live {

std::vector<HostName> host_names(const lab::Lab& lab) {
  std::vector<HostName> lines{
      {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}, true}, {"localhost"}},
      {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, false}, {"localhost", "ip6-localhost", "ip6-loopback"}}};
  for (const lab::HostConfig& host : lab.hosts) {
    for (const lab::NicConfig& nic : host.nics) {
      for (const lab::PortConfig& port : nic.ports) lines.push_back({port.address, {host.name}});
    }
  }
  return lines;
}

Reply look_up(const lab::Lab& lab, const Request& request) {
  verbs::LookUp ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  ask.name[sizeof(ask.name) - 1] = 0;
  const auto is_asked = [&](const std::string& name) { return strcasecmp(name.c_str(), ask.name) == 0; };
  Reply reply;
  for (const HostName& line : host_names(lab)) {
    if (std::none_of(line.names.begin(), line.names.end(), is_asked)) continue;
    const auto bytes = std::as_bytes(std::span(line.address.bytes));
    reply.body.insert(reply.body.end(), bytes.begin(), bytes.end());
  }
  return reply.body.empty() ? Reply::failed(ENOENT) : reply;
}

Reply name_of(const lab::Lab& lab, const Request& request) {
  verbs::Address address;
  if (!request.read(address)) return Reply::failed(EINVAL);
  for (const HostName& line : host_names(lab)) {
    if (std::memcmp(line.address.bytes, address.bytes, sizeof(address.bytes)) != 0) continue;
    verbs::LookUp name{};
    line.names.front().copy(name.name, sizeof(name.name) - 1);
    return Reply::of(name);
  }
  return Reply::failed(ENOENT);
}

}  // namespace weft::live
