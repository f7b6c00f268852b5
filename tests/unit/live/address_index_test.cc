#include "live/os/address_index.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "labfile/reader.h"
#include "world/session.h"

namespace weft::live {
namespace {

// Every address of a lab, IPv6 among them, and every link-local one leads to its port; others to none.
TEST(AddressIndex, FindsPortOfEveryAddress) {
  for (const char* name : {"live/e810-and-cx6.yaml", "live/load-32x25g.yaml"}) {
    const std::string path = std::string(WEFT_SOURCE_DIR "/labs/") + name;
    const lab::Lab lab = *lab::read_lab(*read_file(path, 1 << 20), path);
    lab::SessionOptions options;
    options.open_ended = true;
    const auto session = std::move(*lab::Session::open(lab, options));
    lab::World& world = session->world();
    const AddressIndex index(world);
    std::uint32_t ports = 0;
    for (std::uint32_t port = 0; port < world.port_count(); ++port) {
      if (world.device(port) == nullptr) continue;
      ++ports;
      const fabric::PortAddress& address = world.book()[port];
      for (const auto& key : {address.ip, link_local(address.mac)}) {
        const AddressIndex::Owner* owner = index.find(key.data());
        ASSERT_NE(owner, nullptr) << address.name;
        EXPECT_EQ(owner->port, port);
        EXPECT_TRUE(address.name.starts_with(lab.hosts[owner->host].name + ":")) << address.name;
      }
    }
    EXPECT_GE(ports, 4U);
    auto other = world.book()[0].ip;
    other[15] ^= 0x80;
    EXPECT_EQ(index.find(other.data()), nullptr);
  }
}

}  // namespace
}  // namespace weft::live
