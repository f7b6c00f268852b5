#include "live/control/command.h"

#include <fmt/format.h>

#include <sstream>

#include "base/nearest.h"
#include "text/problem.h"

namespace weft::live {

tl::expected<lab::PortRef, CommandProblem> cabled_port(const lab::Lab& lab, const std::string& name) {
  std::vector<std::string> names;
  for (const lab::LinkConfig& link : lab.links) {
    for (const lab::PortRef& port : {link.a, link.b}) {
      names.push_back(lab::port_name(lab, port));
      if (names.back() == name) return port;
    }
  }
  if (const auto unknown = lab::unknown_node(lab, name)) return tl::unexpected(*unknown);
  const std::vector<std::string_view> known(names.begin(), names.end());
  return problem(fmt::format("no cable ends at {}", lab::in_quotes(name)), did_you_mean(name, known, "ports"));
}

tl::expected<std::vector<lab::PortRef>, CommandProblem> cabled_ports(const lab::Lab& lab, const std::string& names) {
  std::vector<lab::PortRef> ports;
  if (names == "all") {
    for (const lab::LinkConfig& link : lab.links) ports.insert(ports.end(), {link.a, link.b});
    return ports;
  }
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    const auto port = cabled_port(lab, name);
    if (!port) return tl::unexpected(port.error());
    ports.push_back(*port);
  }
  if (ports.empty()) return problem("no port is named", "write PORT[,PORT] or all");
  return ports;
}

tl::expected<Time_ps, CommandProblem> duration(const std::string& what, const std::string& text) {
  constexpr Time_ps kLongest_ps = 3600 * kSecond_ps;
  const auto time = lab::parse_quantity(text, lab::Quantity::kTime);
  if (!time) return problem(fmt::format("{} {}: {}", what, text, time.error().message), time.error().remedy);
  if (*time <= 0 || *time > kLongest_ps)
    return problem(fmt::format("{} {} is out of range", what, text), "write more than 0 and at most 3600 s");
  return *time;
}

}  // namespace weft::live
