#include "gear/emit/mirrors.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace weft::gear {
namespace {

std::vector<const lab::MirrorConfig*> mirrors_of(const SwitchJob& job) {
  std::vector<const lab::MirrorConfig*> own;
  for (const lab::MirrorConfig& mirror : job.lab.mirrors) {
    if (mirror.port.is_switch() && mirror.port.host == job.device) own.push_back(&mirror);
  }
  return own;
}

std::int64_t highest_rate_bps(const fabric::SwitchModel& model, std::uint32_t number) {
  std::uint32_t before = 0;
  for (const fabric::FrontPorts& ports : model.ports) {
    before += ports.count;
    if (number <= before) return ports.rates_bps.front();
  }
  return 0;
}

// The last front port without a cable that no session has yet and that is as fast as `from`: hosts are counted from the
// first.
std::optional<ContractPort> free_port(const SwitchJob& job, const ContractPort& from,
                                      const std::vector<MirrorSession>& sessions) {
  const lab::SwitchConfig& device = job.lab.switches[job.device];
  for (std::uint32_t number = static_cast<std::uint32_t>(device.ports.size()); number > 0; --number) {
    const auto is = [&](const ContractPort& port) { return port.number == number; };
    const bool cabled = std::any_of(job.contract.ports.begin(), job.contract.ports.end(), is);
    const bool taken =
        std::any_of(sessions.begin(), sessions.end(), [&](const MirrorSession& each) { return is(each.to); });
    const bool fast = highest_rate_bps(device.model, number) >= from.rate_bps;
    if (!cabled && !taken && fast) return named_port(device, number);
  }
  return std::nullopt;
}

}  // namespace

std::vector<MirrorSession> mirror_sessions(const SwitchJob& job, SwitchOutput& out) {
  std::vector<MirrorSession> sessions;
  for (const lab::MirrorConfig* mirror : mirrors_of(job)) {
    MirrorSession session;
    session.number = static_cast<std::uint32_t>(sessions.size()) + 1;
    session.from = job.port(mirror->port.port + 1);
    session.direction = mirror->direction;
    session.kind = mirror->kind;
    session.id = mirror->session;
    const std::string what = fmt::format("mirror session {} of {}", mirror->session, session.from.name);
    if (session.is_span()) {
      const auto to = free_port(job, session.from, sessions);
      if (!to) {
        out.note(what + ": no port without a cable is left for the copies");
        continue;
      }
      session.to = *to;
      out.note(fmt::format("{}: the lab has no port for the copies; they go to {}, which has no cable", what,
                           session.to.name));
    } else {
      if (!job.routes()) {
        out.note(what + ": the switch has no address of its own to send ERSPAN from");
        continue;
      }
      session.source = job.router().loopback;
      session.collector = lab::to_string(mirror->collector);
    }
    sessions.push_back(std::move(session));
  }
  return sessions;
}

void note_mirrors(const SwitchJob& job, SwitchOutput& out, std::string_view why) {
  for (const lab::MirrorConfig* mirror : mirrors_of(job))
    out.note(fmt::format("mirror session {} of {}: {}", mirror->session, job.port(mirror->port.port + 1).name, why));
}

}  // namespace weft::gear
