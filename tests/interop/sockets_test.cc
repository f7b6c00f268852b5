// Sockets between nodes, as ordinary programs use them: a program of ours that goes through what socket(7), tcp(7) and
// ip(7) say, and programs of Debian.
#include <gtest/gtest.h>

#include "interop/live_world.h"
#include "support/matching.h"

namespace weft::interop {
namespace {

class Sockets : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Clocks, Sockets, ::testing::Values("virtual", "wall"));

TEST_P(Sockets, BehaveAsOnLinux) {
  Live world("two-node-25g.yaml", std::string("--clock ") + GetParam());
  const Live::Said said = world.run_well("vm00", WEFT_SOCKET_PROBE " serve", "vm01", WEFT_SOCKET_PROBE " ask vm00");
  EXPECT_NE(said.client.find("many: ok"), said.client.npos) << said.client;
}

TEST_P(Sockets, NetcatCarriesBytes) {
  Live world("two-node-25g.yaml", std::string("--clock ") + GetParam());
  const Live::Said said =
      world.run_well("vm00", "nc -l 5001", "vm01", "sh -c 'seq 100000 | nc -N vm00 5001 && echo sent'");
  EXPECT_EQ(said.client, "sent\n");
  std::string wanted;
  for (int i = 1; i <= 100'000; ++i) wanted += std::to_string(i) + "\n";
  EXPECT_TRUE(said.server == wanted) << said.server.size() << " of " << wanted.size() << " bytes";
}

// 1448 of 1538 bytes on a line of 1 Gb/s.
TEST(SocketPrograms, Iperf3MeasuresManagementNetwork) {
  Live world("two-node-25g.yaml");
  const Live::Said said = world.run_well("vm00", "iperf3 -s -1", "vm01", "iperf3 -c vm00 -n 50M -f m");
  const std::vector<std::string> found = test::match(said.client, "sec +[0-9.]+ MBytes +([0-9.]+) Mbits/sec +receiver");
  ASSERT_EQ(found.size(), 2U) << said.client;
  EXPECT_NEAR(std::stod(found[1]), 1000 * 1448.0 / 1538, 5);
}

TEST_P(Sockets, DatagramsBehaveAsOnLinux) {
  Live world("two-node-25g.yaml", std::string("--clock ") + GetParam());
  const Live::Said said = world.run_well("vm00", WEFT_UDP_PROBE " serve", "vm01", WEFT_UDP_PROBE " ask vm00");
  EXPECT_NE(said.client.find("buffer: ok"), said.client.npos) << said.client;
}

// 1448 of 1514 bytes on a line of 1 Gb/s, none of them lost; ss of the receiver has the socket.
TEST(SocketPrograms, DatagramsOfDebianProgramsArrive) {
  Live world("two-node-25g.yaml");
  Live::Said said = world.run_well("vm00", "iperf3 -s -1", "vm01", "iperf3 -u -c vm00 -b 0 -n 5M -f m");
  const std::vector<std::string> found =
      test::match(said.client, "MBytes +([0-9.]+) Mbits/sec +[0-9.]+ ms +0/[0-9]+ .0%. +receiver");
  ASSERT_EQ(found.size(), 2U) << said.client;
  EXPECT_NEAR(std::stod(found[1]), 1000 * 1448.0 / 1514, 3);
  said = world.run_well("vm00", "sh -c 'nc -u -l 5001 -w 1 & sleep 0.1; ss -Huan; wait'", "vm01",
                        "sh -c 'seq 1000 | nc -u -w 1 vm00 5001'");
  EXPECT_NE(said.server.find(":5001"), said.server.npos) << said.server;
  EXPECT_NE(said.server.find("\n999\n1000\n"), said.server.npos) << said.server;
}

// Looks at its socket without waiting, all the time that a message of 64 KiB takes on a line of 1 Gb/s and 30 us.
TEST(SocketPrograms, FabricOverTcpMovesMessages) {
  Live world("two-node-25g.yaml");
  const Live::Said said =
      world.run_well("vm00", "fi_pingpong -p tcp -e msg -S 65536", "vm01", "fi_pingpong -p tcp -e msg -S 65536 vm00");
  const std::vector<std::string> found = test::match(said.client, "64k +10 +=10 +1.2m +[0-9.]+s +([0-9.]+) +([0-9.]+)");
  ASSERT_EQ(found.size(), 3U) << said.client;
  EXPECT_NEAR(std::stod(found[2]), 65'536 * 8e-3 * 1538 / 1448 + 30, 10);
}

constexpr const char* kAsyncio = R"(
import asyncio, sys
async def serve(reader, writer):
    n = 0
    while line := await reader.readline():
        n += 1
        writer.write(line.upper())
        await writer.drain()
        if n == 100: break
    writer.close()
    done.set()
async def main():
    global done
    done = asyncio.Event()
    if sys.argv[1] == 'serve':
        server = await asyncio.start_server(serve, '0.0.0.0', 7200)
        async with server: await done.wait()
        return
    reader, writer = await asyncio.open_connection('vm00', 7200)
    start = asyncio.get_running_loop().time()
    for i in range(100):
        writer.write(b'line %d\n' % i)
        line = await asyncio.wait_for(reader.readline(), 5)
        assert line == b'LINE %d\n' % i, line
    await asyncio.sleep(0.25)
    took = asyncio.get_running_loop().time() - start
    assert took >= 0.25 + 100 * 60e-6, took
    print('well')
asyncio.run(main())
)";

TEST_P(Sockets, PythonAsyncioRuns) {
  Live world("two-node-25g.yaml", std::string("--clock ") + GetParam());
  char path[] = "/tmp/weft-asyncio-XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, kAsyncio, strlen(kAsyncio)), static_cast<ssize_t>(strlen(kAsyncio)));
  close(file);
  const std::string program = std::string("python3 ") + path;
  const Live::Said said = world.run_well("vm00", program + " serve", "vm01", program + " ask");
  EXPECT_EQ(said.client, "well\n");
  unlink(path);
}

}  // namespace
}  // namespace weft::interop
