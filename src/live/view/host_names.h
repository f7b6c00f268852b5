// The names of a lab's addresses: what /etc/hosts of every node says, and what the resolver of programs is told.
#pragma once

#include <string>
#include <vector>

#include "live/protocol/connection.h"
#include "model/lab.h"

namespace weft::live {

// A line of /etc/hosts.
struct HostName {
  lab::IpAddress address;
  std::vector<std::string> names;  // the first is the name, the others are aliases
};

std::vector<HostName> host_names(const lab::Lab& lab);
// A name's addresses, in the order of the lines.
Reply look_up(const lab::Lab& lab, const Request& request);
// An address's first name.
Reply name_of(const lab::Lab& lab, const Request& request);

}  // namespace weft::live
