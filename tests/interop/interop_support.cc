#include "interop/interop_support.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "model/metrics.h"
#include "support/bytes.h"

namespace weft::interop {

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "weft-interop-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
  EXPECT_FALSE(path_.empty()) << "no temporary directory";
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

CommandResult run_command(const std::string& command) {
  CommandResult result;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 1 << 16> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    result.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

bool has_program(const std::string& name) {
  return run_command("command -v " + name + " 2>/dev/null").status == 0;
}

std::vector<std::uint8_t> read_bytes(const std::string& path) {
  const std::string text = support::read_file(path);
  return {text.begin(), text.end()};
}

void write_bytes(const std::string& path, const void* bytes, std::size_t size_B) {
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size_B));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(separator, from)) != std::string::npos; from = at + 1) {
    parts.push_back(text.substr(from, at - from));
  }
  parts.push_back(text.substr(from));
  return parts;
}

std::unique_ptr<CaptureFile> open_capture(const std::string& path) {
  auto file = std::make_unique<CaptureFile>();
  file->bytes = read_bytes(path);
  auto capture = pcap::read_capture(file->bytes);
  if (!capture) {
    file->errors.push_back(path + ": " + capture.error().message);
    return file;
  }
  file->capture = *std::move(capture);
  std::size_t number = 0;
  for (const pcap::CapturedPacket& packet : file->capture.packets) {
    ++number;
    if (!wire::is_rocev2(packet.bytes)) continue;
    auto roce = wire::parse_roce_frame(packet.bytes);
    if (!roce) {
      file->errors.push_back("frame " + std::to_string(number) + " does not parse");
      continue;
    }
    file->frames.push_back({number, packet.time_ns, std::string(file->capture.interfaces[packet.interface].name),
                            packet.outbound.value_or(false), std::string(packet.comment), packet.bytes, *roce});
  }
  return file;
}

std::uint64_t LabRun::counter(const std::string& port, const std::string& name) const {
  const std::span<const std::string> names = lab::counted_counters();
  const bool known = std::find(names.begin(), names.end(), name) != names.end();
  for (const auto& each : results.at("ports")) {
    if (each.at("name") != port) continue;
    for (const char* group : {"hw_counters", "ethtool", "weft"}) {
      if (each.contains(group) && each.at(group).contains(name)) return each.at(group).at(name);
    }
    if (known) return 0;
  }
  ADD_FAILURE() << "no counter " << name << " at " << port;
  return 0;
}

int LabRun::meant_status() const {
  for (const auto& workload : results.at("workloads")) {
    if (!workload.contains("transfer") || !results.at("expect").empty()) continue;
    if (workload.at("transfer").at("failed") > 0 || workload.at("transfer").at("stalled")) return 1;
  }
  return 0;
}

std::unique_ptr<LabRun> run_lab_file(const std::string& lab, const std::vector<std::string>& sets) {
  auto run = std::make_unique<LabRun>();
  std::string command = shell_quoted(WEFT_BINARY) + " run " + shell_quoted(lab) + " --capture all --out " +
                        shell_quoted(run->dir.file("out"));
  for (const std::string& set : sets) command += " --set " + shell_quoted(set);
  const CommandResult result = run_command(command + " 2>&1");
  run->status = result.status;
  run->output = result.output;
  if (!std::filesystem::exists(run->capture_path())) {
    ADD_FAILURE() << command << " left no capture:\n" << result.output;
    run->capture = std::make_unique<CaptureFile>();
    return run;
  }
  run->capture = open_capture(run->capture_path());
  std::ifstream json(run->dir.file("out/results.json"));
  run->results = nlohmann::json::parse(json, nullptr, false);
  EXPECT_FALSE(run->results.is_discarded()) << "results.json is not JSON";
  return run;
}

std::unique_ptr<LabRun> run_lab_text(const std::string& text, const std::vector<std::string>& sets) {
  const TempDir dir;
  const std::string path = dir.file("lab.yaml");
  write_bytes(path, text.data(), text.size());
  return run_lab_file(path, sets);
}

std::string TwoHosts::text() const {
  std::string lab = "version: 1\nname: interop\nseed: 7\nnodes:\n";
  for (int i = 0; i < 2; ++i) {
    lab += "  h" + std::to_string(i) + ":\n    kind: host\n    nics:\n      - model: " + model +
           "\n        ports:\n          p0: {address: \"" + addresses[i] + "\", mtu: " + std::to_string(netdev_mtu_B) +
           " B" + port_extra + "}\n";
  }
  return lab + "links:\n  - endpoints: [\"h0:p0\", \"h1:p0\"]\n    cable: {kind: dac, length: 1 m}\n" + sections;
}

}  // namespace weft::interop
