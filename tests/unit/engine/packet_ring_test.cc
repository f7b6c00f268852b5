#include "engine/packet_ring.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <deque>

namespace weft::engine {
namespace {

Packet packet(std::uint32_t n) {
  Packet p;
  p.word = n;
  p.aux = n;
  p.time_ps = n;
  return p;
}

TEST(PacketRing, WrapsWithoutGrowing) {
  PacketRing ring;
  std::uint32_t in = 0;
  std::uint32_t out = 0;
  for (int i = 0; i < 1000; ++i) {
    while (ring.size() < 8) ring.push(packet(in++));
    for (int k = 0; k < 5; ++k) {
      ASSERT_EQ(ring.front().aux, out++);
      ring.pop();
    }
  }
  EXPECT_EQ(in - out, ring.size());
}

TEST(PacketRing, GrowsWhileWrapped) {
  PacketRing ring;
  for (std::uint32_t i = 0; i < 8; ++i) ring.push(packet(i));
  for (std::uint32_t i = 0; i < 5; ++i) ring.pop();
  for (std::uint32_t i = 8; i < 40; ++i) ring.push(packet(i));
  ASSERT_EQ(ring.size(), 35U);
  for (std::uint32_t i = 0; i < 35; ++i) ASSERT_EQ(ring.at(i).aux, 5 + i);
}

TEST(PacketRing, StartsOverInOwnersMemory) {
  std::array<Packet, PacketRing::kFirstCapacity> first;
  PacketRing ring{PacketRing::Borrowed{}};
  ring.begin_at(first.data());
  for (std::uint32_t i = 0; i < 3; ++i) {
    ring.push_first(packet(i), i);
    ring.push(packet(100 + i));
    EXPECT_EQ(&ring.front(), first.data());
    EXPECT_EQ(ring.front().aux, i);
    EXPECT_EQ(ring.at(1).aux, 100 + i);
    ring.pop();
    ring.pop();
    EXPECT_TRUE(ring.empty());
  }
  ring.push_first(packet(0), 0);
  for (std::uint32_t i = 1; i < 40; ++i) ring.push(packet(i));
  for (std::uint32_t i = 0; i < 40; ++i) ASSERT_EQ(ring.at(i).aux, i);
}

RC_GTEST_PROP(PacketRing, IsFifo, (const std::vector<bool>& pushes)) {
  PacketRing ring;
  std::deque<std::uint32_t> model;
  std::uint32_t next = 0;
  for (bool push : pushes) {
    if (push || model.empty()) {
      ring.push(packet(next));
      model.push_back(next++);
    } else {
      RC_ASSERT(ring.front().aux == model.front());
      ring.pop();
      model.pop_front();
    }
    RC_ASSERT(ring.size() == model.size());
    RC_ASSERT(ring.empty() == model.empty());
  }
}

}  // namespace
}  // namespace weft::engine
