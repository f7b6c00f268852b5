#include "world/captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace weft::lab {

namespace {

// Mirror sessions write to a file of their own; the switch's tunnel starts at an address made of its number.
tl::expected<std::unique_ptr<observe::Capture>, std::string> open_mirrors(World& world, const std::string& path,
                                                                          const observe::CaptureOptions& options,
                                                                          std::atomic<bool>& full) {
  auto capture = observe::Capture::create(path, world.book(), options, &full);
  if (!capture) return capture;
  for (const MirrorConfig& config : world.lab().mirrors) {
    std::uint32_t port = world.port_id(config.port);
    observe::Capture::Mirror mirror;
    if (config.kind == MirrorKind::kErspan2) mirror.type = wire::ErspanType::kII;
    if (config.kind == MirrorKind::kErspan3) mirror.type = wire::ErspanType::kIII;
    mirror.session = config.session;
    mirror.switch_id = static_cast<std::uint16_t>(config.port.host & 0x3ff);
    mirror.tunnel.src_mac = world.book()[port].mac;
    mirror.tunnel.dst_mac = {0x02, 0x00, 0x00, 0x00, 0x00, 0xfe};
    mirror.tunnel.src_ip = {10, 255, static_cast<std::uint8_t>(config.port.host >> 8),
                            static_cast<std::uint8_t>(config.port.host)};
    std::copy_n(std::begin(config.collector.bytes) + 12, 4, mirror.tunnel.dst_ip.begin());
    const std::string description = fmt::format("mirror session {} of {}", config.session,
                                                world.lab().switches[config.port.host].model.description);
    world.mirror(config, (*capture)->add_mirror(port, world.rate_bps(port), description, mirror));
  }
  return capture;
}

}  // namespace

tl::expected<std::unique_ptr<Captures>, std::string> Captures::open(World& world, const std::vector<PortRef>& ports,
                                                                    const std::string& path,
                                                                    const std::string& mirror_path,
                                                                    const observe::CaptureOptions& options) {
  std::unique_ptr<Captures> captures(new Captures(world, path, mirror_path));
  world.engine().call_progress_on(&captures->full_);
  const Lab& lab = world.lab();
  if (!ports.empty()) {
    auto created = observe::Capture::create(path, world.book(), options, &captures->full_);
    if (!created) return tl::make_unexpected(created.error());
    captures->ports_ = std::move(*created);
    for (const PortRef& ref : ports) {
      std::uint32_t port = world.port_id(ref);
      if (port >= world.port_count() || world.rate_bps(port) == 0) continue;
      const std::string& description = ref.is_switch() ? lab.switches[ref.host].model.description
                                                       : lab.hosts[ref.host].nics[ref.nic].model.description;
      world.tap(port, captures->ports_->add_port(port, world.rate_bps(port), description));
    }
  }
  if (!lab.mirrors.empty() && !mirror_path.empty()) {
    auto created = open_mirrors(world, mirror_path, options, captures->full_);
    if (!created) return tl::make_unexpected(created.error());
    captures->mirrors_ = std::move(*created);
  }
  return captures;
}

void Captures::flush(Time_ps now_ps) {
  for (observe::Capture* capture : {ports_.get(), mirrors_.get()}) {
    if (capture == nullptr) continue;
    capture->flush(now_ps == kNever_ps ? kNever_ps : now_ps - world_.stamp_lag_ps());
    // Frames may be rare, and the file may be read meanwhile.
    if (now_ps == kNever_ps) capture->sync();
  }
}

tl::expected<void, std::string> Captures::close() {
  // Both, whatever becomes of the first.
  const bool ports = !ports_ || ports_->close(), mirrors = !mirrors_ || mirrors_->close();
  if (!ports || !mirrors)
    return tl::make_unexpected(fmt::format("cannot write all of {} (is the disk full?)", ports ? mirror_path_ : path_));
  return {};
}

}  // namespace weft::lab
