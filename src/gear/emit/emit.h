// Configuration of real gear from a checked lab: the files of one target for one node or for all that the target fits.
// A request of the lab that the target cannot express becomes a note: a comment in the output, a line on stderr.
// docs/gear.md has the targets with the guides that they follow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "model/lab.h"
#include "text/problem.h"

namespace weft::gear {

struct EmittedFile {
  std::string path;  // relative: "leaf0/config_db.json"
  std::string text;
  bool executable = false;
};

// Part of one node that the target cannot express.
struct EmitNote {
  std::string node;
  std::string message;
  friend bool operator==(const EmitNote&, const EmitNote&) = default;
};

struct Emission {
  std::vector<EmittedFile> files;
  std::vector<EmitNote> notes;
};

// Where the mistake is: a part of the lab, or what was asked for.
enum class LabPart : std::uint8_t { kModel, kQos, kAddresses, kNone };

struct EmitProblem {
  std::string node;  // empty: the lab
  LabPart part = LabPart::kModel;
  std::string message;
  std::string remedy;
};

enum class Network : std::uint8_t { kNetplan, kNmcli, kNetworkd, kIp };
enum class DriverStack : std::uint8_t { kAuto, kOfed, kInTree };

struct EmitOptions {
  std::string node;       // empty: every node that the target fits
  bool numbered = false;  // routing: a /31 on each link between switches
  bool sonic_vs = false;  // containerlab: SONiC-VS in place of FRR
  // Host options: what keeps addresses and MTUs (netplan), drivers (by what the host runs), the interface beside the
  // fabric (eno1). Given with a target that has no use for one: an error.
  std::optional<Network> network;
  std::optional<DriverStack> stack;
  std::optional<std::string> management;
};

enum class EmitOf : std::uint8_t { kSwitches, kHosts, kLab };

struct EmitTarget {
  std::string_view name;
  std::string_view what;
  EmitOf of = EmitOf::kSwitches;
};
std::span<const EmitTarget> emit_targets();

tl::expected<Emission, std::vector<EmitProblem>> emit(const lab::Lab& lab, std::string_view target,
                                                      const EmitOptions& options);

// A name that an interface of Linux may have, of characters that mean nothing to a shell.
bool is_interface_name(std::string_view name);

// Where the lab file says what a problem is about.
lab::Place place_of(std::string_view lab_text, const EmitProblem& problem);

}  // namespace weft::gear
