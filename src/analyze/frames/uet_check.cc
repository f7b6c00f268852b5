#include "analyze/frames/uet_check.h"

#include <fmt/format.h>

#include "analyze/frames/decode.h"

namespace weft::analyze {
namespace {

// Serial number arithmetic over 32 bits.
bool is_behind(std::uint32_t psn, std::uint32_t highest) {
  return static_cast<std::int32_t>(psn - highest) <= 0;
}

template <std::size_t kWords>
std::uint64_t& word_of(std::array<std::uint64_t, kWords>& bits, std::uint32_t psn) {
  return bits[psn / 64 % kWords];
}

}  // namespace

void UetCheck::note(Kind kind, const Frame& frame, std::string text) {
  Seen& seen = seen_[kind];
  ++seen.count;
  if (seen.first.size() < 5) seen.first.push_back({frame.number, frame.time_ns, frame.point, std::move(text)});
}

UetCheck::Context* UetCheck::context_of(const Frame& frame, AddressId requester, std::uint16_t id, bool make) {
  const std::uint64_t key = (std::uint64_t{frame.point} << 16 | id) * 0x9e3779b97f4a7c15ULL ^ requester;
  const auto found = contexts_.find(key);
  if (found != contexts_.end()) return &found->second;
  if (!make || contexts_.size() == kMostContexts) return nullptr;
  Context& context = contexts_[key];
  context.src = frame.src;
  context.dst = frame.dst;
  context.id = id;
  return &context;
}

void UetCheck::see(const Frame& frame) {
  ++frames_;
  const auto pds = wire::parse_pds(frame.payload);
  if (!pds) return;
  if (frame.is_trimmed) {
    note(kTrim, frame, fmt::format("PSN {}", pds->psn));
    if (Context* context = context_of(frame, frame.src, pds->source_id, false); context != nullptr)
      word_of(context->trimmed, pds->psn) |= std::uint64_t{1} << pds->psn % 64;
    return;  // its data did not arrive
  } else if (!frame.cut) {
    ++crc_checked_;
    if (!uet_crc_fits(frame)) {
      note(kCrc, frame, fmt::format("PSN {}", pds->psn));
      return;
    }
  }
  if (pds->type == wire::PdsType::kTss) ++encrypted_;
  if (pds->is_request()) see_request(frame, *pds);
  if (pds->is_ack()) see_ack(frame, *pds);
  if (pds->is_nack()) see_nack(frame, *pds);
}

void UetCheck::see_request(const Frame& frame, const wire::Pds& pds) {
  ++requests_;
  Context* context = context_of(frame, frame.src, pds.source_id, true);
  if (context == nullptr) return;
  const std::uint64_t bit = std::uint64_t{1} << pds.psn % 64;
  if (context->frames++ == 0) {
    context->first = context->highest = pds.psn;
    word_of(context->sent, pds.psn) = bit;
    return;
  }
  if (!is_behind(pds.psn, context->highest)) {
    // Forget what lies a window behind; a leap forgets all.
    const std::uint32_t step = pds.psn - context->highest;
    for (std::uint32_t i = 1; i <= step && i <= kWindow; ++i) {
      const std::uint32_t psn = context->highest + i;
      word_of(context->sent, psn) &= ~(std::uint64_t{1} << psn % 64);
      word_of(context->asked_again, psn) &= ~(std::uint64_t{1} << psn % 64);
      word_of(context->trimmed, psn) &= ~(std::uint64_t{1} << psn % 64);
    }
    context->highest = pds.psn;
    word_of(context->sent, pds.psn) |= bit;
    return;
  }
  if (context->highest - pds.psn >= kWindow) return;
  const bool again = (word_of(context->sent, pds.psn) & bit) != 0;
  word_of(context->sent, pds.psn) |= bit;
  std::uint64_t& asked = word_of(context->asked_again, pds.psn);
  if (!again) {
    // Out of order: several paths are how UET works. Or lost before this point, and retransmitted.
    if (pds.retransmitted && (asked & bit) == 0 && is_behind(context->first, pds.psn))
      note(kTimeout, frame, fmt::format("PSN {} retransmitted, and no NACK or SACK asked for it", pds.psn));
  } else if (!pds.retransmitted) {
    note(kDuplicate, frame, fmt::format("PSN {} again, without the RETX flag", pds.psn));
  } else if ((asked & bit) == 0) {
    note(kTimeout, frame, fmt::format("PSN {} again, and no NACK or SACK asked for it", pds.psn));
  }
  asked &= ~bit;
}

void UetCheck::see_ack(const Frame& frame, const wire::Pds& pds) {
  Context* context = context_of(frame, frame.dst, pds.destination_id, false);
  if (context == nullptr) return;
  if (!is_behind(pds.psn, context->highest)) {
    note(kSack, frame,
         fmt::format("it acknowledges PSN {}, {} is the highest that was sent", pds.psn, context->highest));
    return;
  }
  if (!pds.sack_psn) return;
  std::uint32_t last = 0;
  for (std::uint32_t bit = 0; bit < 64; ++bit)
    if ((pds.sack_bitmap >> bit & 1) != 0) last = bit + 1;
  if (last == 0) return;
  if (!is_behind(*pds.sack_psn + last - 1, context->highest)) {
    note(kSack, frame,
         fmt::format("its bitmap has PSN {}, {} is the highest that was sent", *pds.sack_psn + last - 1,
                     context->highest));
    return;
  }
  // Zeros below the last one: missing, and to be retransmitted.
  for (std::uint32_t bit = 0; bit + 1 < last; ++bit) {
    const std::uint32_t psn = *pds.sack_psn + bit;
    if ((pds.sack_bitmap >> bit & 1) == 0 && context->highest - psn < kWindow)
      word_of(context->asked_again, psn) |= std::uint64_t{1} << psn % 64;
  }
}

void UetCheck::see_nack(const Frame& frame, const wire::Pds& pds) {
  Context* context = context_of(frame, frame.dst, pds.destination_id, false);
  if (context == nullptr || !is_behind(pds.psn, context->highest) || context->highest - pds.psn >= kWindow) return;
  const std::uint64_t bit = std::uint64_t{1} << pds.psn % 64;
  word_of(context->asked_again, pds.psn) |= bit;
  const auto code = static_cast<wire::UetNack>(pds.nack_code);
  const bool is_trim = code == wire::UetNack::kTrimmed || code == wire::UetNack::kTrimmedLastHop;
  if (is_trim && (word_of(context->trimmed, pds.psn) & bit) == 0)
    note(kTrim, frame, fmt::format("NACK of PSN {}: it came without its end", pds.psn));
}

void UetCheck::finish(const Addresses&, Findings& findings) const {
  struct Text {
    std::string_view id, one, several, cause, where, remedy;
  };
  static constexpr std::array<Text, kKinds> kUetTexts = {{
      {"uet.crc", "packet has a CRC that does not fit its bytes", "packets have a CRC that does not fit their bytes",
       "bytes changed between the NICs", "switch",
       "look for CRC and FEC errors on the way: show interfaces counters errors"},
      {"uet.sack", "ACK acknowledges what was not sent", "ACKs acknowledge what was not sent",
       "a defect of the receiver, or requests missing in the capture", "NIC", "update the firmware of the receiver"},
      {"uet.trim", "packet was trimmed by a switch", "packets were trimmed by a switch", "a queue on the way was full",
       "switch",
       "show interfaces counters trim; show queue counters --trim: at which port; fewer senders, or a lower NSCC "
       "target "
       "delay"},
      {"uet.timeout", "packet was retransmitted though no NACK or SACK asked for it",
       "packets were retransmitted though no NACK or SACK asked for them",
       "the answers were lost, or the retransmission timeout is too short", "NIC",
       "raise the retransmission timeout of the PDC; look for drops of the control class"},
      {"uet.duplicate", "packet came twice without the RETX flag", "packets came twice without the RETX flag",
       "a path that duplicates frames, or a mirror that copies both directions", "switch",
       "look for loops; mirror one direction"},
  }};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const Seen& seen = seen_[kind];
    if (seen.count == 0) continue;
    const Text& text = kUetTexts[kind];
    findings.add({text.id,
                  "UET",
                  fmt::format("{} {}", seen.count, seen.count == 1 ? text.one : text.several),
                  std::string(text.cause),
                  seen.count,
                  seen.first,
                  {{std::string(text.where), std::string(text.remedy)}}});
  }
  if (frames_ > 0)
    findings.add({"uet.seen",
                  "UET",
                  fmt::format("{} packets, {} requests of {} contexts, {} encrypted", frames_, requests_,
                              contexts_.size(), encrypted_),
                  "",
                  frames_,
                  {},
                  {}});
  findings.judge("uet", frames_, "packets", "no packet to UDP port 4793");
}

}  // namespace weft::analyze
