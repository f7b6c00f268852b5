// weft analyze: what happened in a capture, and what to change.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "analyze/analyzer.h"
#include "analyze/frames/open_captures.h"
#include "analyze/show/diff.h"
#include "analyze/show/packet_tree.h"
#include "base/figures.h"
#include "cli/common.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "gear/wire_contract.h"
#include "text/units.h"

namespace weft::cli {
namespace {

struct AnalyzeArguments {
  std::vector<std::string> files;
  std::vector<std::string> counters;
  std::string diff;
  std::string lab;
  std::vector<std::string> set;
  bool no_icrc = false;
  std::string since, until;
  std::size_t most_streams = analyze::Streams::kMostStreams;
  bool json = false;
  std::string table;
  std::string flow;
  std::uint64_t frame = 0;
};

// Nothing where it was not given; false where it is wrong, which has been said.
bool read_time(const char* option, const std::string& text, std::optional<std::int64_t>& time_ns) {
  if (text.empty()) return true;
  const auto time_ps = lab::parse_quantity(text, lab::Quantity::kTime);
  if (!time_ps) {
    wrong_input(fmt::format("{} {}: {}", option, text, time_ps.error().message), time_ps.error().remedy);
    return false;
  }
  time_ns = *time_ps / 1000;
  return true;
}

// The ports that --counters could have meant.
std::string addresses_text(const analyze::Analysis& analysis) {
  constexpr std::size_t kMostNamed = 8;
  std::set<std::string> all;
  for (const analyze::Conversation& each : analysis.conversations) all.insert({each.a, each.b});
  if (all.empty()) return "the capture has no RoCE conversation";
  std::string text = "addresses in the capture:";
  std::size_t named = 0;
  for (const std::string& address : all) {
    if (named++ == kMostNamed) return text + fmt::format(" and {} more", all.size() - kMostNamed);
    text += (named == 1 ? " " : ", ") + address;
  }
  return text;
}

// On a terminal, how much has been read; nothing elsewhere.
std::function<void(std::uint64_t, std::uint64_t)> reading_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  using Clock = std::chrono::steady_clock;
  return [start = Clock::now(), next = Clock::now() + std::chrono::seconds(1)](std::uint64_t read_B,
                                                                               std::uint64_t all_B) mutable {
    const auto now = Clock::now();
    if (now < next) return;
    next = now + std::chrono::milliseconds(200);
    const std::string took = time_text(1e12 * std::chrono::duration<double>(now - start).count());
    show_progress_text(all_B == 0 ? fmt::format("{} read in {}", size_text(read_B), took)
                                  : fmt::format("{} of {} read in {} ({})", size_text(read_B), size_text(all_B), took,
                                                share_text(static_cast<double>(read_B) / static_cast<double>(all_B))));
  };
}

// One frame of the captures, numbered as the findings do.
int print_frame(const AnalyzeArguments& arguments) {
  const char* remedy = "weft analyze reads pcap and pcapng files";
  auto opened = analyze::open_captures(arguments.files);
  if (!opened) return wrong_input(opened.error(), remedy);
  pcap::MergedCapture& capture = opened->merged;
  pcap::CapturedPacket packet;
  std::uint64_t number = 0;
  while (number < arguments.frame && capture.next(packet)) ++number;
  if (number < arguments.frame) {
    for (std::size_t i = 0; i < capture.files().size(); ++i)
      if (const auto& error = capture.files()[i].error())
        return wrong_input(fmt::format("{}: {} at byte {}", arguments.files[i], error->message, error->offset_B),
                           remedy);
    return wrong_input(fmt::format("--frame {}: the capture has {} frames", arguments.frame, number),
                       "frames are counted from 1");
  }
  const pcap::CaptureInterface& interface = capture.interface(packet.interface);
  const auto tree = analyze::packet_tree(interface.link_type, packet.bytes, packet.original_B);
  if (arguments.json) {
    put(fmt::format("{{\"number\": {}, \"time_ns\": {}, \"captured_B\": {}, \"original_B\": {}, \"layers\": {}}}\n",
                    number, packet.time_ns, packet.bytes.size(), packet.original_B, analyze::packet_tree_json(tree)));
    return kExitWell;
  }
  put(fmt::format("Frame {}: {} bytes on the wire, {} captured{}{}\n", number, packet.original_B, packet.bytes.size(),
                  interface.name.empty() ? "" : " at " + interface.name,
                  packet.comment.empty() ? "" : fmt::format(" ({})", packet.comment)));
  put(analyze::packet_tree_text(tree));
  return kExitWell;
}

int analyze_captures(const AnalyzeArguments& arguments) {
  use_json(arguments.json);
  if (arguments.frame != 0) return print_frame(arguments);
  analyze::AnalyzeOptions options;
  options.decode.check_icrc = !arguments.no_icrc;
  for (const std::string& each : arguments.counters) {
    auto port = analyze::read_port_counters(each);
    if (!port) return wrong_input(port.error(), "--counters 10.0.0.1=FILE: what ethtool -S or rdma statistic prints");
    options.counters.push_back(std::move(*port));
  }
  if (arguments.lab.empty() && !arguments.set.empty())
    return wrong_input("--set without --lab", "name the lab whose value it changes: --lab LAB");
  if (!arguments.lab.empty()) {
    const auto file = load_lab(arguments.lab, arguments.set, std::nullopt);
    if (!file) return kExitWrongInput;
    options.contract = gear::wire_contract(file->lab);
  }
  if (!read_time("--since", arguments.since, options.since_ns)) return kExitWrongInput;
  if (!read_time("--until", arguments.until, options.until_ns)) return kExitWrongInput;
  if (!options.counters.empty() && (options.since_ns || options.until_ns))
    return wrong_input("--counters with --since or --until: counters count all of the capture, not a part of it",
                       "leave out the times; or read the counters at both of them, cut the capture there (editcap -A "
                       "-B), and use --counters ADDRESS=AFTER,BEFORE");
  if (options.since_ns && options.until_ns && *options.since_ns >= *options.until_ns)
    return wrong_input("--since is not before --until", "--since 1ms --until 2ms");
  options.most_streams = arguments.most_streams;
  options.progress = reading_line();
  options.messages = arguments.table == "messages";
  auto analysis = analyze::analyze_files(arguments.files, options);
  clear_progress_line();
  if (!analysis) return wrong_input(analysis.error(), "weft analyze reads pcap and pcapng files");
  if (!analysis->counters_without_frames.empty())
    return wrong_input(
        fmt::format("--counters {}: no frame is from or to that address", analysis->counters_without_frames.front()),
        addresses_text(*analysis));
  if (!arguments.flow.empty() && !analyze::keep_flow(arguments.flow, *analysis))
    return wrong_input("no conversation is --flow '" + arguments.flow + "'", "weft analyze FILE names them");
  if (!arguments.diff.empty()) {
    auto other = analyze::analyze_files({arguments.diff}, options);
    if (!other) return wrong_input(other.error(), "weft analyze reads pcap and pcapng files");
    if (!arguments.flow.empty()) analyze::keep_flow(arguments.flow, *other);
    const auto changes = analyze::differences(*other, *analysis);
    put(arguments.json ? analyze::changes_json(changes, arguments.diff, arguments.files.front())
                       : analyze::changes_text(changes, arguments.diff, arguments.files.front()));
    return changes.empty() ? kExitWell : kExitFailed;
  }
  if (!arguments.table.empty() && !arguments.json) {
    for (const analyze::Table& table : analysis->tables)
      if (table.name == arguments.table) put(analyze::table_text(table));
    return analysis->findings.healthy() ? kExitWell : kExitFailed;
  }
  put(arguments.json ? analyze::analysis_json(*analysis) : analyze::analysis_text(*analysis));
  return analysis->findings.healthy() ? kExitWell : kExitFailed;
}

}  // namespace

