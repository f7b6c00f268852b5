#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <array>

#include "live/view/netlink_message.h"

namespace weft::live {
namespace {

NetlinkBytes message(std::uint32_t length, std::uint16_t flags, std::size_t size_B) {
  NetlinkBytes bytes(size_B);
  nlmsghdr head{};
  head.nlmsg_len = length;
  head.nlmsg_type = RTM_GETLINK;
  head.nlmsg_flags = flags;
  head.nlmsg_seq = 7;
  std::memcpy(bytes.data(), &head, std::min(size_B, sizeof(head)));
  return bytes;
}

// Lengths that a program made up: nothing outside of what it sent is read.
TEST(Netlink, IgnoresMessagesThatDoNotFit) {
  EXPECT_TRUE(split_netlink(message(16, 0, 8)).empty());
  EXPECT_TRUE(split_netlink(message(0, 0, 16)).empty());
  EXPECT_TRUE(split_netlink(message(15, 0, 16)).empty());
  EXPECT_TRUE(split_netlink(message(17, 0, 16)).empty());
  EXPECT_TRUE(split_netlink(message(0xffffffff, 0, 32)).empty());
  EXPECT_EQ(split_netlink(message(16, 0, 16)).size(), 1u);
  NetlinkBytes two = message(17, 0, 20);
  const NetlinkBytes second = message(16, 0, 16);
  two.insert(two.end(), second.begin(), second.end());
  EXPECT_EQ(split_netlink(two).size(), 2u);
}

TEST(Netlink, IgnoresAttributesThatDoNotFit) {
  for (const std::uint16_t length : std::array<std::uint16_t, 4>{0, 3, 9, 0xffff}) {
    NetlinkBytes bytes = message(24, 0, 24);
    const nlattr attribute{length, 5};
    std::memcpy(bytes.data() + sizeof(nlmsghdr), &attribute, sizeof(attribute));
    EXPECT_TRUE(split_netlink(bytes)[0].attributes(0).empty()) << length;
    EXPECT_TRUE(split_netlink(bytes)[0].attributes(1000).empty()) << length;
  }
  NetlinkBytes bytes = message(24, 0, 24);
  const nlattr attribute{7, 5 | NLA_F_NESTED};
  std::memcpy(bytes.data() + sizeof(nlmsghdr), &attribute, sizeof(attribute));
  std::memcpy(bytes.data() + sizeof(nlmsghdr) + sizeof(attribute), "abc", 3);
  EXPECT_EQ(text_of(split_netlink(bytes)[0].attributes(0), 5), "abc");
  EXPECT_EQ(number_of(split_netlink(bytes)[0].attributes(0), 6), std::nullopt);
}

// A dump is datagrams of at most 4 KiB, whose messages end with NLMSG_DONE.
TEST(Netlink, SplitsDumpIntoDatagrams) {
  const NetlinkBytes asked = message(16, NLM_F_REQUEST | NLM_F_DUMP, 16);
  const NetlinkQuestion question = split_netlink(asked)[0];
  NetlinkReply reply(question, 42);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    reply.begin(RTM_NEWLINK);
    reply.fixed(ifinfomsg{});
    reply.begin_nest(1);
    reply.put_text(2, "name");
    reply.put(3, i);
    reply.end_nest();
  }
  reply.end_dump();
  NetlinkBytes out;
  reply.take(out);
  std::size_t messages = 0, datagrams = 0;
  bool done = false;
  for (std::size_t at = 0; at < out.size(); ++datagrams) {
    std::uint32_t size_B;
    std::memcpy(&size_B, out.data() + at, sizeof(size_B));
    ASSERT_LE(size_B, 4096u);
    ASSERT_LE(at + 4 + size_B, out.size());
    for (const NetlinkQuestion& each : split_netlink(std::span(out).subspan(at + 4, size_B))) {
      EXPECT_EQ(each.head.nlmsg_seq, 7u);
      EXPECT_EQ(each.head.nlmsg_pid, 42u);
      EXPECT_FALSE(done);
      done = each.head.nlmsg_type == NLMSG_DONE;
      messages += done ? 0 : 1;
    }
    at += 4 + (size_B + 3) / 4 * 4;
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(messages, 1000u);
  EXPECT_GT(datagrams, 5u);
}

}  // namespace
}  // namespace weft::live
