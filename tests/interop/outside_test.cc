// Ports to the outside of a world that is up: a peer that this test plays over UDP, and the machine's own kernel over a
// TAP interface. tests/interop/rxe.sh has a whole Linux behind the port.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include "interop/live_world.h"
#include "wire/neighbour.h"
#include "wire/roce_frame.h"

namespace weft::interop {
namespace {

// A UDP socket of the test, and the frames that come in there.
class Peer {
 public:
  Peer() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any = loopback(0);
    bind(fd_, reinterpret_cast<sockaddr*>(&any), sizeof(any));
    socklen_t size = sizeof(any);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&any), &size);
    port_ = ntohs(any.sin_port);
  }
  ~Peer() { close(fd_); }
  int port() const { return port_; }
  void send(const std::vector<std::uint8_t>& frame, int to) const {
    sockaddr_in address = loopback(to);
    sendto(fd_, frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  std::vector<std::uint8_t> receive() const {
    pollfd fd{fd_, POLLIN, 0};
    std::vector<std::uint8_t> frame(9000);
    if (poll(&fd, 1, 10'000) <= 0) return {};
    frame.resize(static_cast<std::size_t>(std::max<ssize_t>(recv(fd_, frame.data(), frame.size(), 0), 0)));
    return frame;
  }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  int fd_, port_ = 0;
};

std::string lab_file(const std::string& directory, const std::string& carrier) {
  std::string path = directory + "/outside.yaml";
  std::ofstream(path) << "version: 1\nname: outside\nnodes:\n"
                         "  h0: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.77.0.1/24}}}]}\n"
                         "  peer: {kind: outside, address: 10.77.0.9/24, "
                      << carrier << "}\nlinks:\n  - {endpoints: [\"h0:p0\", \"peer:p0\"]}\n";
  return path;
}

class Outside : public ::testing::Test {
 protected:
  Outside() {
    char name[] = "/tmp/weft-outside-XXXXXX";
    directory = mkdtemp(name);
  }
  ~Outside() override { fs::remove_all(directory); }
  std::string directory;
};

TEST_F(Outside, AnswersArpAndCountsBadFrames) {
  Peer peer;
  int ours;
  {
    Peer free;  // a port that nobody has
    ours = free.port();
  }
  Live world(Live::File{lab_file(directory, "udp: {listen: \"127.0.0.1:" + std::to_string(ours) +
                                                "\", peer: \"127.0.0.1:" + std::to_string(peer.port()) + "\"}")},
             "--clock wall");
  const wire::MacAddress mac{0x52, 0x54, 0, 0, 0, 9};
  wire::NeighbourRequest request{wire::ipv4_mapped(10, 77, 0, 9), wire::ipv4_mapped(10, 77, 0, 1), true, mac,
                                 std::nullopt};
  std::vector<std::uint8_t> frame(wire::kMaxNeighbourFrame_B);
  frame.resize(wire::build_neighbour_request(request, frame));
  peer.send(frame, ours);
  const auto answer = peer.receive();
  ASSERT_EQ(answer.size(), 42U) << "ARP over Ethernet";
  EXPECT_EQ(answer[21], 2) << "a reply";
  wire::MacAddress host_mac;
  std::copy_n(answer.begin() + 22, 6, host_mac.begin());

  wire::RoceHeaders headers;
  headers.dst_mac = host_mac;
  headers.src_mac = mac;
  headers.src_ip = request.sender;
  headers.dst_ip = request.target;
  headers.opcode = wire::Opcode::kSendOnly;
  headers.dest_qp = 0xabcdef;
  std::vector<std::uint8_t> roce(wire::roce_frame_size_B(headers, 64)), payload(64, 1);
  wire::build_roce_frame(headers, payload, roce);
  peer.send(roce, ours);
  roce.back() ^= 1;
  peer.send(roce, ours);
  peer.send({1, 2, 3}, ours);
  std::string said;
  for (int i = 0; i < 50 && said.find("other 1") == said.npos; ++i) {
    std::this_thread::sleep_for(100ms);
    said = Live::ps();
  }
  EXPECT_NE(
      said.find("outside: in 1, out 1, answered 1; dropped: bad ICRC 1, malformed 0, not for this lab 0, other 1"),
      said.npos)
      << said;
}

TEST_F(Outside, ConnectsKernelThroughTapOrReportsWhyNot) {
  std::string file = lab_file(directory, "tap: wefttest0");
  if (access("/dev/net/tun", R_OK | W_OK) != 0 || geteuid() != 0) {
    setenv("XDG_RUNTIME_DIR", directory.c_str(), 1);
    EXPECT_NE(std::system((WEFT_BINARY " up " + file + " --clock wall >" + directory + "/out 2>&1").c_str()), 0);
    EXPECT_NE(text_of(directory + "/out").find("peer: TAP wefttest0: "), std::string::npos);
    return;
  }
  Live world(Live::File{file}, "--clock wall");
  ASSERT_EQ(std::system("ip addr add 10.77.0.9/24 dev wefttest0 && ip link set wefttest0 up"), 0);
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  inet_pton(AF_INET, "10.77.0.1", &address.sin_addr);
  int found = -1;
  for (int i = 0; i < 50 && found != 0; ++i) {
    sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    std::this_thread::sleep_for(100ms);
    found = std::system("ip neigh show dev wefttest0 | grep -q '10.77.0.1 lladdr'");
  }
  close(fd);
  EXPECT_EQ(found, 0) << "the kernel has learned the MAC address of a simulated host";
}

TEST_F(Outside, RequiresWallClockMode) {
  std::string file = lab_file(directory, "tap: wefttest0");
  setenv("XDG_RUNTIME_DIR", directory.c_str(), 1);
  for (const char* verb : {"up", "run", "perftest"}) {
    std::string more = std::string(verb) == "perftest" ? " write_bw" : "";
    EXPECT_NE(
        std::system((WEFT_BINARY " " + std::string(verb) + " " + file + more + " >" + directory + "/out 2>&1").c_str()),
        0);
    std::string said = text_of(directory + "/out");
    EXPECT_NE(said.find("peer is a port to the outside"), said.npos) << said;
    EXPECT_NE(said.find("--clock wall"), said.npos) << said;
  }
}

}  // namespace
}  // namespace weft::interop
