#include "interop/tshark_fields.h"

#include <cstdlib>
#include <utility>

namespace weft::interop {
namespace {

constexpr char kAggregator = '\x1f';

// The message is the user's and here mostly random: left on, tshark's guesses at it (SMC, NFS, iSER, an Ethernet
// frame...) would be tested, not the frame. Nothing of the RoCE headers depends on them.
constexpr const char* kPayloadGuesses[] = {
    "smcr_infiniband", "smb_direct_infiniband", "rpcrdma_infiniband", "nvme_rdma",      "lnet_ib",
    "iser_infiniband", "eth_over_ib",           "mellanox_eoib",      "sdp_infiniband", "fc_infiniband"};

}  // namespace

std::vector<Dissection> dissect(const std::string& path, std::span<const char* const> fields) {
  // A home that is empty: plugins that the user has installed are not tested here.
  std::string command = "HOME=/nonexistent tshark -n -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -r " +
                        shell_quoted(path) + " -T fields -E separator=/t -E quote=n -E occurrence=a -E aggregator=" +
                        shell_quoted(std::string(1, kAggregator));
  for (const char* guess : kPayloadGuesses) command += std::string(" --disable-heuristic ") + guess;
  for (const char* field : fields) command += std::string(" -e ") + field;
  const CommandResult result = run_command(command + " 2>/dev/null");
  EXPECT_EQ(result.status, 0) << command;
  std::vector<Dissection> frames;
  for (const std::string& line : split(result.output, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() != fields.size()) {
      ADD_FAILURE() << "tshark printed " << columns.size() << " columns: " << line;
      continue;
    }
    Dissection frame;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].empty()) frame[fields[i]] = split(columns[i], kAggregator);
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::uint64_t number(const std::string& text) {
  if (text == "True" || text == "False") return text == "True";
  return std::strtoull(text.c_str(), nullptr, 0);
}

std::uint64_t hex(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 16);
}

}  // namespace weft::interop
