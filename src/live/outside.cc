#include "live/outside.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weft::live {

namespace {

constexpr int kFramesPerLook = 64;
constexpr std::size_t kReceive_B = 16 << 10;  // longer frames are cut, and dropped as malformed
constexpr int kSocketBuffer_B = 4 << 20;      // a guest without KVM comes in bursts

sockaddr_in address_of(const lab::UdpAddress& address) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  std::memcpy(&out.sin_addr, address.ip.data(), address.ip.size());
  out.sin_port = htons(address.port);
  return out;
}

tl::expected<int, std::string> open_udp(const lab::OutsideConfig& config) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in here = address_of(config.listen), there = address_of(config.peer);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer_B, sizeof(kSocketBuffer_B));
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBuffer_B, sizeof(kSocketBuffer_B));
  // Connected: datagrams of others do not come in.
  if (bind(fd, reinterpret_cast<sockaddr*>(&here), sizeof(here)) == 0 &&
      connect(fd, reinterpret_cast<sockaddr*>(&there), sizeof(there)) == 0)
    return fd;
  std::string why = std::strerror(errno);
  close(fd);
  return tl::unexpected(fmt::format("UDP {} to {}: {}", to_string(config.listen), to_string(config.peer), why));
}

tl::expected<int, std::string> open_tap(const std::string& name) {
  int fd = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  ifreq ask{};
  ask.ifr_flags = IFF_TAP | IFF_NO_PI;
  name.copy(ask.ifr_name, IFNAMSIZ - 1);
  if (fd >= 0 && ioctl(fd, TUNSETIFF, &ask) == 0) return fd;
  std::string why = std::strerror(errno);
  std::string remedy = errno == EPERM || errno == EACCES
                           ? fmt::format("; make it yours first: sudo ip tuntap add {} mode tap user $USER", name)
                           : "";
  if (fd >= 0) close(fd);
  return tl::unexpected(fmt::format("TAP {}: {}{}", name, why, remedy));
}

}  // namespace

bool OutsideLine::bring(lab::OutsidePort& port, Time_ps now_ps) {
  std::array<std::uint8_t, kReceive_B> frame;
  for (int i = 0; i < kFramesPerLook; ++i) {
    ssize_t size_B = ::read(fd(), frame.data(), frame.size());
    // A peer that is not there yet shows as an error that the next read does not have.
    if (size_B < 0 && errno != ECONNREFUSED) return i > 0;
    if (size_B > 0) port.receive(std::span(frame).first(static_cast<std::size_t>(size_B)), now_ps);
  }
  return true;
}

// A frame that finds no room is lost, as on any Ethernet.
void OutsideLine::send(void* self, std::span<const std::uint8_t> frame) {
  [[maybe_unused]] ssize_t size_B = ::write(static_cast<OutsideLine*>(self)->fd(), frame.data(), frame.size());
}

tl::expected<std::vector<OutsideLine>, std::string> open_outside(const lab::Lab& lab) {
  std::vector<OutsideLine> lines;
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) {
    const auto& config = lab.hosts[h].outside;
    if (!config) continue;
    auto fd = config->tap.empty() ? open_udp(*config) : open_tap(config->tap);
    if (!fd) return tl::unexpected(fmt::format("{}: {}", lab.hosts[h].name, fd.error()));
    lines.emplace_back(h, *fd);
  }
  return lines;
}

}  // namespace weft::live
