// What a user tells a world that is up (docs/commands.md), read with the words, units and checks of the lab file that
// the world came from: a fault is one of `faults`, a setting is an override of the lab. An impairment has the words of
// tc-netem(8).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "model/lab.h"
#include "spec/impairment.h"
#include "text/units.h"

namespace weft::lab {

class LiveReader {
 public:
  LiveReader(std::string text, std::string file, std::vector<std::string> overrides, std::optional<std::uint64_t> seed)
      : text_(std::move(text)), file_(std::move(file)), overrides_(std::move(overrides)), seed_(seed) {}

  // "KEY=VALUE" each, or one map in YAML. `number` is for the name of one that has none.
  tl::expected<FaultConfig, TextError> fault(std::span<const std::string> words, std::uint32_t number) const;
  // The lab with these overrides behind its own.
  tl::expected<Lab, TextError> lab_with(std::span<const std::string> overrides) const;

 private:
  std::string text_, file_;
  std::vector<std::string> overrides_;
  std::optional<std::uint64_t> seed_;
};

// "delay 10us 2us distribution normal loss 1% rate 10gbit", in words.
tl::expected<fabric::Impairment, TextError> read_impairment(std::span<const std::string> words);
// The same words again.
std::string impairment_text(const fabric::Impairment& impairment);

}  // namespace weft::lab
