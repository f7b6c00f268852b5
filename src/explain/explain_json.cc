#include "explain/explain.h"
#include "store/json_text.h"

namespace weft::explain {
namespace {

void add_strings(store::JsonText& json, std::string_view key, const std::vector<std::string>& list) {
  json.open(key, '[');
  for (const std::string& each : list) json.item(each);
  json.close(']');
}

void add_flow(store::JsonText& json, const lab::FlowAnswer& flow) {
  json.open_item('{');
  json.add("flow", flow.id);
  if (!flow.workload.empty()) json.add("workload", flow.workload);
  if (!flow.name.empty()) json.add("name", flow.name);
  json.add("from", flow.from);
  json.add("to", flow.to);
  if (!flow.state.empty()) json.add("state", flow.state);
  json.add("queue_pairs", flow.queue_pairs);
  json.add("first_ps", flow.first_ps);
  json.add("last_ps", flow.last_ps);
  if (flow.goodput_bps > 0) json.add("goodput_Gbps", flow.goodput_bps / 1e9);
  if (flow.fct_ps > 0) json.add("fct_ps", flow.fct_ps);
  if (flow.slowdown > 0) json.add("slowdown", flow.slowdown);
  json.add("packets", flow.packets);
  json.add("sent_again", flow.again);
  json.add("no_work", flow.no_work);
  json.add("wire", flow.wire);
  json.add("bottleneck", flow.bottleneck);
  json.add("share", flow.share);
  json.add("because", flow.because);
  if (!flow.root.empty()) json.add("root", flow.root);
  json.open("shares", '{');
  for (const lab::CauseShare& part : flow.shares) json.add(part.cause, part.share);
  json.close('}');
  add_strings(json, "path", flow.path);
  json.close('}');
}

void add_link(store::JsonText& json, const lab::LinkUse& link) {
  json.open_item('{');
  json.add("from", link.from);
  json.add("to", link.to);
  json.add("rate_bps", link.rate_bps);
  json.add("busy", link.busy);
  json.add("paused", link.paused);
  json.add("marked", link.marked);
  json.add("max_queue_B", link.max_queue_B);
  json.add("lost", link.lost);
  json.close('}');
}

void add_incident(store::JsonText& json, const lab::Incident& incident) {
  json.open_item('{');
  json.add("kind", incident.kind);
  json.add("root", incident.root);
  json.add("title", incident.title);
  json.add("first_ps", incident.first_ps);
  json.add("last_ps", incident.last_ps);
  json.open("steps", '[');
  for (const lab::ChainStep& step : incident.steps) {
    json.open_item('{');
    json.add("time_ps", step.time_ps);
    json.add("last_ps", step.last_ps);
    json.add("count", step.count);
    json.add("what", step.what);
    json.add("where", step.where);
    json.add("text", step.text);
    if (step.packet) json.add("packet", *step.packet);
    json.close('}');
  }
  json.close(']');
  add_strings(json, "flows", incident.flows);
  add_strings(json, "victims", incident.victims);
  json.close('}');
}

}  // namespace

std::string explanation_json(const lab::Explanation& explanation) {
  store::JsonText json;
  json.open('{');
  json.add("lab", explanation.lab);
  json.add("from_ps", explanation.from_ps);
  json.add("to_ps", explanation.to_ps);
  json.add("summary", lab::summary_text(explanation));
  json.open("flows", '[');
  for (const lab::FlowAnswer& flow : explanation.flows) add_flow(json, flow);
  json.close(']');
  json.open("links", '[');
  for (const lab::LinkUse& link : explanation.links) add_link(json, link);
  json.close(']');
  json.open("incidents", '[');
  for (const lab::Incident& incident : explanation.incidents) add_incident(json, incident);
  json.close(']');
  json.open("stragglers", '[');
  for (const lab::Straggler& late : explanation.stragglers) {
    json.open_item('{');
    json.add("workload", late.workload);
    json.add("who", late.who);
    json.add("reason", late.reason);
    json.add("lost_us", late.lost_us);
    json.add("time_ps", late.time_ps);
    if (!late.port.empty()) json.add("port", late.port);
    json.close('}');
  }
  json.close(']');
  json.open("settings", '[');
  for (const lab::SettingEvidence& each : explanation.settings) {
    json.open_item('{');
    add_strings(json, "nodes", each.nodes);
    json.add("key", each.key);
    json.add("value", each.value);
    json.add("usual", each.usual);
    json.add("reference", each.reference);
    json.add("effect", each.effect);
    json.close('}');
  }
  json.close(']');
  add_strings(json, "failures", explanation.failures);
  add_strings(json, "notes", explanation.notes);
  json.close('}');
  return std::string(json.text()) + "\n";
}

}  // namespace weft::explain
