#include "world/link_control.h"

#include <gtest/gtest.h>

#include "nic/device_control.h"
#include "support/fabric_lab.h"
#include "world/session.h"

namespace weft::lab {
namespace {

std::unique_ptr<Session> open_ended(const Lab& lab, bool clock_runs = false) {
  SessionOptions options;
  options.open_ended = true;
  options.clock_runs = clock_runs;
  auto session = Session::open(lab, options);
  EXPECT_TRUE(session.has_value());
  return std::move(*session);
}

// Index of the first link between two switches, and of one between a host and a switch.
std::size_t link_of(const Lab& lab, bool fabric) {
  for (std::size_t l = 0; l < lab.links.size(); ++l) {
    if ((lab.links[l].a.is_switch() && lab.links[l].b.is_switch()) == fabric) return l;
  }
  return lab.links.size();
}

TEST(ScheduledChanges, AreMadeInOrderOfTimeThenOfScheduling) {
  ScheduledChanges changes;
  std::string order;
  changes.at(us(2), [&](Time_ps) { order += "c"; });
  changes.at(us(1), [&](Time_ps now_ps) {
    order += "a";
    changes.at(now_ps, [&](Time_ps) { order += "b"; });
  });
  changes.at(us(2), [&](Time_ps) { order += "d"; });
  changes.at(us(3), [&](Time_ps) { order += "e"; });
  EXPECT_EQ(changes.next_ps(), us(1));
  changes.make_due(us(2));
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(changes.next_ps(), us(3));
}

TEST(LinkControl, RoutesMoveWhenSwitchesHaveNoticed) {
  support::FabricLab fabric = support::leaf_spine(2, 2, 2);
  const auto session = open_ended(fabric.lab);
  World& world = session->world();
  const std::size_t link = link_of(fabric.lab, true);
  const LinkConfig& config = fabric.lab.links[link];
  const PortRef leaf_end = fabric.lab.switches[config.a.host].tier == 0 ? config.a : config.b;
  // A host of the other leaf: what comes in at the leaf for it goes over one of two spines.
  std::uint32_t there = 0;
  std::uint32_t in = 0;
  for (const LinkConfig& each : fabric.lab.links) {
    for (auto [host, leaf] : {std::pair(each.a, each.b), std::pair(each.b, each.a)}) {
      if (host.is_switch() || !leaf.is_switch()) continue;
      (leaf.host == leaf_end.host ? in : there) = world.port_id(leaf.host == leaf_end.host ? leaf : host);
    }
  }
  ASSERT_EQ(world.first_route(in, there), world.port_id(leaf_end)) << "the first of two";
  session->links().set_link(link, false, 0);
  EXPECT_FALSE(world.is_link_up(link));
  EXPECT_EQ(world.first_route(in, there), world.port_id(leaf_end)) << "not noticed yet";
  session->advance_until(kSecond_ps);
  EXPECT_NE(world.first_route(in, there), world.port_id(leaf_end));
  const Time_ps noticed_ps = session->now_ps();
  EXPECT_EQ(noticed_ps, fabric.lab.switches[leaf_end.host].routing.convergence_ps);
  session->links().set_link(link, true, noticed_ps + us(1));
  session->advance_until(2 * kSecond_ps);
  EXPECT_EQ(world.first_route(in, there), world.port_id(leaf_end));
}

TEST(LinkControl, PortOfHostLosesSignalAndTellsProgram) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 2);
  const auto session = open_ended(fabric.lab);
  World& world = session->world();
  const std::size_t link = link_of(fabric.lab, false);
  const PortRef host = fabric.lab.links[link].a.is_switch() ? fabric.lab.links[link].b : fabric.lab.links[link].a;
  nic::Device& device = *world.device(world.port_id(host));
  static std::vector<nic::AsyncKind> events;
  events.clear();
  host::HostHooks hooks;
  hooks.on_async = [](void*, nic::Device&, nic::AsyncKind kind, std::uint32_t, Time_ps) { events.push_back(kind); };
  world.host(host.host).set_hooks(hooks);
  session->links().set_link(link, false, us(1));
  EXPECT_FALSE(nic::DeviceControl(device).is_up());
  session->links().set_link(link, false, us(2));
  session->links().set_link(link, true, us(3));
  EXPECT_TRUE(nic::DeviceControl(device).is_up());
  EXPECT_EQ(events, (std::vector{nic::AsyncKind::kPortError, nic::AsyncKind::kPortActive}));
}

