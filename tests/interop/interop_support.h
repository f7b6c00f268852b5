// What the interop tests share: running weft and other people's programs, and captures as lists of parsed frames.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pcap/pcap_reader.h"
#include "results/metrics.h"
#include "wire/roce_frame.h"

namespace weft::interop {

// A directory that goes away with the test.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-interop-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
    EXPECT_FALSE(path_.empty()) << "no temporary directory";
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

inline std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

struct CommandResult {
  int status = -1;
  std::string output;
};

inline CommandResult run_command(const std::string& command) {
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

inline bool has_program(const std::string& name) {
  return run_command("command -v " + name + " 2>/dev/null").status == 0;
}

inline std::vector<std::uint8_t> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, const void* bytes, std::size_t size_B) {
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size_B));
}

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(separator, from)) != std::string::npos; from = at + 1) {
    parts.push_back(text.substr(from, at - from));
  }
  parts.push_back(text.substr(from));
  return parts;
}

// One frame of a capture, parsed.
struct Frame {
  std::size_t number = 0;  // 1-based in its file, as Wireshark counts
  std::int64_t time_ns = 0;
  std::string interface;
  bool outbound = false;
  std::string comment;
  std::span<const std::uint8_t> bytes;
  wire::RoceFrame roce;

  const wire::RoceHeaders& headers() const { return roce.headers; }
  bool is(wire::Opcode opcode) const { return roce.headers.opcode == opcode; }
  bool says(std::string_view text) const { return comment.find(text) != std::string::npos; }
};

// A capture and the bytes that it points into.
struct CaptureFile {
  std::vector<std::uint8_t> bytes;
  pcap::CaptureFile capture;
  std::vector<Frame> frames;        // those that are RoCEv2
  std::vector<std::string> errors;  // frames to port 4791 that do not parse
};

inline std::unique_ptr<CaptureFile> open_capture(const std::string& path) {
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

struct LabRun {
  TempDir dir;
  int status = -1;
  std::string output;
  std::unique_ptr<CaptureFile> capture;
  nlohmann::json results;

  std::string capture_path() const { return dir.file("out/capture.pcapng"); }
  // One that is left out is zero.
  std::uint64_t counter(const std::string& port, const std::string& name) const {
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
  // 1 when a transfer of it fails and no expectation says how.
  int meant_status() const {
    for (const auto& workload : results.at("workloads")) {
      if (!workload.contains("transfer") || !results.at("expect").empty()) continue;
      if (workload.at("transfer").at("failed") > 0 || workload.at("transfer").at("stalled")) return 1;
    }
    return 0;
  }
  const nlohmann::json& transfer(std::size_t workload = 0) const {
    return results.at("workloads").at(workload).at("transfer");
  }
};

// weft run LAB --capture all, with every --set given.
inline std::unique_ptr<LabRun> run_lab_file(const std::string& lab, const std::vector<std::string>& sets = {}) {
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

inline std::unique_ptr<LabRun> run_lab_text(const std::string& text, const std::vector<std::string>& sets = {}) {
  const TempDir dir;
  const std::string path = dir.file("lab.yaml");
  write_bytes(path, text.data(), text.size());
  return run_lab_file(path, sets);
}

// Two hosts and one cable; the tests vary the rest.
struct TwoHosts {
  std::string model = "cx5-100g";
  std::string addresses[2] = {"10.0.0.1/24", "10.0.0.2/24"};
  int netdev_mtu_B = 4200;
  std::string port_extra;  // ", vlan: 42"
  std::string sections;    // qos, faults, workloads

  std::string text() const {
    std::string lab = "version: 1\nname: interop\nseed: 7\nnodes:\n";
    for (int i = 0; i < 2; ++i) {
      lab += "  h" + std::to_string(i) + ":\n    kind: host\n    nics:\n      - model: " + model +
             "\n        ports:\n          p0: {address: \"" + addresses[i] +
             "\", mtu: " + std::to_string(netdev_mtu_B) + " B" + port_extra + "}\n";
    }
    return lab + "links:\n  - endpoints: [\"h0:p0\", \"h1:p0\"]\n    cable: {kind: dac, length: 1 m}\n" + sections;
  }
};

}  // namespace weft::interop
