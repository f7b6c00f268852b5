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
    captures->add_ports(*captures->ports_, ports, nullptr);
  }
  if (!lab.mirrors.empty() && !mirror_path.empty()) {
    auto created = open_mirrors(world, mirror_path, options, captures->full_);
    if (!created) return tl::make_unexpected(created.error());
    captures->mirrors_ = std::move(*created);
  }
  return captures;
}

void Captures::add_ports(observe::Capture& capture, const std::vector<PortRef>& ports, std::vector<const void*>* taps) {
  const Lab& lab = world_.lab();
  for (const PortRef& ref : ports) {
    const std::uint32_t port = world_.port_id(ref);
    if (port >= world_.port_count() || world_.rate_bps(port) == 0) continue;
    const std::string& description = ref.is_switch() ? lab.switches[ref.host].model.description
                                                     : lab.hosts[ref.host].nics[ref.nic].model.description;
    const fabric::Tap tap = capture.add_port(port, world_.rate_bps(port), description);
    world_.tap(port, tap);
    if (taps != nullptr) taps->push_back(tap.self);
  }
}

std::uint32_t Captures::keep(const std::vector<PortRef>& ports, const std::string& path,
                             std::unique_ptr<observe::Capture> capture) {
  Started started{++last_number_, path, false, ports, std::move(capture), {}};
  add_ports(*started.capture, ports, &started.taps);
  started.capture->sync();
  started_.push_back(std::move(started));
  return last_number_;
}

tl::expected<std::uint32_t, std::string> Captures::start(const std::vector<PortRef>& ports, const std::string& path,
                                                         const observe::CaptureOptions& options) {
  auto created = observe::Capture::create(path, world_.book(), options, &full_);
  if (!created) return tl::make_unexpected(created.error());
  return keep(ports, path, std::move(*created));
}

std::uint32_t Captures::start(const std::vector<PortRef>& ports, std::FILE* file,
                              const observe::CaptureOptions& options, const std::string& name) {
  const std::uint32_t number = keep(ports, name, observe::Capture::create(file, world_.book(), options, &full_));
  started_.back().is_stream = true;
  return number;
}

std::optional<bool> Captures::stop(std::uint32_t number) {
  const auto found =
      std::find_if(started_.begin(), started_.end(), [&](const Started& each) { return each.number == number; });
  if (found == started_.end()) return std::nullopt;
  world_.untap(found->taps);
  const bool written = found->capture->close();
  started_.erase(found);
  return written;
}

void Captures::flush(observe::Capture& capture, Time_ps now_ps) {
  capture.flush(now_ps == kNever_ps ? kNever_ps : now_ps - world_.stamp_lag_ps());
  // Frames may be rare, and the file may be read meanwhile.
  if (now_ps == kNever_ps) capture.sync();
}

void Captures::flush(Time_ps now_ps) {
  for (observe::Capture* capture : {ports_.get(), mirrors_.get()}) {
    if (capture != nullptr) flush(*capture, now_ps);
  }
  for (const Started& each : started_) {
    flush(*each.capture, now_ps);
    if (each.is_stream) each.capture->sync();
  }
}

tl::expected<void, std::string> Captures::close() {
  bool all = true;
  while (!started_.empty()) all = *stop(started_.back().number) && all;
  if (!all) return tl::make_unexpected(std::string("cannot write all of a capture (is the disk full?)"));
  // Both, whatever becomes of the first.
  const bool ports = !ports_ || ports_->close(), mirrors = !mirrors_ || mirrors_->close();
  if (!ports || !mirrors)
    return tl::make_unexpected(fmt::format("cannot write all of {} (is the disk full?)", ports ? mirror_path_ : path_));
  return {};
}

}  // namespace weft::lab
