// The runs whose captures tshark reads: every lab of the repository, made short, and small labs that together show
// every operation, address family and answer.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "interop/interop_support.h"
#include "labfile/reader.h"
#include "wire/opcode.h"

namespace weft::interop {

struct TsharkCase {
  std::string name;
  std::string file;  // a lab file, or empty: `lab`
  TwoHosts lab;
  std::vector<std::string> sets;
  std::vector<wire::Opcode> shows;  // frames that must be there, so that no case tests nothing

  friend std::ostream& operator<<(std::ostream& out, const TsharkCase& c) { return out << c.name; }
};

// perftest with few iterations, few queue pairs and no -a, in place of iperf3 too, everything else as it is; what such
// a run cannot reach is not expected.
inline std::vector<std::string> shortened(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  std::vector<std::string> sets;
  const auto lab = lab::read_lab(text.str(), path);
  if (!lab) return sets;  // the run will say why
  for (const lab::WorkloadConfig& workload : lab->workloads) {
    if (const auto* programs = workload.as<workload::ProgramOptions>()) {
      std::string list;
      for (const workload::ProgramCommand& each : programs->programs) {
        std::string command = each.words[0] + (each.words[0].starts_with("ib_") ? " -n 5" : "");
        for (std::size_t i = 1; i < each.words.size(); ++i) command += " " + each.words[i];
        list += (list.empty() ? "{node: " : ", {node: ") + each.node + ", command: '" + command +
                "', start: " + std::to_string(each.start_ps / kNanosecond_ps) + " ns}";
      }
      sets.push_back("workloads[" + workload.name + "].program=[" + list + "]");
      continue;
    }
    // Segments of TCP are those of tcp_capture_test: here a RoCE workload takes their place.
    if (workload.as<workload::Iperf3Options>() != nullptr) {
      sets.push_back("workloads[" + workload.name + "]={name: " + workload.name +
                     ", perftest: write_lat, client: " + lab->hosts[workload.client.host].name +
                     ", server: " + lab->hosts[workload.server.host].name + ", args: -n 5}");
      continue;
    }
    const auto* perftest = workload.as<workload::PerftestOptions>();
    if (perftest == nullptr) continue;
    std::string args;
    for (const std::string& word : perftest->words) {
      if (word != "-a") args += word + " ";
    }
    sets.push_back("workloads[" + workload.name + "].args=\"" + args + (perftest->qps > 4 ? "-n 5 -q 4" : "-n 5") +
                   "\"");
  }
  sets.push_back("expect={}");
  return sets;
}

inline std::string case_name(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

inline std::vector<TsharkCase> lab_cases() {
  std::vector<TsharkCase> cases;
  for (const char* folder : {"/labs", "/labs/faults"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(WEFT_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const std::string path = entry.path().string();
      cases.push_back({case_name(entry.path().stem().string()), path, {}, shortened(path), {}});
    }
  }
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

// Every operation; sizes that need one packet and none, several packets, and 0 to 3 bytes of pad.
inline std::string every_operation() {
  std::string text = "workloads:\n";
  int n = 0;
  for (const char* op : {"write", "write-imm", "send", "send-imm", "send-inv", "read"}) {
    for (const char* size : {"0 B", "1 B", "4097 B", "8190 B", "12291 B"}) {
      text += "  - {name: w" + std::to_string(n++) + ", transfer: " + op + ", client: h0, server: h1, size: " + size +
              ", count: 3}\n";
    }
  }
  for (const char* op : {"fetch-add", "compare-swap"}) {
    text += "  - {name: w" + std::to_string(n++) + ", transfer: " + op + ", client: h1, server: h0, count: 3}\n";
  }
  for (const char* op : {"send", "send-imm"}) {
    text += "  - {name: w" + std::to_string(n++) + ", transfer: " + op +
            ", client: h0, server: h1, connection: UD, size: 1021 B, count: 3}\n";
  }
  return text;
}

inline std::vector<wire::Opcode> every_opcode() {
  using wire::Opcode;
  return {Opcode::kSendFirst,        Opcode::kSendMiddle,        Opcode::kSendLast,
          Opcode::kSendLastImm,      Opcode::kSendOnly,          Opcode::kSendOnlyImm,
          Opcode::kWriteFirst,       Opcode::kWriteMiddle,       Opcode::kWriteLast,
          Opcode::kWriteLastImm,     Opcode::kWriteOnly,         Opcode::kWriteOnlyImm,
          Opcode::kReadRequest,      Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle,
          Opcode::kReadResponseLast, Opcode::kReadResponseOnly,  Opcode::kAck,
          Opcode::kAtomicAck,        Opcode::kCompareSwap,       Opcode::kFetchAdd,
          Opcode::kSendLastInv,      Opcode::kSendOnlyInv,       Opcode::kUdSendOnly,
          Opcode::kUdSendOnlyImm};
}

inline std::vector<TsharkCase> own_cases() {
  using wire::Opcode;
  std::vector<TsharkCase> cases;
  TwoHosts v4;
  v4.sections = every_operation();
  cases.push_back({"every_operation_ipv4", "", v4, {}, every_opcode()});
  TwoHosts v6 = v4;
  v6.addresses[0] = "2001:db8::1/64";
  v6.addresses[1] = "2001:db8::2/64";
  cases.push_back({"every_operation_ipv6", "", v6, {}, every_opcode()});
  TwoHosts tagged = v4;
  tagged.port_extra = ", vlan: 42";
  tagged.sections += "qos: {dscp: 26, priority: 3, ecn: true}\n";
  cases.push_back({"every_operation_vlan", "", tagged, {}, every_opcode()});

  TwoHosts perftest;
  perftest.netdev_mtu_B = 1500;
  perftest.sections = "workloads:\n";
  int n = 0;
  for (const char* test : {"write_bw", "send_bw", "read_bw"}) {
    perftest.sections += "  - {name: p" + std::to_string(n++) + ", perftest: " + test +
                         ", client: h0, server: h1, args: \"-s 65536 -n 5 -b -q 2\"}\n";
  }
  for (const char* test : {"write_lat", "send_lat", "read_lat", "atomic_lat", "atomic_bw"}) {
    perftest.sections +=
        "  - {name: p" + std::to_string(n++) + ", perftest: " + test + ", client: h0, server: h1, args: \"-n 5\"}\n";
  }
  perftest.sections += "  - {name: ud, perftest: send_bw, client: h0, server: h1, args: \"-c UD -s 1000 -n 20\"}\n";
  perftest.sections += "  - {name: cas, perftest: atomic_bw, client: h0, server: h1, args: \"-A CMP_AND_SWAP -n 5\"}\n";
  cases.push_back({"perftest_every_verb",
                   "",
                   perftest,
                   {},
                   {Opcode::kWriteMiddle, Opcode::kSendMiddle, Opcode::kReadResponseMiddle, Opcode::kFetchAdd,
                    Opcode::kCompareSwap, Opcode::kAtomicAck, Opcode::kUdSendOnly}});

  // Everything that can go wrong on a cable, both ways, at once; and what a responder refuses.
  const std::string trouble =
      "qos: {dscp: 26, priority: 3, ecn: true}\n"
      "faults:\n"
      "  - {link: \"h0:p0\", both_directions: true, action: drop, probability: 1 %}\n"
      "  - {link: \"h0:p0\", both_directions: true, action: corrupt, probability: 1 %}\n"
      "  - {link: \"h0:p0\", both_directions: true, action: ce-mark, probability: 5 %}\n"
      "  - {link: \"h0:p0\", both_directions: true, action: duplicate, delay: 2 us, probability: 1 %}\n"
      "  - {link: \"h0:p0\", both_directions: true, action: delay, delay: 3 us, probability: 1 %}\n"
      "workloads:\n"
      "  - {name: w, transfer: write, client: h0, server: h1, size: 64 KiB, count: 20, timeout: 8}\n"
      "  - {name: s, transfer: send, client: h0, server: h1, size: 10000 B, count: 30, receive_delay: 20 us, timeout: "
      "8}\n"
      "  - {name: r, transfer: read, client: h0, server: h1, size: 50000 B, count: 20, timeout: 8}\n"
      "  - {name: a, transfer: fetch-add, client: h0, server: h1, count: 50, timeout: 8}\n"
      "  - {name: u, transfer: send, client: h0, server: h1, connection: UD, size: 100 B, count: 50}\n"
      "  - {name: rkey, transfer: read, client: h0, server: h1, size: 9000 B, misuse: wrong-rkey, timeout: 8}\n"
      "  - {name: access, transfer: write, client: h0, server: h1, misuse: no-remote-write, timeout: 8}\n"
      "  - {name: beyond, transfer: write, client: h0, server: h1, misuse: beyond-region, timeout: 8}\n"
      "  - {name: norecv, transfer: send, client: h0, server: h1, misuse: no-receive, rnr_retry: 1, timeout: 8}\n";
  TwoHosts broken;
  broken.sections = trouble;
  cases.push_back({"trouble_ipv4", "", broken, {}, {Opcode::kCnp, Opcode::kAck}});
  TwoHosts broken_v6 = v6;
  broken_v6.port_extra = ", vlan: 7";
  broken_v6.sections = trouble;
  cases.push_back({"trouble_ipv6_vlan", "", broken_v6, {}, {Opcode::kCnp, Opcode::kAck}});
  return cases;
}

}  // namespace weft::interop
