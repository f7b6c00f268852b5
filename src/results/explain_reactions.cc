// Steps that incidents have in common: what receivers and senders did about it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/figures.h"
#include "base/plural.h"
#include "results/explain_parts.h"

namespace weft::lab {

// CNPs of the receivers and what their senders did.
void add_reactions(const ExplainContext& context, const std::vector<const FlowAnswer*>& flows, Time_ps since_ps,
                   const std::string& root, Incident& out) {
  const std::uint64_t left_out = context.evidence.left_out;
  ChainStep cnp, cut;
  cnp.what = "cnp";
  cut.what = "rate_cut";
  cnp.count = cut.count = 0;
  cnp.time_ps = cut.time_ps = kNever_ps;
  std::int64_t lowest_bps = 0, before_bps = 0;
  std::map<std::pair<std::string, std::string>, std::vector<const FlowAnswer*>> pairs;
  const auto is_there = [&](const FlowAnswer& flow, Time_ps at_ps) {
    return root.empty() || passes_at(flow, root, at_ps);
  };
  for (const FlowAnswer* flow : flows) {
    pairs[{flow->to, flow->from}].push_back(flow);
    for (const EventEvidence* event : events_of(context, *flow)) {
      if (event->kind != "rate_cut" || event->first_ps < since_ps || !is_there(*flow, event->first_ps)) continue;
      cut.count += event->count;
      cut.last_ps = std::max(cut.last_ps, event->last_ps);
      lowest_bps = lowest_bps == 0 ? event->to_bps : std::min(lowest_bps, event->to_bps);
      if (event->first_ps >= cut.time_ps) continue;
      cut.time_ps = event->first_ps;
      cut.where = event->port;
      before_bps = event->before_bps;
    }
  }
  for (const EventEvidence& event : context.evidence.events) {
    if (event.kind != "cnp" || event.first_ps < since_ps) continue;
    const auto pair = pairs.find({event.port, event.peer});
    if (pair == pairs.end() || std::none_of(pair->second.begin(), pair->second.end(),
                                            [&](const FlowAnswer* flow) { return is_there(*flow, event.first_ps); }))
      continue;
    cnp.count += event.count;
    cnp.last_ps = std::max(cnp.last_ps, event.last_ps);
    if (event.first_ps >= cnp.time_ps) continue;
    cnp.time_ps = event.first_ps;
    cnp.where = cnp.port = event.port;
    cnp.text = fmt::format("{} sends a CNP to {}", event.port, event.peer);
  }
  if (cnp.count > 0) {
    if (cnp.count > 1) cnp.text += fmt::format(", the first of {}{} to its senders", at_least(left_out), cnp.count);
    out.steps.push_back(cnp);
  }
  if (cut.count > 0) {
    cut.text = fmt::format("{} cuts its rate from {}; {}{} in all, the lowest {}", cut.where, rate_text(before_bps),
                           at_least(left_out), counted(cut.count, "cut"), rate_text(lowest_bps));
    out.steps.push_back(cut);
  }
}

void add_recoveries(const ExplainContext& context, const std::vector<const FlowAnswer*>& flows, Time_ps since_ps,
                    Incident& out) {
  for (const char* kind : {"nak", "timeout", "rnr"}) {
    ChainStep step;
    step.what = "recovery";
    step.count = 0;
    step.time_ps = kNever_ps;
    for (const FlowAnswer* flow : flows) {
      for (const EventEvidence* event : events_of(context, *flow)) {
        if (event->kind != kind || event->first_ps < since_ps) continue;
        step.count += event->count;
        step.last_ps = std::max(step.last_ps, event->last_ps);
        if (event->first_ps >= step.time_ps) continue;
        step.time_ps = event->first_ps;
        step.where = step.port = event->port;
        step.psn = event->psn;
      }
    }
    if (step.count == 0) continue;
    const char* words = *kind == 'n'   ? "gets a NAK"
                        : *kind == 't' ? "gets no ACK in time (timeout)"
                                       : "gets an RNR NAK";
    step.text = fmt::format("{} {} and sends again from PSN {}; {}{} in all", step.where, words, step.psn,
                            at_least(context.evidence.left_out), step.count);
    out.steps.push_back(std::move(step));
  }
}

void order_steps(Incident& out) {
  std::stable_sort(out.steps.begin(), out.steps.end(),
                   [](const ChainStep& a, const ChainStep& b) { return a.time_ps < b.time_ps; });
  if (out.steps.empty()) return;
  out.first_ps = out.steps.front().time_ps;
  for (const ChainStep& step : out.steps) out.last_ps = std::max({out.last_ps, step.last_ps, step.time_ps});
}

}  // namespace weft::lab
