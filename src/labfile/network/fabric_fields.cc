// Rows of the top of a lab, networks, faults and expectations.
#include "catalog/catalog.h"
#include "labfile/lab_fields.h"
#include "labfile/shapes.h"
#include "model/qos_fields.h"

namespace weft::lab {
namespace {

using fabric::Balancing;
using fabric::FaultAction;
using fabric::FaultFrames;
using fabric::FaultRule;
using fabric::RoutingConfig;

constexpr std::string_view kExpectMap =
    R"("type": ["object", "null"], "additionalProperties": {"$ref": "#/definitions/expectation"})";
constexpr std::string_view kNodesMap =
    R"("type": ["object", "null"], "minProperties": 1, "propertyNames": {"$ref": "#/definitions/name"}, )"
    R"("additionalProperties": {"$ref": "#/definitions/node"})";
constexpr std::string_view kVia = R"("type": "array", "minItems": 1, "items": {"type": "string"})";
constexpr std::string_view kFecShape =
    R"("anyOf": [{"enum": ["auto", "none", "base-r", "rs528", "rs544"]}, {"type": "array", "minItems": 2, )"
    R"("maxItems": 2, "items": {"enum": ["auto", "none", "base-r", "rs528", "rs544"]}}])";
constexpr std::string_view kEndpoints =
    R"("type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string", )"
    R"("pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}:[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"})";
constexpr std::string_view kBound =
    R"("anyOf": [{"type": "number"}, {"type": "string", "pattern": "^IBV_WC_[A-Z_]+$"}])";

constexpr Word<bool> kNetworkWords[] = {{"management", false}, {"fabric", true}};

constexpr Field<Lab> kLabFields[] = {
    {"version", shaped(R"("const": 1)", "`1`"), "", "of the format", {.required = "version: 1"}},
    {"name", name_at<&Lab::name>(), "", "letters, digits, `-` and `_`", {.required = "name: my-first-lab"}},
    {"description", text_at<&Lab::description>(), "", "one line for the report"},
    {"seed",
     number_at<&Lab::seed>(),
     "1",
     "every random number follows from it; the same lab and seed give the same bytes. `--seed` wins",
     {.title = "Seed"}},
    {"duration", quantity_at<&Lab::duration_ps>(Quantity::kTime, {1, 3600 * kSecond_ps}), "until idle",
     "the run ends then, whatever is still running"},
    {"sample", quantity_value(Quantity::kTime).or_word("auto"), "no series",
     "interval of the time series ([which](results.md#resultssqlite)), for example `10 us`; at least 100 ns. `auto`: "
     "begins with 1 us and doubles whenever there are 4,096 samples, of which every second then goes: a run of any "
     "length ends with 2,048 to 4,096 (shorter ones with fewer). Large labs have fewer, down to 128 to 256 at 1,024 "
     "hosts"},
    {"network", choice_at<choice_words<kNetworkWords>, &Lab::fabric_network>(), "`management`",
     "what carries the TCP of programs: a `management` network beside the fabric, or the simulated `fabric` itself "
     "([tcp.md](mechanisms/tcp.md)); `weft exec --net` wins"},
    {"fabric", section_value(kFabricKeys), "", "a network from a template; this or `nodes` is required"},
    {"nodes", shaped(kNodesMap, "map by name"), "", "hosts, virtual machines, switches, ports to the outside"},
    {"links", section_value(kLinkKeys, Nesting::kList), "", "cables between their ports"},
    {"routing", section_value(kRoutingKeys), "", "of all switches"},
    {"qos", section_value(kQosKeys), "", "the contract of hosts and switches"},
    {"mirrors", section_value(kMirrorKeys, Nesting::kList), "", "SPAN and ERSPAN sessions of switches"},
    {"faults", section_value(kFaultKeys, Nesting::kList), "", "what goes wrong"},
    {"workloads", section_value(kWorkloadKeys, Nesting::kList), "", "who sends what, and when"},
    {"expect", shaped(kExpectMap, "map"), "", "bounds of what is measured"},
};

constexpr Field<FabricSpec> kFabricHostFields[] = {
    {"nic",
     one_of(nic_names, "NIC of the catalog"),
     "",
     "of every host",
     {.required = "nic: cx5-100g", .title = "NIC"}},
    {"host", one_of(host_names, "profile of the catalog"), "`generic-x86`", "of every host"},
    {"mtu",
     value_of(FieldKind::kBytes),
     "1500 B",
     "of every port. The path MTU is the largest of 256 to 4096 that fits: 4200 B for 4096",
     {.title = "MTU of hosts"}},
    {"gpus", one_of(gpu_names, "GPU of the catalog"), "none",
     "that model in each slot `gpu0`, `gpu1`, … of the profile, and NICs in `nic0`, `nic1`, …; without such slots one "
     "GPU beside the NIC"},
};

constexpr Field<FabricSpec> kFabricFields[] = {
    {"template",
     choice_value<choice_words<kTemplateWords>>(),
     "",
     "the shape of the network",
     {.required = "template: leaf-spine"}},
    {"hosts", number_value({1, 65536}), "", "how many; with an incast: senders and one receiver", {.title = "Hosts"}},
    {"leaves", number_at<&FabricSpec::leaves>({1, 4096}), "1 per rail", "how many leaf switches"},
    {"spines", number_value({0, 1024}), "0", "how many; fewer of them: oversubscription", {.title = "Spines"}},
    {"uplinks", number_at<&FabricSpec::uplinks>({1, 64}), "1", "cables from each leaf to each spine"},
    {"rails", number_at<&FabricSpec::rails>({1, 16}), "", "NICs of each host; NIC r is on a leaf of rail r"},
    {"k", number_at<&FabricSpec::k>({2, 128}), "from `hosts`", "of a fat-tree: k pods, k³/4 hosts"},
    {"groups", number_at<&FabricSpec::groups>({2, 1024}), "", "of a dragonfly"},
    {"switches", number_at<&FabricSpec::switches>({1, 128}), "", "of a group of a dragonfly"},
    {"hosts_per_switch", number_at<&FabricSpec::hosts_per_switch>({1, 128}), "", "of a dragonfly"},
    {"switch",
     one_of(switch_names, "switch of the catalog"),
     "required with switches",
     "the model of all",
     {.title = "Switch"}},
    {"leaf", one_of(switch_names, "switch of the catalog"), "as `switch`", "where leaf and spine differ"},
    {"spine", one_of(switch_names, "switch of the catalog"), "as `switch`", "also aggregation and core"},
    {"host",
     section_value(kFabricHostKeys),
     "",
     "what every host is",
     {.required = "host: {nic: cx5-100g, mtu: 4200 B}"}},
    {"cable", section_value(kCableKeys), "1 m of DAC", "to hosts"},
    {"uplink_cable", section_value(kCableKeys), "as `cable`", "between switches; in a dragonfly between groups"},
    {"uplink_lag", flag_at<&FabricSpec::uplink_lag>(), "false",
     "the cables between two switches (`uplinks`, two or more) are a LAG, named by both: `leaf0-spine0`"},
    {"rate", quantity_value(Quantity::kBitRate), "the highest", "of every link whose cable has none"},
};

constexpr Field<LinkConfig> kLinkFields[] = {
    {"endpoints",
     shaped(kEndpoints, "two of `NODE:PORT`"),
     "",
     "the ports that it joins",
     {.required = "endpoints: [\"vm00:p0\", \"vm01:p0\"]"}},
    {"cable", section_value(kCableKeys), "1 m of DAC", "what is between them"},
    {"lag", value_of(FieldKind::kName), "",
     "links of one name are one: between two switches, or of both ports of a NIC to one switch (a bond)"},
};

constexpr Field<CableSpec> kCableFields[] = {
    {"kind",
     choice_at<cable_words, &CableSpec::kind>(),
     "`dac`",
     "up to 5 m at 4.6 ns/m, up to 100 m at 4.9 ns/m, up to 40 km at 4.9 ns/m",
     {.called = "cable kind"}},
    {"length",
     quantity_at<&CableSpec::length_mm>(Quantity::kLength, {1, 1'000'000'000}),
     "1 m",
     "headroom grows with it",
     {.title = "Cable length", .called = "cable length"}},
    {"rate", quantity_value(Quantity::kBitRate), "the highest that both ports have", "one of both ports' `link_rates`"},
    {"fec", shaped(kFecShape, "`auto`, `none`, `base-r`, `rs528`, `rs544`, or a list of two"), "`auto`",
     "a list of two has one for each end in the order of the endpoints: modes that differ keep the link down, as a cut "
     "of the whole run does. `auto` is what ports agree on: 25G DAC up to 3 m none, longer DAC `rs528`, optics "
     "`base-r`; 50G `rs544`; 100G `rs528`; 200G and above `rs544`; below 25G none"},
    {"latency", quantity_at<&CableSpec::latency_ps>(Quantity::kTime, {1, kSecond_ps}), "computed",
     "one way, exactly: in place of the latency of both ports, propagation and FEC"},
    {"bit_error_rate", decimal_at<&CableSpec::bit_error_rate>(), "0",
     "errors that are left after FEC, for example `1e-12`, at most 1e-3; a frame with one is dropped by the receiver"},
};

constexpr Word<Balancing> kBalancingWords[] = {{"ecmp", Balancing::kEcmp},
                                               {"flowlet", Balancing::kFlowlet},
                                               {"adaptive", Balancing::kAdaptive},
                                               {"spray", Balancing::kSpray}};
constexpr Word<bool> kHashWords[] = {{"5-tuple", false}, {"5-tuple-qp", true}};
constexpr Word<bool> kLagHashWords[] = {{"layer3+4", true}, {"layer2+3", false}};
constexpr fields::Sizes kRoutingTimes{1, 3600 * kSecond_ps};
constexpr Field<RoutingConfig> kRoutingFields[] = {
    {"balancing", choice_at<choice_words<kBalancingWords>, &RoutingConfig::balancing>(), "`ecmp`",
     "among equal paths: by hash, by hash anew after a gap, by load, packet by packet"},
    {"hash", choice_at<choice_words<kHashWords>, &RoutingConfig::hash_dest_qp>(), "`5-tuple`",
     "what it is of; the destination QP is a user-defined field"},
    {"hash_seed", number_at<&RoutingConfig::hash_seed>({0, UINT32_MAX}), "by tier: 0, 10, 25",
     "tiers differ so that one choice does not follow from the other"},
    {"flowlet_gap", quantity_at<&RoutingConfig::flowlet_gap_ps>(Quantity::kTime, kRoutingTimes), "50 us",
     "a pause of a flow after which it may take another path"},
    {"lag_hash", choice_at<choice_words<kLagHashWords>, &RoutingConfig::lag_hash_ports>(), "`layer3+4`",
     "what chooses the member of a LAG: addresses and ports, or addresses alone"},
    {"convergence", quantity_at<&RoutingConfig::convergence_ps>(Quantity::kTime, kRoutingTimes), "50 ms",
     "from a link that goes down to routes without it"},
    {"offload", value_of(FieldKind::kFlag), "true",
     "false: packets between subnets pass the management CPU at the model's `cpu_packets_per_s`, as on a switch whose "
     "hardware does not route. With one subnet there is nothing to route, and it is refused"},
};
constexpr Field<void> kRouteFields[] = {
    {"to", end_value(), "", "a host, or one port of it", {.required = "to: h3"}},
    {"via", shaped(kVia, "list of ports"), "", "of this switch", {.required = "via: [swp1]"}},
};

constexpr Word<MirrorKind> kMirrorWords[] = {
    {"span", MirrorKind::kSpan}, {"erspan2", MirrorKind::kErspan2}, {"erspan3", MirrorKind::kErspan3}};
constexpr Word<MirrorDirection> kMirrorDirectionWords[] = {
    {"both", MirrorDirection::kBoth}, {"ingress", MirrorDirection::kIngress}, {"egress", MirrorDirection::kEgress}};
constexpr Field<MirrorConfig> kMirrorFields[] = {
    {"port", endpoint_value(), "", "`SWITCH:PORT`, with a cable", {.required = "port: \"leaf0:swp1\""}},
    {"direction", choice_at<choice_words<kMirrorDirectionWords>, &MirrorConfig::direction>(), "`both`",
     "what is copied"},
    {"as", choice_at<choice_words<kMirrorWords>, &MirrorConfig::kind>(), "`span`",
     "the frame as it is, or in GRE, with session, sequence number and, in type III, time and direction"},
    {"session", number_at<&MirrorConfig::session>({1, 1023}), "place in the list", "10 bits of the ERSPAN header"},
    {"to", value_of(FieldKind::kText), "192.0.2.1", "ERSPAN: IPv4 address of the collector"},
};

constexpr Word<FaultAction> kFaultActionWords[] = {{"drop", FaultAction::kDrop},
                                                   {"corrupt", FaultAction::kCorrupt},
                                                   {"ce-mark", FaultAction::kCeMark},
                                                   {"delay", FaultAction::kDelay},
                                                   {"duplicate", FaultAction::kDuplicate},
                                                   {"cut", FaultAction::kCut},
                                                   {"flap", FaultAction::kFlap},
                                                   {"pause-storm", FaultAction::kPauseStorm},
                                                   {"slow-receiver", FaultAction::kSlowReceiver}};
constexpr Word<FaultFrames> kFaultFramesWords[] = {
    {"any", FaultFrames::kAny}, {"request", FaultFrames::kRequest}, {"response", FaultFrames::kResponse}};
constexpr fields::Sizes kFaultTimes{0, 3600 * kSecond_ps}, kFaultSpans{1, 3600 * kSecond_ps};
constexpr std::uint64_t kMaxPsn = (1 << 24) - 1;
template <auto Member>
constexpr auto fault_time_at(fields::Sizes range) {
  return quantity_at<&FaultConfig::rule, Member>(Quantity::kTime, range);
}
constexpr Field<FaultConfig> kFaultFields[] = {
    {"link",
     endpoint_value(),
     "",
     "the port that the frames leave: it names one direction of its link",
     {.required = "link: \"vm00:p0\", the port that the frames leave"}},
    {"both_directions", flag_at<&FaultConfig::both_directions>(), "false", "the other direction too"},
    {"action",
     choice_at<choice_words<kFaultActionWords>, &FaultConfig::rule, &FaultRule::action>(),
     "",
     "what happens; `corrupt`: the ICRC is wrong. The last two are of a host's port",
     {.required = "action: drop"}},
    {"frames", choice_at<choice_words<kFaultFramesWords>, &FaultConfig::rule, &FaultRule::frames>(), "`any`",
     "SEND, WRITE, READ and atomic requests, UD; or ACK, NAK, READ response, atomic ACK, CNP"},
    {"qp", number_at<&FaultConfig::rule, &FaultRule::qp>({0, kMaxPsn}), "any",
     "the n-th destination QP that was seen in this direction, from 0"},
    {"psn", number_at<&FaultConfig::rule, &FaultRule::psn>({0, kMaxPsn}), "any",
     "relative to the first PSN of that QP in this direction: 5 is its sixth packet"},
    {"transmission", number_at<&FaultConfig::rule, &FaultRule::transmission>({1, 1000}), "any",
     "the n-th time that this PSN is sent; 1 is the first. Needs `psn`"},
    {"probability",
     quantity_at<&FaultConfig::rule, &FaultRule::probability_ppb>(Quantity::kProbability, {1, 1'000'000'000}), "always",
     "of each frame that matches"},
    {"start", fault_time_at<&FaultRule::start_ps>(kFaultTimes), "0", "of the time window, from the start of the run"},
    {"end", fault_time_at<&FaultRule::end_ps>(kFaultSpans), "never", "of the time window, from the start of the run"},
    {"delay", fault_time_at<&FaultRule::delay_ps>(kFaultTimes), "",
     "of `delay`, and of the copy that `duplicate` makes"},
    {"down", fault_time_at<&FaultRule::flap_down_ps>(kFaultSpans), "",
     "of `flap`: how long the link is down, from `start` on"},
    {"up", fault_time_at<&FaultRule::flap_up_ps>(kFaultSpans), "", "of `flap`: how long it is up, in turn"},
    {"priority", number_at<&FaultConfig::rule, &FaultRule::priority>({0, 7}), "",
     "of `pause-storm`: the NIC sends XOFF for it from `start` to `end`"},
    {"rate", quantity_at<&FaultConfig::rule, &FaultRule::rate_bps>(Quantity::kBitRate, {1, 1'600'000'000'000}), "",
     "of `slow-receiver`: how fast the NIC empties its receive buffer"},
    {"name", text_at<&FaultConfig::rule, &FaultRule::name>(), "action and number",
     "for comments in the capture and for the report"},
};

constexpr Field<Expectation> kExpectationFields[] = {
    {"min", shaped(kBound, "number"), "", "at least"},
    {"max", shaped(kBound, "number"), "", "at most"},
    {"equal", shaped(kBound, "number"), "", "exactly, in place of both; `wc_status` also by name"},
};

constexpr const Section* kNodeKinds[] = {&kHostKeys,      &kVmKeys,         &kOutsideKeys,     &kSwitchKeys,
                                         &kForwarderKeys, &kFabricNodeKeys, &kFabricSwitchKeys};
constexpr Section kNodeKeys{
    "node", "a node by its kind, or changes to one of the fabric", {}, {kNodeKinds, Parts::kAny}};
constexpr const Section* kLabParts[] = {&kNodeKeys, &kExpectationKeys};

}  // namespace

constinit const SectionOf<Lab> kLabKeys =
    section_of<kLabFields>("lab", "docs/lab-file.md explains every key", {kLabParts, Parts::kElsewhere},
                           R"("anyOf": [{"required": ["nodes"]}, {"required": ["fabric"]}])");
constinit const SectionOf<FabricSpec> kFabricKeys = section_of<kFabricFields>("fabric", "a network from a template");
constinit const SectionOf<FabricSpec> kFabricHostKeys =
    section_of<kFabricHostFields>("fabric_host", "every host of it");
constinit const SectionOf<LinkConfig> kLinkKeys = section_of<kLinkFields>("link", "a cable between two ports");
constinit const SectionOf<CableSpec> kCableKeys = section_of<kCableFields>("cable", "what a link is made of");
constinit const SectionOf<RoutingConfig> kRoutingKeys =
    section_of<kRoutingFields>("routing", "how switches choose paths");
constinit const SectionOf<void> kRouteKeys = section_of<kRouteFields>("route", "a route of its own");
constinit const SectionOf<MirrorConfig> kMirrorKeys = section_of<kMirrorFields>("mirror", "a SPAN or ERSPAN session");
constinit const SectionOf<FaultConfig> kFaultKeys =
    section_of<kFaultFields>("fault", "what goes wrong", {}, R"("dependencies": {"transmission": ["psn"]})");
constinit const SectionOf<Expectation> kExpectationKeys = section_of<kExpectationFields>(
    "expectation", "bounds of what is measured", {},
    R"("minProperties": 1, "not": {"anyOf": [{"required": ["equal", "min"]}, {"required": ["equal", "max"]}]})");

}  // namespace weft::lab
