// links: two ports and a cable; what must agree at its two ends.
#include <fmt/format.h>

#include <algorithm>

#include "lab/lab_sections.h"
#include "lab/lab_words.h"
#include "lab/link_rules.h"
#include "lab/nearest.h"
#include "lab/yaml_walk.h"

namespace weft::lab {
namespace {

constexpr double kMaxBitErrorRate = 1e-3;  // beyond it no frame of any size arrives

class LinkReader {
 public:
  explicit LinkReader(LabContext& context) : context_(context), problems_(context.problems) {}

  void read(const YamlNode& node) {
    const MapReader map(node, fmt::format("links[{}]", context_.lab.links.size()), link_keys(), problems_);
    LinkConfig link;
    link.a = link.b = kNoPort;
    const YamlNode* endpoints = map.require("endpoints", "endpoints: [\"vm00:p0\", \"vm01:p0\"]");
    const bool joined = endpoints != nullptr && read_endpoints(*endpoints, link);
    context_.links_complete = context_.links_complete && joined;
    const YamlNode* cable = map.get("cable");
    const bool cable_good = cable == nullptr || read_cable(*cable, link);
    if (joined) {
      const Place& place = cable == nullptr ? node.place : cable->place;
      if (choose_rate(place, link) && cable_good) choose_fec(place, link);
      check_addresses(endpoints->place, link);
    }
    link.propagation_ps = link.length_mm * context_.catalog.cable(link.cable).propagation_ps_per_m / 1000;
    context_.lab.links.push_back(link);
  }

 private:
  // True when both ports are known and sound.
  bool read_endpoints(const YamlNode& node, LinkConfig& link) {
    const auto* list = read_list(node, "endpoints", problems_);
    if (list == nullptr) return false;
    if (list->size() != 2) {
      problems_.add(node.place, fmt::format("a link has two endpoints, this has {}", list->size()),
                    "write [\"vm00:p0\", \"vm01:p0\"]");
    }
    PortState* ends[2] = {};
    for (std::size_t i = 0; i < std::min<std::size_t>(list->size(), 2); ++i) {
      ends[i] = read_port((*list)[i], "endpoint", context_);
      if (ends[i] != nullptr && !take((*list)[i], *ends[i])) ends[i] = nullptr;
    }
    if (ends[0] == nullptr || ends[1] == nullptr) return false;
    link.a = ends[0]->ref;
    link.b = ends[1]->ref;
    if (link.a.host == link.b.host) {
      problems_.add(node.place, "a cable from a host to itself is not modelled",
                    "make two hosts of it, as two virtual machines with a NIC each");
      return false;
    }
    return ends[0]->usable && ends[1]->usable;
  }

  bool take(const YamlNode& node, PortState& port) {
    if (port.link) {
      problems_.add(node.place, fmt::format("{} has a cable already", in_quotes(node.text)),
                    fmt::format("a port takes one cable: the other is in line {}", port.link_place.line));
      return false;
    }
    port.link = context_.lab.links.size();
    port.link_place = node.place;
    return true;
  }

