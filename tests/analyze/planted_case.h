// The matrix of planted faults: captures with one known fault each, and healthy ones. A row says which lab makes the
// capture, which ports are captured, what is changed in it afterwards, and what the analyzer has to answer. The table
// of docs/analyze.md is made from these rows.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "analyze/frame_editor.h"

namespace weft::planted {

using Edit = void (*)(EditableCapture&);
using FileEdit = void (*)(std::vector<std::uint8_t>&);

struct PlantedCase {
  std::string name;   // a test's name: letters and digits
  std::string fault;  // what is planted, for the table
  std::string lab;    // text of a lab; a path when it ends in .yaml; empty: the edit makes all of the capture
  std::string ports;  // captured ones, as weft run --capture takes them
  Edit edit = nullptr;
  std::string first;                    // CHECK.KIND that has to come first; empty: a healthy capture, no finding
  std::vector<std::string> found{};     // findings and notes that have to be there, too; of a healthy capture notes
  std::vector<std::string> also{};      // findings that follow from the fault and may be there
  std::vector<std::string> sets{};      // --set of weft run
  std::string options{};                // of weft analyze; $OUT is the run's directory, $LAB the lab file
  std::string run_options{};            // of weft run
  std::string file = "capture.pcapng";  // of the run's directory
  FileEdit edit_file = nullptr;         // changes the bytes of the file that was written
  bool as_pcap = false;                 // as a mirror port is captured: no names, speeds and directions
  std::string counters{};               // written to $OUT/counters.txt
  // What the first finding says, or must not say, in its text, likely cause and remedies.
  std::vector<std::string> says{}, says_not{};

  friend std::ostream& operator<<(std::ostream& out, const PlantedCase& each) { return out << each.name; }
};

// Rows by what is planted, in the order of the table.
std::vector<PlantedCase> integrity_faults();
std::vector<PlantedCase> loss_faults();
std::vector<PlantedCase> answer_faults();
std::vector<PlantedCase> transport_faults();  // all of the above
std::vector<PlantedCase> notification_faults();
std::vector<PlantedCase> pause_faults();
std::vector<PlantedCase> congestion_faults();  // both
std::vector<PlantedCase> other_faults();       // migreq, connection-setup, capture, contract
std::vector<PlantedCase> uet_faults();
// Where the same finding has several causes: the place decides what is said.
std::vector<PlantedCase> place_faults();
void healthy_uet(EditableCapture& capture);
// REQ, REP and RTU before the first connection of the capture.
void add_healthy_handshake(EditableCapture& capture);
std::vector<PlantedCase> healthy_captures();

std::vector<PlantedCase> all_planted_faults();

// Two hosts with a cable between them, node00 and node01.
struct PairLab {
  std::string model = "cx5-100g";
  std::string server_model{};       // as `model` when empty
  std::string set{}, server_set{};  // of the NICs: "nak_reaction: 1 ms"; server_set as `set` when empty
  int mtu_B = 4200;
  std::string address = "10.0.0.1/24", server_address = "10.0.0.2/24";
  std::string port_extra{};  // ", vlan: 42"
  std::string qos = "dscp: 26, priority: 3, ecn: true";
  std::string client_qos{}, server_qos{};  // of one host
};
std::string pair_lab(const std::string& sections, const PairLab& pair = {});
// Requests of the first queue pair of node00 that are lost once.
std::string lose_packets(const std::vector<int>& psns);
// One workload without faults: "write, size: 64 KiB, count: 10".
std::string transfer(const std::string& what);
// h0 … on leaf0, one subnet.
std::string switch_lab(int hosts, const std::string& sections, const std::string& nic = "cx5-100g");

}  // namespace weft::planted
