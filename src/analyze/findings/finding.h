// Results of the analysis: findings of named checks, each with evidence, a likely cause and a remedy. The checks are
// the 24 of docs/checks, and `contract` with a lab; a finding is one kind of a check ("pause.storm"). The table of
// kinds (finding_kinds.cc) is in order of suspicion: what explains others comes first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/frames/frame.h"
#include "base/plural.h"

namespace weft::analyze {

enum class Severity : std::uint8_t {
  kError,    // broken: data or time was lost, a rule of the standard is violated
  kWarning,  // works, but slower or at more risk than it should
  kNote,     // unusual and legal; never a finding for the exit status
};
const char* name(Severity severity);

struct FindingKind {
  std::string_view id;  // "pause.storm": the check, a dot, the kind
  Severity severity;
  std::string_view title;  // "pause storm": what a person reads first
};
// In order of suspicion.
std::span<const FindingKind> finding_kinds();
// The place in that table; an unknown id is a broken invariant.
std::size_t rank_of(std::string_view id);

struct CheckName {
  std::string_view name;   // "pause"
  std::string_view title;  // "PFC: pairing, refresh, share of time, storms, cycles"
};
std::span<const CheckName> check_names();  // in the order of docs/checks

struct Evidence {
  std::uint64_t frame = 0;  // number, from 1
  std::int64_t time_ns = 0;
  PointId point = 0;
  std::string text;  // what to see there; may be empty
};

struct Remedy {
  std::string where;    // "NIC", "switch", "host", "capture"
  std::string command;  // to type there, or what to do
};

struct Finding {
  std::string_view id;  // of finding_kinds()
  std::string where;    // the conversation, link or file, as the report names it
  std::string what;     // one sentence with figures
  std::string cause;    // likely cause
  std::uint64_t count = 0;
  std::vector<Evidence> evidence = {};  // few: the first ones and the worst one
  std::vector<Remedy> remedies = {};
};

// How a check ended for this capture.
enum class Verdict : std::uint8_t { kHealthy, kFound, kNotEnough };
struct CheckResult {
  std::string_view check;
  Verdict verdict = Verdict::kNotEnough;
  std::uint64_t looked_at = 0;  // frames, messages, ...: what `unit` says
  std::string_view unit;        // "frames", "NAKs"
  // kNotEnough: "no CE mark in this capture". A text that begins otherwise is there and cannot be judged.
  std::string_view missing;
};

// Filled by the sections when the capture has been read.
class Findings {
 public:
  void add(Finding finding);
  // A check looked at this many things: healthy unless it has findings. 0: not enough, because of `missing`.
  void judge(std::string_view check, std::uint64_t looked_at, std::string_view unit, std::string_view missing);

  // Order of suspicion, then count; notes at the end. Findings of one kind at one place at several capture points are
  // one.
  void sort();
  const std::vector<Finding>& all() const { return findings_; }
  template <typename Keep>
  void keep_if(Keep keep) {
    std::erase_if(findings_, [&keep](const Finding& finding) { return !keep(finding); });
  }
  std::vector<CheckResult> checks() const;  // one of each of check_names()
  bool healthy() const;                     // nothing but notes

 private:
  std::vector<Finding> findings_;
  std::vector<CheckResult> judged_;
};

}  // namespace weft::analyze