TEST(LinkControl, LinkIsUpWhenNothingHoldsItDown) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 2);
  const auto session = open_ended(fabric.lab);
  World& world = session->world();
  const std::size_t link = link_of(fabric.lab, true);
  FaultConfig cut;
  cut.from = fabric.lab.links[link].a;
  cut.both_directions = true;
  cut.rule.name = "cut #1";
  cut.rule.action = fabric::FaultAction::kCut;
  const std::uint32_t number = session->links().add_fault(cut, us(1));
  session->links().set_link(link, false, us(2));
  session->links().set_link(link, true, us(3));
  EXPECT_FALSE(world.is_link_up(link)) << "the fault still cuts it";
  EXPECT_EQ(session->links().cuts_of(link), std::vector<std::string>{"cut #1"});
  EXPECT_TRUE(session->links().remove_fault(number, us(4)));
  EXPECT_TRUE(world.is_link_up(link));
  EXPECT_FALSE(session->links().remove_fault(number, us(5)));
  EXPECT_EQ(world.add_fault(cut, us(6)), number + 1) << "numbers are not used again";
}

TEST(LinkControl, FlapsWhileTimePassesAndNoLonger) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 2);
  const auto session = open_ended(fabric.lab, true);
  const std::size_t link = link_of(fabric.lab, false);
  session->links().flap(link, us(10), us(30), 0);
  std::string states;
  for (Time_ps now_ps = us(5); now_ps < us(100); now_ps += us(10)) {
    session->advance_until(now_ps);
    states += session->world().is_link_up(link) ? 'u' : 'd';
  }
  EXPECT_EQ(states, "duuuduuudu");
  session->links().set_link(link, true, us(100));
  session->advance_until(us(500));
  EXPECT_TRUE(session->world().is_link_up(link));
  EXPECT_EQ(session->changes().next_ps(), kNever_ps) << "nothing is left of the flap";
}

// A leap of the clock over any number of changes is made in parts, so that whoever drives the session can look up.
TEST(LinkControl, LeapOverManyChangesIsMadeInParts) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 2);
  const auto session = open_ended(fabric.lab, true);
  session->links().flap(link_of(fabric.lab, true), us(1), us(1), 0);
  int advances = 0;
  for (Time_ps reached_ps = 0; reached_ps < ms(5) - us(1); ++advances) {
    session->advance_until(ms(5));
    EXPECT_GT(session->changed_ps(), reached_ps);
    reached_ps = session->changed_ps();
  }
  EXPECT_EQ(advances, 5);
}

// The cuts of a lab file come at their times, and an idle world in virtual time does not run to them.
TEST(LinkControl, FollowsCutsOfLab) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 2);
  const std::size_t link = link_of(fabric.lab, false);
  FaultConfig cut;
  cut.from = fabric.lab.links[link].a;
  cut.both_directions = true;
  cut.rule.action = fabric::FaultAction::kCut;
  cut.rule.start_ps = us(20);
  cut.rule.end_ps = us(40);
  fabric.lab.faults.push_back(cut);
  const auto idle = open_ended(fabric.lab);
  idle->advance_until(kSecond_ps);
  EXPECT_TRUE(idle->world().is_link_up(link));
  EXPECT_EQ(idle->changes().next_ps(), us(20));
  const auto running = open_ended(fabric.lab, true);
  running->advance_until(us(30));
  EXPECT_FALSE(running->world().is_link_up(link));
  running->advance_until(us(50));
  EXPECT_TRUE(running->world().is_link_up(link));
}

}  // namespace
}  // namespace weft::lab
