#include "live/view/ethtool.h"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "labfile/nodes/port_modes.h"
#include "nic/device_control.h"
#include "results/counters/driver_counters.h"

namespace weft::live {

namespace {

constexpr std::size_t kModeWords = 3;  // of link modes: 96 bits

struct LinkModes {
  std::int64_t rate_bps;
  int copper, fibre;  // ETHTOOL_LINK_MODE_*_BIT
};
constexpr LinkModes kLinkModes[] = {
    {1'000'000'000, ETHTOOL_LINK_MODE_1000baseX_Full_BIT, ETHTOOL_LINK_MODE_1000baseX_Full_BIT},
    {10'000'000'000, ETHTOOL_LINK_MODE_10000baseCR_Full_BIT, ETHTOOL_LINK_MODE_10000baseSR_Full_BIT},
    {25'000'000'000, ETHTOOL_LINK_MODE_25000baseCR_Full_BIT, ETHTOOL_LINK_MODE_25000baseSR_Full_BIT},
    {40'000'000'000, ETHTOOL_LINK_MODE_40000baseCR4_Full_BIT, ETHTOOL_LINK_MODE_40000baseSR4_Full_BIT},
    {50'000'000'000, ETHTOOL_LINK_MODE_50000baseCR2_Full_BIT, ETHTOOL_LINK_MODE_50000baseSR2_Full_BIT},
    {100'000'000'000, ETHTOOL_LINK_MODE_100000baseCR4_Full_BIT, ETHTOOL_LINK_MODE_100000baseSR4_Full_BIT},
    {200'000'000'000, ETHTOOL_LINK_MODE_200000baseCR4_Full_BIT, ETHTOOL_LINK_MODE_200000baseSR4_Full_BIT},
    {400'000'000'000, ETHTOOL_LINK_MODE_400000baseCR4_Full_BIT, ETHTOOL_LINK_MODE_400000baseSR4_Full_BIT},
};

// Features that the drivers turn on by themselves; of the kernel's stack, which is not simulated.
constexpr const char* kFeatures[] = {"rx-checksum",
                                     "tx-checksum-ip-generic",
                                     "tx-scatter-gather",
                                     "tx-tcp-segmentation",
                                     "tx-tcp6-segmentation",
                                     "tx-generic-segmentation",
                                     "rx-gro",
                                     "rx-vlan-hw-parse",
                                     "tx-vlan-hw-insert",
                                     "rx-hashing",
                                     "highdma"};
constexpr std::size_t kFeatureCount = std::size(kFeatures);

struct Ethtool {
  const NetlinkNode& node;
  const NodePort& port;
  std::span<const std::byte> asked;
  std::vector<std::byte>& told;

  template <typename T>
  T question() const {
    T value{};
    std::memcpy(&value, asked.data(), std::min(asked.size(), sizeof(T)));
    return value;
  }
  template <typename T>
  int tell(const T& value) const {
    append(&value, sizeof(value));
    return 0;
  }
  void append(const void* bytes, std::size_t size_B) const {
    const auto* first = static_cast<const std::byte*>(bytes);
    told.insert(told.end(), first, first + size_B);
  }
  bool is_up() const { return is_link_up(node.world, port.port, node.now_ps); }
  // FEC of this end of the cable.
  lab::Fec fec() const {
    if (port.link == nullptr) return lab::Fec::kNone;
    return port.link->a == port.ref ? port.link->fec : port.link->fec_b;
  }
  std::string name() const { return node.changes.name_of(port); }
  bool is_copper() const { return port.link == nullptr || port.link->cable == lab::CableKind::kDac; }
  std::vector<lab::DriverCounter> counters() const {
    auto list = driver_counters(count(node.world, port, node.now_ps), port.model->driver, port.config->address.is_v4);
    std::erase_if(list, [](const auto& each) { return each.group != nic::CounterGroup::kEthtool; });
    return list;
  }
};

template <std::size_t N>
void copy_name(char (&to)[N], const std::string& text) {
  text.copy(to, N - 1);
}

// 802.3x, as it is now.
bool has_pause(const Ethtool& e) {
  const nic::DeviceControl device(*e.node.world.device(e.port.port));
  return device.qos().flow_control == fabric::FlowControl::kPause;
}

int driver_info(const Ethtool& e) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  copy_name(info.driver, e.port.netdev_driver());
  copy_name(info.version, "weft");
  copy_name(info.fw_version, e.port.model->firmware);
  copy_name(info.bus_info, e.port.pci);
  info.n_stats = static_cast<std::uint32_t>(e.counters().size());
  return e.tell(info);
}

int fec_mode(lab::Fec fec) {
  switch (fec) {
    case lab::Fec::kNone:
      return ETHTOOL_LINK_MODE_FEC_NONE_BIT;
    case lab::Fec::kBaseR:
      return ETHTOOL_LINK_MODE_FEC_BASER_BIT;
    default:
      return ETHTOOL_LINK_MODE_FEC_RS_BIT;
  }
}

// Asked twice: first for the size of the masks, which the answer has as a negative number.
int link_settings(const Ethtool& e) {
  auto settings = e.question<ethtool_link_settings>();
  const bool size_only = settings.link_mode_masks_nwords != static_cast<std::int8_t>(kModeWords);
  settings = {};
  settings.cmd = ETHTOOL_GLINKSETTINGS;
  settings.link_mode_masks_nwords = static_cast<std::int8_t>(size_only ? -static_cast<int>(kModeWords) : kModeWords);
  if (size_only) return e.tell(settings);
  const std::int64_t rate_bps = e.node.world.rate_bps(e.port.port);
  const std::vector<std::int64_t> rates_bps = lab::supported_rates_bps(*e.port.model);
  std::uint32_t modes[kModeWords] = {};
  const auto set = [&modes](int bit) { modes[bit / 32] |= 1u << bit % 32; };
  set(ETHTOOL_LINK_MODE_FIBRE_BIT);
  set(ETHTOOL_LINK_MODE_Autoneg_BIT);
  if (has_pause(e)) set(ETHTOOL_LINK_MODE_Pause_BIT);
  for (const LinkModes& each : kLinkModes) {
    if (std::find(rates_bps.begin(), rates_bps.end(), each.rate_bps) != rates_bps.end())
      set(e.is_copper() ? each.copper : each.fibre);
  }
  const std::vector<lab::Fec> fec_modes = lab::supported_fec(*e.port.model);
  for (const lab::Fec fec : fec_modes) set(fec_mode(fec));
  settings.speed =
      e.is_up() ? static_cast<std::uint32_t>(rate_bps / 1'000'000) : static_cast<std::uint32_t>(SPEED_UNKNOWN);
  settings.duplex = e.is_up() ? DUPLEX_FULL : DUPLEX_UNKNOWN;
  settings.port = e.is_copper() ? PORT_DA : PORT_FIBRE;
  settings.autoneg = AUTONEG_ENABLE;
  e.tell(settings);
  const std::uint32_t partner[kModeWords] = {};
  e.append(modes, sizeof(modes));  // supported
  // A card that runs below its rate and whose peer could run at it too is forced, or the cable lets it down: it
  // advertises all the same. Of FEC it advertises what it is set to.
  for (const lab::Fec fec : fec_modes) {
    const int bit = fec_mode(fec);
    if (bit != fec_mode(e.fec())) modes[bit / 32] &= ~(1u << bit % 32);
  }
  e.append(modes, sizeof(modes));
  e.append(partner, sizeof(partner));
  return 0;
}

int fec_parameters(const Ethtool& e) {
  ethtool_fecparam fec{};
  fec.cmd = ETHTOOL_GFECPARAM;
  const int mode = fec_mode(e.fec());
  fec.fec = mode == ETHTOOL_LINK_MODE_FEC_NONE_BIT    ? ETHTOOL_FEC_OFF
            : mode == ETHTOOL_LINK_MODE_FEC_BASER_BIT ? ETHTOOL_FEC_BASER
                                                      : ETHTOOL_FEC_RS;
  fec.active_fec = e.is_up() ? fec.fec : static_cast<std::uint32_t>(ETHTOOL_FEC_NONE);
  return e.tell(fec);
}

int pause_parameters(const Ethtool& e) {
  const bool on = has_pause(e);
  return e.tell(ethtool_pauseparam{ETHTOOL_GPAUSEPARAM, 0, on, on});
}

int ring_parameters(const Ethtool& e) {
  ethtool_ringparam rings{};
  rings.cmd = ETHTOOL_GRINGPARAM;
  rings.rx_max_pending = rings.tx_max_pending = e.port.is_mlx5() ? 8192 : 8160;
  rings.rx_pending = e.port.is_mlx5() ? 1024 : 2048;
  rings.tx_pending = e.port.is_mlx5() ? 1024 : 256;
  return e.tell(rings);
}

// As many queues as programs have CPUs, which is what both drivers make.
int channels(const Ethtool& e) {
  ethtool_channels counts{};
  counts.cmd = ETHTOOL_GCHANNELS;
  counts.max_combined = counts.combined_count = static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  if (!e.port.is_mlx5()) counts.max_other = counts.other_count = 1;
  return e.tell(counts);
}

int coalescing(const Ethtool& e) {
  ethtool_coalesce c{};
  c.cmd = ETHTOOL_GCOALESCE;
  c.use_adaptive_rx_coalesce = c.use_adaptive_tx_coalesce = 1;
  c.rx_coalesce_usecs = e.port.is_mlx5() ? 8 : 50;
  c.tx_coalesce_usecs = e.port.is_mlx5() ? 8 : 50;
  if (e.port.is_mlx5()) c.rx_max_coalesced_frames = c.tx_max_coalesced_frames = 128;
  return e.tell(c);
}

int time_stamping(const Ethtool& e) {
  ethtool_ts_info info{};
  info.cmd = ETHTOOL_GET_TS_INFO;
  info.so_timestamping = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
  info.phc_index = -1;
  return e.tell(info);
}

std::vector<std::string> strings(const Ethtool& e, std::uint32_t set) {
  std::vector<std::string> list;
  if (set == ETH_SS_STATS) {
    for (const lab::DriverCounter& each : e.counters()) list.push_back(each.name);
  } else if (set == ETH_SS_FEATURES) {
    list.assign(std::begin(kFeatures), std::end(kFeatures));
  }
  return list;
}

int set_info(const Ethtool& e) {
  struct Question {
    std::uint32_t cmd, reserved;
    std::uint64_t mask;
  } info = e.question<Question>();
  const std::uint64_t known = info.mask & (1u << ETH_SS_STATS | 1u << ETH_SS_FEATURES);
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t set = 0; set < 32; ++set) {
    if ((known >> set & 1) != 0) sizes.push_back(static_cast<std::uint32_t>(strings(e, set).size()));
  }
  info.mask = known;
  e.tell(info);
  e.append(sizes.data(), sizes.size() * sizeof(std::uint32_t));
  return 0;
}

int string_set(const Ethtool& e) {
  auto head = e.question<ethtool_gstrings>();
  const std::vector<std::string> list = strings(e, head.string_set);
  if (list.empty()) return EOPNOTSUPP;
  head.len = static_cast<std::uint32_t>(list.size());
  e.tell(head);
  for (const std::string& each : list) {
    char text[ETH_GSTRING_LEN] = {};
    copy_name(text, each);
    e.append(text, sizeof(text));
  }
  return 0;
}

int statistics(const Ethtool& e) {
  const std::vector<lab::DriverCounter> list = e.counters();
  e.tell(ethtool_stats{ETHTOOL_GSTATS, static_cast<std::uint32_t>(list.size())});
  for (const lab::DriverCounter& each : list) e.append(&each.value, sizeof(each.value));
  return 0;
}

int features(const Ethtool& e) {
  const auto asked = e.question<ethtool_gfeatures>();
  const std::uint32_t blocks = (kFeatureCount + 31) / 32;
  const std::uint32_t all = (1u << kFeatureCount) - 1;
  e.tell(ethtool_gfeatures{ETHTOOL_GFEATURES, blocks});
  for (std::uint32_t i = 0; i < std::min(blocks, asked.size); ++i) e.tell(ethtool_get_features_block{all, all, all, 0});
  return 0;
}

// As ethtool asks besides.
int old_feature(const Ethtool& e) {
  return e.tell(ethtool_value{e.question<ethtool_value>().cmd, 1});
}
int old_flags(const Ethtool& e) {
  return e.tell(ethtool_value{ETHTOOL_GFLAGS, ETH_FLAG_TXVLAN | ETH_FLAG_RXVLAN | ETH_FLAG_RXHASH});
}

int permanent_address(const Ethtool& e) {
  e.tell(ethtool_perm_addr{ETHTOOL_GPERMADDR, 6});
  e.append(e.port.mac.data(), e.port.mac.size());
  return 0;
}

constexpr std::pair<std::uint32_t, int (*)(const Ethtool&)> kEthtoolAnswers[] = {
    {ETHTOOL_GDRVINFO, driver_info},
    {ETHTOOL_GLINKSETTINGS, link_settings},
    {ETHTOOL_GFECPARAM, fec_parameters},
    {ETHTOOL_GPAUSEPARAM, pause_parameters},
    {ETHTOOL_GRINGPARAM, ring_parameters},
    {ETHTOOL_GCHANNELS, channels},
    {ETHTOOL_GCOALESCE, coalescing},
    {ETHTOOL_GET_TS_INFO, time_stamping},
    {ETHTOOL_GSSET_INFO, set_info},
    {ETHTOOL_GSTRINGS, string_set},
    {ETHTOOL_GSTATS, statistics},
    {ETHTOOL_GFEATURES, features},
    {ETHTOOL_GPERMADDR, permanent_address},
    {ETHTOOL_GRXCSUM, old_feature},
    {ETHTOOL_GTXCSUM, old_feature},
    {ETHTOOL_GSG, old_feature},
    {ETHTOOL_GTSO, old_feature},
    {ETHTOOL_GGSO, old_feature},
    {ETHTOOL_GGRO, old_feature},
    {ETHTOOL_GFLAGS, old_flags}};

// Refuses a change of what the lab says of a cable: its place in `links`.
int refuse_of_cable(const Ethtool& e, const char* what, const char* key, const std::string& value) {
  const lab::Lab& lab = e.node.world.lab();
  for (std::size_t i = 0; i < lab.links.size(); ++i) {
    if (&lab.links[i] != e.port.link) continue;
    const bool made = lab.hosts[e.node.host].of_fabric;
    return e.node.changes.refuse_in_lab(
        fmt::format("{}: {} is the cable's, in the lab", e.name(), what),
        made ? fmt::format("fabric.cable.{}", key) : fmt::format("links[{}].cable.{}", i, key), value);
  }
  return e.node.changes.refuse(fmt::format("{} has no cable", e.name()), "add a link in the lab");
}

int set_link_settings(const Ethtool& e) {
  return refuse_of_cable(e, "the rate", "rate", fmt::format("{} Gbps", e.port.model->line_rate_bps / 1'000'000'000));
}

int set_fec(const Ethtool& e) {
  const std::uint32_t asked = e.question<ethtool_fecparam>().fec;
  return refuse_of_cable(e, "FEC", "fec",
                         (asked & ETHTOOL_FEC_OFF) != 0     ? "none"
                         : (asked & ETHTOOL_FEC_BASER) != 0 ? "base-r"
                         : (asked & ETHTOOL_FEC_RS) != 0    ? "rs528"
                                                            : "auto");
}

int set_pause(const Ethtool& e) {
  const auto asked = e.question<ethtool_pauseparam>();
  const bool on = has_pause(e), wanted = asked.rx_pause != 0;
  if (wanted != (asked.tx_pause != 0))
    return e.node.changes.refuse(fmt::format("{}: pauses go both ways or not at all", e.name()),
                                 fmt::format("ethtool -A {} rx on tx on", e.port.netdev));
  return wanted == on ? 0 : e.node.changes.set_pause(e.port, wanted, e.node.now_ps);
}

// Refuses a change of the kernel's stack, which is not simulated.
int refuse_as_default(const Ethtool& e) {
  return e.node.changes.refuse(
      fmt::format("{}: rings, channels, coalescing and offloads are the driver's defaults", e.name()),
      "nothing of the lab depends on them: go on without (docs/node.md)");
}

constexpr std::pair<std::uint32_t, int (*)(const Ethtool&)> kEthtoolChanges[] = {
    {ETHTOOL_SSET, set_link_settings},
    {ETHTOOL_SLINKSETTINGS, set_link_settings},
    {ETHTOOL_SFECPARAM, set_fec},
    {ETHTOOL_SPAUSEPARAM, set_pause},
    {ETHTOOL_SRINGPARAM, refuse_as_default},
    {ETHTOOL_SCOALESCE, refuse_as_default},
    {ETHTOOL_SFEATURES, refuse_as_default},
    {ETHTOOL_SCHANNELS, refuse_as_default},
    {ETHTOOL_SPFLAGS, refuse_as_default}};

}  // namespace

int answer_ethtool(const NetlinkNode& node, const std::string& interface, std::span<const std::byte> asked,
                   std::vector<std::byte>& told) {
  std::uint32_t command = 0;
  if (asked.size() < sizeof(command)) return EINVAL;
  std::memcpy(&command, asked.data(), sizeof(command));
  const NodePort* found = nullptr;
  for (const NodePort& port : node.ports) {
    if (port.netdev == interface) found = &port;
  }
  if (found == nullptr && interface != "lo") return ENODEV;
  if (command == ETHTOOL_GLINK) {
    const bool up = found == nullptr || is_link_up(node.world, found->port, node.now_ps);
    const ethtool_value value{command, up};
    told.resize(sizeof(value));
    std::memcpy(told.data(), &value, sizeof(value));
    return 0;
  }
  if (found == nullptr) return EOPNOTSUPP;
  for (const auto& [known, change] : kEthtoolChanges) {
    if (known == command) return change({node, *found, asked, told});
  }
  for (const auto& [known, answer] : kEthtoolAnswers) {
    if (known == command) return answer({node, *found, asked, told});
  }
  return EOPNOTSUPP;
}

}  // namespace weft::live
