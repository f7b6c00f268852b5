// Packets to a multicast group through a fabric with loops: every member gets each once, on any number of threads, and
// no packet is lost from the books.
#include "nic/multicast.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/fabric_lab.h"
#include "wire/ipv6.h"
#include "world/world.h"

namespace weft::lab {
namespace {

constexpr nic::GroupGid kGroup = wire::ipv4_mapped(239, 9, 9, 9);
constexpr std::uint32_t kMessages = 200, kLength_B = 1000;
constexpr std::uint32_t kSender = 1, kOutsider = 4;  // hosts: who sends, and who is no member

class Sender final : public host::Program {
 public:
  Sender(nic::Device& device, std::uint32_t qpn) : device_(device), qpn_(qpn) {}
  Time_ps step(Time_ps now_ps) override {
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      nic::SendRequest request;
      request.opcode = nic::WrOpcode::kSend;
      request.signaled = false;
      request.inline_data = true;
      request.length_B = kLength_B;
      request.qkey = 7;
      request.set_group(kGroup);
      EXPECT_TRUE(device_.post_send(qpn_, request, now_ps));
    }
    return kNever_ps;
  }

 private:
  nic::Device& device_;
  std::uint32_t qpn_;
};

struct Outcome {
  std::vector<std::vector<Time_ps>> seen;  // by host: when each message was
  std::uint64_t replicas = 0, refused = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run(std::uint32_t domains) {
  // Three leaves, two spines: as one subnet it has loops.
  support::FabricLab fabric = support::leaf_spine(3, 2, 2);
  for (std::size_t i = 0; i < fabric.lab.hosts.size(); ++i) {
    PortConfig& port = fabric.lab.hosts[i].nics[0].ports[0];
    parse_address("10.0.0." + std::to_string(i + 1) + "/24", port.address, port.prefix_bits);
  }
  WorldOptions options;
  options.domains = domains;
  World world(fabric.lab, options);
  std::vector<std::uint32_t> cqs;
  std::optional<Sender> sender;
  const auto hosts = static_cast<std::uint32_t>(fabric.lab.hosts.size());
  for (std::uint32_t h = 0; h < hosts; ++h) {
    nic::Device& device = world.host(h).device(0);
    cqs.push_back(device.create_cq(4 * kMessages));
    const std::uint32_t qpn = device.create_qp(nic::QpType::kUd, cqs[h], cqs[h], kMessages, kMessages);
    nic::QpAttributes attributes;
    attributes.qkey = 7;
    attributes.path_mtu_B = 4096;
    for (nic::QpState state : {nic::QpState::kInit, nic::QpState::kRtr, nic::QpState::kRts})
      EXPECT_TRUE(device.modify(qpn, state, attributes));
    const std::uint32_t key = device.memory().add(0, 4096, {true, true, true, true});
    for (std::uint32_t i = 0; i < kMessages; ++i) EXPECT_TRUE(device.post_receive(qpn, {i, 0, key, 2000}));
    if (h != kOutsider) EXPECT_TRUE(nic::MulticastPort::attach(device, qpn, kGroup));
    if (h == kSender) world.host(h).start(sender.emplace(device, qpn), us(1));
  }
  world.engine().run(ms(10), domains);
  Outcome outcome;
  for (std::uint32_t h = 0; h < hosts; ++h) {
    nic::CompletionQueue& cq = world.host(h).device(0).cq(cqs[h]);
    outcome.seen.emplace_back();
    while (const nic::Completion* done = cq.peek(kNever_ps)) {
      if (done->opcode == nic::WcOpcode::kReceive) outcome.seen.back().push_back(done->visible_ps);
      cq.pop();
    }
  }
  for (std::uint32_t s = 0; s < world.switch_count(); ++s) {
    world.fabric_switch(s).settle_ledgers();
    EXPECT_TRUE(world.fabric_switch(s).balances());
  }
  for (WorldLink& link : world.links()) {
    const fabric::Ledger& sent = link.direction->sent;
    const fabric::Ledger& received = link.direction->received;
    EXPECT_EQ(sent.sent + sent.copies + received.replicas,
              sent.ended() + received.ended() + link.direction->in_flight());
    outcome.replicas += received.replicas;
    outcome.refused += received.of(fabric::Fate::kNoMember);
  }
  return outcome;
}

TEST(WorldMulticast, ReachesMembersOnceOnAnyThreads) {
  const Outcome whole = run(1);
  ASSERT_EQ(whole.seen.size(), 6U);
  for (std::uint32_t h = 0; h < 6; ++h) EXPECT_EQ(whole.seen[h].size(), h == kOutsider ? 0U : kMessages) << h;
  EXPECT_EQ(whole.refused, kMessages);
  // Leaf 0 sends it to its other host and up, the spine to two leaves, these to two hosts each.
  EXPECT_EQ(whole.replicas, kMessages * 4);
  for (std::uint32_t domains : {2U, 4U}) EXPECT_EQ(run(domains), whole) << domains;
}

}  // namespace
}  // namespace weft::lab
