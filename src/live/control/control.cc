#include "live/control/control.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/nearest.h"
#include "live/os/shared_memory.h"
#include "store/json_text.h"
#include "text/problem.h"

namespace weft::live {

namespace {

constexpr std::size_t kMostRecords = 10'000;
constexpr std::size_t kInBody_B = 32'000;
constexpr std::size_t kMostWatches = 64;
constexpr std::chrono::seconds kPatienceAtEnd{3}, kLongestEnd{30};  // since a reader took something; in all
constexpr int kEndLook_ms = 50;
constexpr int kWrongInput = 2;  // exit status, as the command line has it

struct Verb {
  std::string_view name;
  CommandPlan (*plan)(CommandContext&, CommandWords);
};
constexpr Verb kVerbs[] = {
    {"link", plan_link}, {"fault", plan_fault}, {"impair", plan_impair}, {"set", plan_set}, {"capture", plan_capture}};

// Copies first: the sender may be anything.
bool read_words(const Request& request, verbs::Command& command, std::vector<std::string>& words) {
  if (!request.read_head(command) || command.words == 0 || command.words > verbs::kMaxWords) return false;
  std::string text(request.body.size() - sizeof(command), '\0');
  std::memcpy(text.data(), request.body.data() + sizeof(command), text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\0', at);
    if (end == text.npos || words.size() == command.words) return false;
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words.size() == command.words && command.at_ps >= verbs::kNow_ps && command.at_ps < kNever_ps / 2;
}

// As a shell takes it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  out += '\'';
  return out;
}

std::string line_of(CommandWords words) {
  std::vector<std::string> parts;
  for (const std::string& word : words) parts.push_back(quoted(word));
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace

CommandPlan Control::plan(CommandWords words) {
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) {
    names.push_back(verb.name);
    if (verb.name == words.front()) return verb.plan(context_, words.subspan(1));
  }
  if (words.front() == "log") return PlannedCommand{[this](Time_ps) -> CommandOutcome { return log(); }, true};
  return problem(fmt::format("no command {}", lab::in_quotes(words.front())),
                 did_you_mean(words.front(), names, "commands"));
}

Control::Answer Control::execute(CommandWords words, const verbs::Command& command, Time_ps now_ps) {
  const auto text = [&](const CommandText& said) { return command.json != 0 ? said.json + "\n" : said.text; };
  auto planned = plan(words);
  if (!planned) return {kWrongInput, planned.error().message, planned.error().remedy, false, now_ps};
  const bool later = command.at_ps != verbs::kNow_ps;
  if (planned->asks && later)
    return {kWrongInput, "--at with a command that only shows something", "leave --at out", false, now_ps};
  if (later && command.at_ps < now_ps)
    return {
        kWrongInput,
        fmt::format("--at {}: the world is at {} already", lab::format_quantity(command.at_ps, lab::Quantity::kTime),
                    lab::format_quantity(now_ps, lab::Quantity::kTime)),
        "choose a later time, or leave --at out", false, now_ps};
  if (planned->asks) {
    const auto said = planned->act(now_ps);
    if (!said) return {kWrongInput, said.error().message, said.error().remedy, false, now_ps};
    return {0, text(*said), "", false, now_ps};
  }
  const Time_ps at_ps = later ? command.at_ps : now_ps;
  const std::uint64_t number = forgotten_ + records_.size();
  const auto finish = [this, number, line = line_of(words)](const CommandOutcome& said, Time_ps then_ps) {
    trace(line, said.has_value(), then_ps);
    if (number < forgotten_) return;
    Record& record = records_[number - forgotten_];
    record.state = said ? State::kDone : State::kFailed;
    if (!said) record.problem = said.error().message;
  };
  if (!later || at_ps == now_ps) {
    const auto said = planned->act(now_ps);
    if (!said) return {kWrongInput, said.error().message, said.error().remedy, false, now_ps};
    trace(line_of(words), true, now_ps);
    records_.push_back({at_ps, line_of(words), State::kDone, ""});
    if (records_.size() > kMostRecords) {
      records_.pop_front();
      ++forgotten_;
    }
    return {0, text(*said), "", false, now_ps};
  }
  if (records_.size() >= kMostRecords)
    return {kWrongInput, "too many commands wait or are recorded", "wait until some have happened", false, now_ps};
  records_.push_back({at_ps, line_of(words), State::kWaits, ""});
  context_.session.changes().at(at_ps,
                                [act = planned->act, finish](Time_ps then_ps) { finish(act(then_ps), then_ps); });
  const std::string when = lab::format_quantity(at_ps, lab::Quantity::kTime);
  store::JsonText json;
  json.open('{');
  json.add("waits_for_ps", at_ps);
  json.close('}');
  return {0, text({fmt::format("waits for {}\n", when), std::string(json.text())}), "", true, at_ps};
}

tl::expected<void, CommandProblem> Control::run(CommandWords words, Time_ps now_ps) {
  verbs::Command command{};
  command.at_ps = verbs::kNow_ps;
  const Answer answer = execute(words, command, now_ps);
  if (answer.status == 0) return {};
  return problem(answer.text, answer.remedy);
}

void Control::trace(const std::string& line, bool done, Time_ps now_ps) {
  if (!tracer_.active()) return;
  TraceEvent event;
  event.at_ps = now_ps;
  event.kind = "command";
  event.fields.push_back({"words", line});
  event.fields.push_back({"done", std::string(done ? "yes" : "no")});
  tracer_.emit(event);
}

std::vector<lab::TakenCommand> Control::commands() const {
  constexpr std::string_view kStates[] = {"waits", "done", "failed"};
  std::vector<lab::TakenCommand> all;
  for (const Record& record : records_) {
    const std::string at = lab::format_quantity(record.at_ps, lab::Quantity::kTime);
    all.push_back({record.at_ps, std::string(kStates[static_cast<std::size_t>(record.state)]), record.words,
                   fmt::format("weft {} --at '{}'", record.words, at), record.problem});
  }
  return all;
}

CommandText Control::log() const {
  std::string text = fmt::format("{:>16}  {:<8} {}\n", "AT", "STATE", "COMMAND");
  store::JsonText json;
  json.open('[');
  for (const lab::TakenCommand& each : commands()) {
    text += fmt::format("{:>16}  {:<8} {}{}\n", lab::format_quantity(each.at_ps, lab::Quantity::kTime), each.state,
                        each.words, each.problem.empty() ? "" : fmt::format(" ({})", each.problem));
    json.open_item('{');
    json.add("at_ps", each.at_ps);
    json.add("state", each.state);
    json.add("command", each.line);
    if (!each.problem.empty()) json.add("problem", each.problem);
    json.close('}');
  }
  json.close(']');
  return {text, std::string(json.text())};
}

void Control::send(Connection& connection, const Answer& answer) {
  verbs::CommandReply head{};
  head.status = answer.status;
  head.text_B = static_cast<std::uint32_t>(answer.text.size());
  head.remedy_B = static_cast<std::uint32_t>(answer.remedy.size());
  head.waits = answer.waits ? 1 : 0;
  head.at_ps = answer.at_ps;
  Reply reply = Reply::of(head);
  const std::string text = answer.text + answer.remedy;
  SharedMemory file;
  if (text.size() <= kInBody_B) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    reply.body.insert(reply.body.end(), first, first + text.size());
  } else {
    file = SharedMemory::make("weft-reply", text.size());
    if (file.data() == nullptr) {
      connection.send(Reply::failed(ENOMEM), 0);
      return;
    }
    std::memcpy(file.data(), text.data(), text.size());
    reply.fds[0] = file.fd();
  }
  connection.send(reply, 0);
}

void Control::take(int fd, const Request& request, Time_ps now_ps) {
  Connection connection(fd);
  verbs::Command command{};
  std::vector<std::string> words;
  if (!read_words(request, command, words)) {
    connection.send(Reply::failed(EPROTO), 0);
    return;
  }
  if (request.op == verbs::Op::kCommand) {
    send(connection, execute(words, command, now_ps));
    return;
  }
  Answer answer{0, "", "", false, now_ps};
  std::shared_ptr<Watch> watch;
  if (watches_.size() >= kMostWatches) {
    answer = {kWrongInput, "too many watch this world", "end one of them", false, now_ps};
  } else if (auto begun = begin_watch(words, command, now_ps); begun) {
    watch = *begun;
  } else {
    answer = {kWrongInput, begun.error().message, begun.error().remedy, false, now_ps};
  }
  send(connection, answer);
  if (!watch) return;
  watch->stream->open(dup(fd));
  watches_.push_back(watch);
}

tl::expected<std::shared_ptr<Control::Watch>, CommandProblem> Control::begin_watch(CommandWords words,
                                                                                   const verbs::Command& command,
                                                                                   Time_ps now_ps) {
  auto watch = std::make_shared<Watch>();
  watch->stream = std::make_shared<OutputStream>();
  if (words.front() == "trace") {
    auto filter = read_trace_filter(context_.lab(), words.subspan(1));
    if (!filter) return tl::unexpected(filter.error());
    end_later(watch, filter->for_ps, now_ps);
    tracer_.add(std::move(*filter), command.json != 0, watch->stream);
    watch->end = [this, stream = watch->stream.get()] { return tracer_.remove(*stream); };
  } else if (words.front() == "capture") {
    auto capture = LiveCapture::start(context_, words.subspan(1), watch->stream);
    if (!capture) return tl::unexpected(capture.error());
    watch->end = [capture = *capture] { return capture->stop(); };
  } else if (words.front() == "counters") {
    auto counters = CounterWatch::start(context_, words.subspan(1), command.json != 0, watch->stream, now_ps);
    if (!counters) return tl::unexpected(counters.error());
    watch->end = [counters = *counters] { return counters->stop(); };
    (*counters)->on_end([weak = std::weak_ptr(watch)] {
      if (auto same = weak.lock()) same->over = true;
    });
  } else {
    return problem(fmt::format("{} cannot be watched", lab::in_quotes(words.front())), "weft --help shows the verbs");
  }
  return watch;
}

// In the world's time.
void Control::end_later(const std::shared_ptr<Watch>& watch, Time_ps for_ps, Time_ps now_ps) {
  if (for_ps == 0) return;
  context_.session.changes().at(now_ps + for_ps, [weak = std::weak_ptr(watch)](Time_ps) {
    if (auto same = weak.lock()) same->over = true;
  });
}

bool Control::serve(Watch& watch) {
  const bool wanted = watch.stream->flush();
  if (watch.notice || !wanted || watch.over) {
    if (!watch.notice) {
      watch.notice = watch.end();
      watch.stream->flush();  // the last of it
    }
    if (!watch.stream->is_empty() && !watch.stream->is_gone()) return false;
    return watch.stream->end(*watch.notice);
  }
  return false;
}

void Control::poll() {
  std::erase_if(watches_, [](const std::shared_ptr<Watch>& watch) { return serve(*watch); });
}

std::vector<int> Control::fds() const {
  std::vector<int> fds;
  for (const auto& watch : watches_) fds.push_back(watch->stream->fd());
  return fds;
}

// The world ends: readers have a moment for what is left.
void Control::end_streams() {
  for (const auto& watch : watches_) watch->over = true;
  const auto start = std::chrono::steady_clock::now();
  auto progress = start, now = start;
  const auto left_B = [this] {
    std::size_t sum_B = 0;
    for (const auto& watch : watches_) sum_B += watch->stream->pending_B();
    return sum_B;
  };
  std::size_t before_B = left_B();
  for (poll(); !watches_.empty() && now - progress < kPatienceAtEnd && now - start < kLongestEnd; poll()) {
    pollfd room{watches_.front()->stream->fd(), POLLOUT, 0};
    ::poll(&room, 1, kEndLook_ms);
    now = std::chrono::steady_clock::now();
    if (left_B() < before_B) progress = now;
    before_B = left_B();
  }
  for (const auto& watch : watches_) {
    if (!watch->notice) watch->end();
  }
  watches_.clear();
}

}  // namespace weft::live
