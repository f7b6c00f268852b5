// What a world writes to a reader who is slow.
#include "live/control/output_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs/control_protocol.h"

namespace weft {
namespace {

// The last message says what was lost: it must not be lost itself, when all that was written fills the socket.
TEST(OutputStream, LastMessageWaitsForRoom) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const int room_B = 4096;
  setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room_B, sizeof(room_B));
  live::OutputStream stream;
  stream.open(ends[0]);
  std::string written, read;
  do {
    const std::string unit(500, static_cast<char>('a' + written.size() / 500 % 26));
    ASSERT_TRUE(stream.write(unit));
    written += unit;
    stream.flush();
  } while (stream.is_empty());
  int last_error = 0;
  const auto take = [&] {
    char bytes[8192];
    const ssize_t got = recv(ends[1], bytes, sizeof(bytes), 0);
    if (got < static_cast<ssize_t>(sizeof(verbs::ReplyHead))) return false;
    verbs::ReplyHead head;
    std::memcpy(&head, bytes, sizeof(head));
    last_error = head.error;
    read.append(bytes + sizeof(head), static_cast<std::size_t>(got) - sizeof(head));
    return true;
  };
  // Room for what is left, and for no more.
  while (!stream.is_empty()) {
    ASSERT_TRUE(take());
    stream.flush();
  }
  while (stream.end("3 were lost") == false) ASSERT_TRUE(take());
  while (last_error != verbs::kStreamEnd) ASSERT_TRUE(take());
  EXPECT_EQ(read, written + "3 were lost");
  close(ends[1]);
}

}  // namespace
}  // namespace weft
