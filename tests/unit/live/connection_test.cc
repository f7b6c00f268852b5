#include "live/protocol/connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "live/os/shared_memory.h"

namespace weft::live {
namespace {

struct Wire {
  Wire() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    program = fds[0];
    world = std::make_unique<Connection>(fds[1]);
  }
  ~Wire() { close(program); }
  void say(const void* bytes, std::size_t size_B) const {
    EXPECT_EQ(::send(program, bytes, size_B, 0), static_cast<ssize_t>(size_B));
  }
  int program = -1;
  std::unique_ptr<Connection> world;
};

struct Message {
  verbs::RequestHead head;
  verbs::Handle body;
};
constexpr std::size_t kMessage_B = sizeof(verbs::RequestHead) + sizeof(verbs::Handle);  // without padding

TEST(Connection, SerialisesRequests) {
  Wire wire;
  Request request;
  EXPECT_EQ(wire.world->receive(request), Connection::Got::kNothing);
  Message message{{verbs::Op::kPoll, sizeof(verbs::Handle), 17}, {42}};
  wire.say(&message, kMessage_B);
  ASSERT_EQ(wire.world->receive(request), Connection::Got::kRequest);
  EXPECT_EQ(request.op, verbs::Op::kPoll);
  EXPECT_EQ(request.local_ps, 17);
  verbs::Handle handle{};
  ASSERT_TRUE(request.read(handle));
  EXPECT_EQ(handle.handle, 42U);
  verbs::RegMr larger;
  EXPECT_FALSE(request.read(larger)) << "a body of another size is not that struct";
}

TEST(Connection, ClosesOnInvalidMessage) {
  {
    Wire wire;
    Message lies{{verbs::Op::kPoll, 1000, 0}, {0}};
    wire.say(&lies, kMessage_B);
    Request request;
    EXPECT_EQ(wire.world->receive(request), Connection::Got::kEnd) << "says another size than it has";
  }
  {
    Wire wire;
    wire.say("short", 5);
    Request request;
    EXPECT_EQ(wire.world->receive(request), Connection::Got::kEnd);
  }
  {
    Wire wire;
    int room = 4 << 20;
    setsockopt(wire.program, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    std::vector<char> much(verbs::kMaxMessage_B + 4096);
    if (::send(wire.program, much.data(), much.size(), 0) == static_cast<ssize_t>(much.size())) {
      Request request;
      EXPECT_EQ(wire.world->receive(request), Connection::Got::kEnd) << "longer than a message may be";
    }
  }
}

TEST(Connection, DetectsProgramExit) {
  Wire wire;
  close(wire.program);
  wire.program = -1;
  Request request;
  EXPECT_EQ(wire.world->receive(request), Connection::Got::kEnd);
  EXPECT_FALSE(wire.world->send({}, 0));
}

TEST(Connection, PassesMemoryDescriptors) {
  Wire wire;
  SharedMemory memory = SharedMemory::make("test", 4096);
  ASSERT_NE(memory.data(), nullptr);
  memory.data()[7] = std::byte{99};
  Reply reply = Reply::of(verbs::Handle{5});
  reply.fds[0] = memory.fd();
  ASSERT_TRUE(wire.world->send(reply, 123));

  struct {
    verbs::ReplyHead head;
    verbs::Handle handle;
  } got{};
  iovec part{&got, sizeof(got)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ASSERT_EQ(recvmsg(wire.program, &message, 0), static_cast<ssize_t>(sizeof(verbs::ReplyHead) + sizeof(verbs::Handle)));
  EXPECT_EQ(got.head.now_ps, 123);
  EXPECT_EQ(got.handle.handle, 5U);
  ASSERT_NE(CMSG_FIRSTHDR(&message), nullptr);
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
  char byte = 0;
  EXPECT_EQ(pread(fd, &byte, 1, 7), 1);
  EXPECT_EQ(byte, 99);
  EXPECT_NE(ftruncate(fd, 0), 0) << "a program must not take memory away from under the world";
  close(fd);
}

}  // namespace
}  // namespace weft::live