void add_analyze(CLI::App& app, int& status) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* verb = app.add_subcommand("analyze", "Say what happened in captures, what is wrong and what to change");
  verb->add_option("FILE", arguments->files,
                   "pcap or pcapng files, also with gzip; - is standard input; several are merged by time")
      ->required();
  verb->add_option("--since", arguments->since, "Leave out what is earlier than this after the first frame: 1.2ms");
  verb->add_option("--until", arguments->until, "Leave out what is later than this after the first frame: 1.4ms");
  verb->add_option("--most-streams", arguments->most_streams, "Look into this many streams; others are only counted")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 24));
  verb->add_option(
      "--counters", arguments->counters,
      "ADDRESS=FILE[,BEFORE]: counters of that port (ethtool -S, rdma statistic), held against the capture");
  verb->add_option("--diff", arguments->diff, "Say what changed since this capture of the same work");
  verb->add_option("--lab", arguments->lab, "Hold the frames against the QoS contract of this lab");
  verb->add_option("--set", arguments->set, "Change a value of that lab, as for run");
  verb->add_flag("--no-icrc", arguments->no_icrc, "Do not check the ICRC of each frame");
  verb->add_option("--table", arguments->table,
                   "Print a table in place of the report: qps, messages, retransmissions, cnp, pauses, rate "
                   "(bins of time)")
      ->check(CLI::IsMember({"qps", "messages", "retransmissions", "cnp", "pauses", "rate"}));
  verb->add_option("--flow", arguments->flow,
                   "Only what is about this flow: '10.0.0.1 > 10.0.0.2', '10.0.0.2 qp 0x108'");
  verb->add_option("--frame", arguments->frame, "Print this frame's headers and fields in place of the report")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->footer("Exit status: 0 healthy, 1 findings, 2 input that cannot be read.");
  verb->callback([arguments, &status] { status = analyze_captures(*arguments); });
}

}  // namespace weft::cli