  bool read_cable(const YamlNode& node, LinkConfig& link) {
    const std::size_t problems_before = problems_.size();
    const MapReader map(node, "cable", cable_keys(), problems_);
    if (const YamlNode* kind = map.get("kind"))
      store(link.cable, read_choice<CableKind>(*kind, "cable kind", cable_words(), problems_));
    if (const YamlNode* length = map.get("length")) {
      store(link.length_mm, read_quantity(*length, "cable length", Quantity::kLength, {1, 1'000'000'000}, problems_));
      const std::int64_t max_mm = context_.catalog.cable(link.cable).max_length_mm;
      if (link.length_mm > max_mm) {
        problems_.add(length->place,
                      fmt::format("a {} of {}: they end at {}", to_string(link.cable), length->text,
                                  format_quantity(max_mm, Quantity::kLength)),
                      link.cable == CableKind::kDac ? "use an aoc or fibre" : "use a shorter cable, or fibre");
      }
    }
    if (const YamlNode* rate = map.get("rate")) {
      if (const auto rate_bps = read_quantity(*rate, "rate", Quantity::kBitRate, {}, problems_))
        wanted_rate_bps_ = {*rate_bps, rate->place};
    }
    if (const YamlNode* fec = map.get("fec"); fec != nullptr && fec->text != "auto") {
      std::vector<std::string_view> words = {"auto"};
      for (const auto& word : fec_words()) words.push_back(word.text);
      if (const auto index = read_word(*fec, "fec", words, problems_))
        wanted_fec_ = {fec_words()[*index - 1].value, fec->place};
    }
    if (const YamlNode* rate = map.get("bit_error_rate")) {
      const auto value = read_number(*rate, "bit_error_rate", problems_);
      if (value && (*value < 0 || *value > kMaxBitErrorRate)) {
        problems_.add(rate->place, fmt::format("bit_error_rate {} is out of range", rate->text),
                      "it goes from 0 to 1e-3, after FEC; a good link has 1e-15");
      }
      store(link.bit_error_rate, value);
    }
    return problems_.size() == problems_before;
  }

  // The rates that a port of this NIC can run at, after a `set: {line_rate: …}`.
  std::vector<std::int64_t> rates_of(const PortRef& ref) {
    const nic::NicModel& model = context_.nic(ref).model;
    std::vector<std::int64_t> rates_bps = {model.line_rate_bps};
    for (std::int64_t rate_bps : context_.catalog.link_rates_bps(model.name)) {
      if (rate_bps < model.line_rate_bps) rates_bps.push_back(rate_bps);
    }
    return rates_bps;
  }

  bool choose_rate(const Place& place, LinkConfig& link) {
    const auto a_bps = rates_of(link.a), b_bps = rates_of(link.b);
    std::vector<std::string> common;
    for (std::int64_t rate_bps : a_bps) {
      if (std::find(b_bps.begin(), b_bps.end(), rate_bps) == b_bps.end()) continue;
      if (link.rate_bps == 0) link.rate_bps = rate_bps;  // the highest
      common.push_back(format_quantity(rate_bps, Quantity::kBitRate));
      if (wanted_rate_bps_ && wanted_rate_bps_->first == rate_bps) {
        link.rate_bps = rate_bps;
        return true;
      }
    }
    if (common.empty()) {
      problems_.add(place,
                    fmt::format("{} and {} have no rate in common", context_.nic(link.a).model.name,
                                context_.nic(link.b).model.name),
                    "choose NICs that share a rate: weft catalog show NAME lists link_rates");
      return false;
    }
    if (!wanted_rate_bps_) return true;
    problems_.add(wanted_rate_bps_->second,
                  fmt::format("not both ports run at {}", format_quantity(wanted_rate_bps_->first, Quantity::kBitRate)),
                  fmt::format("both run at {}", fmt::join(common, ", ")));
    return false;
  }

  void choose_fec(const Place& place, LinkConfig& link) {
    link.fec = wanted_fec_ ? wanted_fec_->first : auto_fec(link.rate_bps, link.cable, link.length_mm);
    const auto latency_ps = context_.catalog.fec_latency_ps(link.fec, link.rate_bps);
    if (latency_ps) {
      link.fec_latency_ps = *latency_ps;
      return;
    }
    problems_.add(wanted_fec_ ? wanted_fec_->second : place,
                  fmt::format("there is no fec {} at {}", to_string(link.fec),
                              format_quantity(link.rate_bps, Quantity::kBitRate)),
                  fmt::format("leave it out: ports choose {} here",
                              to_string(auto_fec(link.rate_bps, link.cable, link.length_mm))));
  }

  // Over a cable there is no router: both ends are in one subnet and one VLAN.
  void check_addresses(const Place& place, const LinkConfig& link) {
    const PortConfig &a = context_.port(link.a), &b = context_.port(link.b);
    const std::string both =
        fmt::format("{}/{} and {}/{}", to_string(a.address), a.prefix_bits, to_string(b.address), b.prefix_bits);
    if (a.address.is_v4 != b.address.is_v4) {
      problems_.add(place, fmt::format("the ends have {}: IPv4 and IPv6", both),
                    "give both ends addresses of one family");
    } else if (a.address == b.address) {
      problems_.add(place, fmt::format("both ends have the address {}", to_string(a.address)),
                    "give each port an address of its own");
    } else if (!same_subnet(a.address, b.address, std::max(a.prefix_bits, b.prefix_bits))) {
      problems_.add(place, fmt::format("the ends have {}: two subnets", both),
                    "a cable has no router: put both ends in one subnet, e.g. 10.0.0.1/24 and 10.0.0.2/24");
    }
    if (a.vlan != b.vlan) {
      const auto text = [](const PortConfig& port) {
        return port.vlan ? fmt::format("vlan {}", *port.vlan) : std::string("no vlan");
      };
      problems_.add(place, fmt::format("the ends have {} and {}", text(a), text(b)),
                    "give both ends the same vlan, or none");
    }
  }

  LabContext& context_;
  ProblemList& problems_;
  std::optional<std::pair<std::int64_t, Place>> wanted_rate_bps_;
  std::optional<std::pair<Fec, Place>> wanted_fec_;
};

}  // namespace

void read_links(const YamlNode& node, LabContext& context) {
  const auto* list = read_list(node, "links", context.problems);
  context.links_complete = list != nullptr;
  if (list == nullptr) return;
  for (const YamlNode& item : *list) LinkReader(context).read(item);
}

}  // namespace weft::lab
