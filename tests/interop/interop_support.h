// What the interop tests share: running weft and third-party programs, and captures as lists of parsed frames.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pcap/pcap_reader.h"
#include "wire/roce_frame.h"

namespace weft::interop {

// A directory that goes away with the test.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

std::string shell_quoted(std::string_view text);

struct CommandResult {
  int status = -1;
  std::string output;
};

CommandResult run_command(const std::string& command);

bool has_program(const std::string& name);

std::vector<std::uint8_t> read_bytes(const std::string& path);

void write_bytes(const std::string& path, const void* bytes, std::size_t size_B);

std::vector<std::string> split(const std::string& text, char separator);

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

std::unique_ptr<CaptureFile> open_capture(const std::string& path);

struct LabRun {
  TempDir dir;
  int status = -1;
  std::string output;
  std::unique_ptr<CaptureFile> capture;
  nlohmann::json results;

  std::string capture_path() const { return dir.file("out/capture.pcapng"); }
  // One that is left out is zero.
  std::uint64_t counter(const std::string& port, const std::string& name) const;
  // 1 when a transfer of it fails and no expectation says how.
  int meant_status() const;
  const nlohmann::json& transfer(std::size_t workload = 0) const {
    return results.at("workloads").at(workload).at("transfer");
  }
};

// weft run LAB --capture all, with every --set given.
std::unique_ptr<LabRun> run_lab_file(const std::string& lab, const std::vector<std::string>& sets = {});

std::unique_ptr<LabRun> run_lab_text(const std::string& text, const std::vector<std::string>& sets = {});

// Two hosts and one cable; the tests vary the rest.
struct TwoHosts {
  std::string model = "cx5-100g";
  std::string addresses[2] = {"10.0.0.1/24", "10.0.0.2/24"};
  int netdev_mtu_B = 4200;
  std::string port_extra;  // ", vlan: 42"
  std::string sections;    // qos, faults, workloads

  std::string text() const;
};

}  // namespace weft::interop
