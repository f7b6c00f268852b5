// weft capture start PORTS --out FILE …|start PORTS --tap NAME|stop NUMBER|all|list
#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "base/nearest.h"
#include "live/control/command.h"
#include "live/control/tap_writer.h"
#include "store/json_text.h"
#include "text/problem.h"

namespace weft::live {

namespace {

constexpr std::size_t kMostCaptures = 64;
constexpr std::string_view kCaptureWords[] = {"start", "stop", "list"};

std::string names_of_ports(CommandContext& context, const std::vector<lab::PortRef>& ports) {
  std::string names;
  for (const lab::PortRef& port : ports) {
    if (!names.empty()) names += ',';
    names += lab::port_name(context.lab(), port);
  }
  return names;
}

void add_capture(CommandContext& context, const lab::Captures::Started& each, store::JsonText& json) {
  json.add("number", each.number);
  json.add("file", each.path);
  json.add("ports", names_of_ports(context, each.ports));
  json.add("frames", each.capture->frames());
  json.add("left_out", each.capture->left_out());
}

CommandText list_captures(CommandContext& context) {
  std::string text = fmt::format("{:>6}  {:>10}  {:<32} {}\n", "NUMBER", "FRAMES", "FILE", "PORTS");
  store::JsonText json;
  json.open('[');
  for (const lab::Captures::Started& each : context.session.captures().started()) {
    text += fmt::format("{:>6}  {:>10}  {:<32} {}\n", each.number, each.capture->frames(),
                        each.path.empty() ? "(live)" : each.path, names_of_ports(context, each.ports));
    json.open_item('{');
    add_capture(context, each, json);
    json.close('}');
  }
  json.close(']');
  return {text, std::string(json.text())};
}

CommandOutcome began(CommandContext& context, const lab::Captures::Started& capture, bool usual_limit) {
  store::JsonText json;
  json.open('{');
  add_capture(context, capture, json);
  json.close('}');
  const std::string limit = usual_limit ? fmt::format("; it ends at {}, --capture-size sets another limit",
                                                      message_size_text(observe::kUsualLimit_B))
                                        : "";
  return CommandText{fmt::format("capture {}: {} to {}{}\n", capture.number, names_of_ports(context, capture.ports),
                                 capture.path, limit),
                     std::string(json.text())};
}

// Null: there may be one more.
std::optional<CommandProblem> too_many(const lab::Captures& captures) {
  if (captures.started().size() < kMostCaptures) return std::nullopt;
  return CommandProblem{fmt::format("{} captures go on already", kMostCaptures), "stop one: weft capture list"};
}

// Frames come in by an interface of this machine.
CommandPlan plan_tap(CommandContext& context, const std::vector<lab::PortRef>& ports, const std::string& name,
                     bool more) {
  if (more) return problem("--tap takes whole frames, and no file", "leave the other options out");
  PlannedCommand plan;
  plan.act = [&context, ports, name](Time_ps) -> CommandOutcome {
    lab::Captures& captures = context.session.captures();
    if (auto wrong = too_many(captures)) return tl::unexpected(*wrong);
    auto tap = TapWriter::open(name);
    if (!tap) return tl::unexpected(tap.error());
    observe::CaptureOptions options;
    options.in_place = true;
    const std::uint32_t number = captures.start(ports, (*tap)->file(), options, "tap " + name);
    context.taps[number] = *tap;
    return began(context, captures.started().back(), false);
  };
  return plan;
}

CommandPlan plan_start(CommandContext& context, CommandWords words) {
  if (words.empty() || words.size() % 2 == 0)
    return problem("what is to be captured?", "write weft capture start PORT[,PORT] --out FILE");
  const auto ports = cabled_ports(context.lab(), words[0]);
  if (!ports) return tl::unexpected(ports.error());
  observe::CaptureOptions options;
  options.in_place = true;
  std::string path, tap;
  for (std::size_t i = 1; i < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    const bool plain = value.find_first_not_of("0123456789") == value.npos;
    const auto size = lab::parse_quantity(plain ? value + " B" : value, lab::Quantity::kSize);
    if (words[i] == "--out") {
      path = value;
    } else if (words[i] == "--tap") {
      tap = value;
    } else if (words[i] == "--snaplen" && size && *size >= 42) {
      options.snaplen_B = static_cast<std::uint32_t>(std::min<std::int64_t>(*size, UINT32_MAX));
    } else if (words[i] == "--capture-size" && size && *size >= 100'000) {
      options.file_B = static_cast<std::uint64_t>(*size);
    } else if (words[i] == "--capture-files" && plain && !value.empty() && value.size() < 6) {
      options.files = static_cast<std::uint32_t>(std::stoul(value));
    } else {
      return problem(fmt::format("{} {} cannot be used", words[i], value),
                     "weft capture start --help shows the options");
    }
  }
  if (!tap.empty()) return plan_tap(context, *ports, tap, words.size() > 3);
  if (!path.starts_with('/')) return problem("no file", "write --out FILE, or --tap NAME");
  const bool usual_limit = options.file_B == 0;
  if (usual_limit) options.file_B = observe::kUsualLimit_B;
  PlannedCommand plan;
  plan.act = [&context, ports = *ports, path, options, usual_limit](Time_ps) -> CommandOutcome {
    lab::Captures& captures = context.session.captures();
    if (auto wrong = too_many(captures)) return tl::unexpected(*wrong);
    for (const auto& other : captures.started()) {
      if (other.path == path)
        return problem(fmt::format("capture {} writes to {}", other.number, path), "choose another --out");
    }
    const auto number = captures.start(ports, path, options);
    if (!number) return problem(number.error(), "choose another --out");
    return began(context, captures.started().back(), usual_limit);
  };
  return plan;
}

CommandPlan plan_stop(CommandContext& context, CommandWords words) {
  if (words.size() > 1)
    return problem(fmt::format("{} is too much", words[1]), "write weft capture stop NUMBER or all");
  PlannedCommand plan;
  plan.act = [&context, which = words.empty() ? std::string("all") : words[0]](Time_ps) -> CommandOutcome {
    lab::Captures& captures = context.session.captures();
    std::vector<std::uint32_t> numbers;
    std::uint64_t frames = 0, lost = 0;
    for (const auto& each : captures.started()) {
      // A live capture is ended by its reader.
      if (each.path.empty() || (which != "all" && which != fmt::format("{}", each.number))) continue;
      numbers.push_back(each.number);
    }
    if (numbers.empty())
      return problem(
          which == "all" ? "no capture goes on" : fmt::format("there is no capture {}", lab::in_quotes(which)),
          "weft capture list shows them");
    std::string cut_short;
    // A capture is complete when all that it has seen is written.
    for (const std::uint32_t number : numbers) {
      std::string path;
      for (const auto& each : captures.started()) {
        if (each.number != number) continue;
        each.capture->flush(kNever_ps);
        frames += each.capture->frames();
        path = each.path;
      }
      const bool written = *captures.stop(number);
      if (const auto tap = context.taps.find(number); tap != context.taps.end()) {
        lost += tap->second->lost();
        context.taps.erase(tap);
      }
      if (!written) cut_short += (cut_short.empty() ? "" : ", ") + path;
    }
    if (!cut_short.empty())
      return problem(fmt::format("{}: not every byte could be written", cut_short),
                     "is the disk full? the frames before that are in the file");
    return CommandText{fmt::format("{} stopped, {} frames{}\n", numbers.size(), frames,
                                   lost == 0 ? "" : fmt::format("; {} were not taken by the interface", lost)),
                       fmt::format("{{\"stopped\":{},\"frames\":{},\"lost\":{}}}", numbers.size(), frames, lost)};
  };
  return plan;
}

}  // namespace

CommandPlan plan_capture(CommandContext& context, CommandWords words) {
  if (words.empty()) return problem("start, stop or list?", "write weft capture start, stop or list, or --live");
  if (words[0] == "start") return plan_start(context, words.subspan(1));
  if (words[0] == "stop") return plan_stop(context, words.subspan(1));
  if (words[0] != "list")
    return problem(fmt::format("no capture command {}", lab::in_quotes(words[0])),
                   did_you_mean(words[0], kCaptureWords, "ones"));
  return PlannedCommand{[&context](Time_ps) -> CommandOutcome { return list_captures(context); }, true};
}

}  // namespace weft::live
