// Mirror sessions of one switch: SPAN to a front port without a cable, ERSPAN to the lab's collector. The lab's
// sessions end in a capture, so it has no port for the copies of SPAN.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gear/emit/switch.h"

namespace weft::gear {

struct MirrorSession {
  std::uint32_t number = 1;  // of this switch, from 1
  ContractPort from;         // what passes it is copied
  ContractPort to;           // SPAN; its name and number alone
  lab::MirrorDirection direction = lab::MirrorDirection::kBoth;
  lab::MirrorKind kind = lab::MirrorKind::kSpan;
  std::uint16_t id = 1;           // of the lab
  std::string source, collector;  // ERSPAN: addresses of its outer header

  bool is_span() const { return kind == lab::MirrorKind::kSpan; }
};

// Those that can be configured; of the others there is a note.
std::vector<MirrorSession> mirror_sessions(const SwitchJob& job, SwitchOutput& out);
// For targets that have none: a note for each session.
void note_mirrors(const SwitchJob& job, SwitchOutput& out, std::string_view why);

}  // namespace weft::gear
