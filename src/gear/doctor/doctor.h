// weft doctor: is this host, or this fabric, healthy? Bundles of hosts and switches are read together, so that what
// must be the same at both ends of a cable, or on all hosts, can be compared. What it looks for: finding.cc;
// what it says: docs/doctor.md.
#pragma once

#include <string>
#include <vector>

#include "gear/bundle/host.h"
#include "gear/bundle/switch.h"
#include "gear/doctor/finding.h"

namespace weft::gear {

struct Site {
  std::vector<HostState> hosts;
  std::vector<SwitchState> switches;
};

struct Diagnosis {
  std::vector<Finding> findings;  // in the order of suspicion
  std::vector<std::string> hosts, switches;
  std::vector<std::string> unchecked;  // "gpu01: PCIe links (lspci printed none; run weft inspect as root)"
};

Diagnosis diagnose(const Site& site);
std::string diagnosis_text(const Diagnosis& diagnosis);
std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace weft::gear
