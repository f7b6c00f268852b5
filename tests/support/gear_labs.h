// Labs of the tests of src/gear: read from text, and what their switches run with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gear/emit/contract.h"
#include "gear/emit/emit.h"
#include "labfile/reader.h"
#include "support/bytes.h"

namespace weft::support {

inline lab::Lab gear_lab(const std::string& text, const std::vector<std::string>& sets = {}) {
  auto lab = lab::read_lab(text, "lab.yaml", sets);
  if (!lab) {
    for (const lab::Problem& problem : lab.error()) ADD_FAILURE() << lab::format_problem("lab.yaml", problem);
    return {};
  }
  return *std::move(lab);
}
inline lab::Lab gear_lab_file(const std::string& path, const std::vector<std::string>& sets = {}) {
  return gear_lab(read_file(WEFT_SOURCE_DIR "/" + path), sets);
}

// Two leaves and a spine of one model, two hosts each.
inline lab::Lab small_clos(const std::string& model, const std::vector<std::string>& sets = {}) {
  return gear_lab(
      "version: 1\nname: small-clos\nfabric:\n  template: leaf-spine\n  hosts: 4\n  leaves: 2\n  spines: 1\n"
      "  switch: " +
          model +
          "\n  host: {nic: cx5-100g, mtu: 4200 B}\n"
          "  cable: {kind: dac, length: 2 m}\n  uplink_cable: {kind: fibre, length: 40 m}\n"
          "  rate: 100 Gbps\n"
          "qos:\n  profile: roce-lossless\n"
          "  pfc: {watchdog: {detection: 200 ms, restoration: 400 ms, poll: 100 ms}}\n",
      sets);
}

// Fails the test when it cannot be emitted.
inline gear::Emission emitted(const lab::Lab& lab, const std::string& target, gear::EmitOptions options = {}) {
  auto emission = gear::emit(lab, target, options);
  if (!emission) {
    for (const gear::EmitProblem& problem : emission.error()) ADD_FAILURE() << problem.message;
    return {};
  }
  return *std::move(emission);
}
inline std::string file_of(const gear::Emission& emission, const std::string& path) {
  const auto found = std::find_if(emission.files.begin(), emission.files.end(),
                                  [&](const gear::EmittedFile& file) { return file.path == path; });
  if (found != emission.files.end()) return found->text;
  ADD_FAILURE() << "no file " << path;
  return "";
}

}  // namespace weft::support
