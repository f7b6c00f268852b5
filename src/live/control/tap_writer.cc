#include "live/control/tap_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "text/problem.h"

namespace weft::live {

namespace {

bool is_interface_name(const std::string& name) {
  return !name.empty() && name.size() < IFNAMSIZ && name != "." && name != ".." &&
         name.find_first_of("/:% \t\n") == name.npos;
}

// False: it stays down.
bool bring_up(ifreq request) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  if (up && (request.ifr_flags & IFF_UP) == 0) {
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    up = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  }
  if (fd >= 0) close(fd);
  return up;
}

}  // namespace

tl::expected<std::shared_ptr<TapWriter>, CommandProblem> TapWriter::open(const std::string& name) {
  if (!is_interface_name(name))
    return problem(fmt::format("{} cannot be the name of an interface", lab::in_quotes(name)),
                   fmt::format("use up to {} characters, without / and spaces", IFNAMSIZ - 1));
  const std::string by_hand = fmt::format(
      "run the world as root, or make it for your user: ip tuntap add {} mode tap user $USER; ip link set {} up", name,
      name);
  const int fd = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return problem(fmt::format("cannot open /dev/net/tun: {}", std::strerror(errno)),
                   "a TAP needs the tun module and the rights to use it; weft capture --live needs neither");
  std::shared_ptr<TapWriter> tap(new TapWriter(fd));
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(fd, TUNSETIFF, &request) != 0) {
    if (errno == EBUSY) return problem(fmt::format("{} is in use by another program", name), "choose another name");
    if (errno == EINVAL) return problem(fmt::format("{} is there, and no TAP", name), "choose another name");
    return problem(fmt::format("cannot make the TAP {}: {}", name, std::strerror(errno)), by_hand);
  }
  if (!bring_up(request)) return problem(fmt::format("{} is down", name), by_hand);
  cookie_io_functions_t functions{};
  functions.write = &TapWriter::write;
  tap->file_ = fopencookie(tap.get(), "w", functions);
  if (tap->file_ == nullptr) return problem("no memory for a capture", "try again");
  return tap;
}

TapWriter::~TapWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

ssize_t TapWriter::write(void* self, const char* bytes, std::size_t size_B) {
  auto& tap = *static_cast<TapWriter*>(self);
  tap.blocks_.add({bytes, size_B}, [&tap](std::uint32_t type, std::string_view block) {
    if (type != kPacketBlock) return;
    const std::string_view frame = frame_of_block(block);
    if (frame.empty() || ::write(tap.fd_.fd, frame.data(), frame.size()) < 0) ++tap.lost_;
  });
  return static_cast<ssize_t>(size_B);
}

}  // namespace weft::live
