#include "text/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <unordered_map>

namespace weft::lab {
namespace {

// Leaves yaml-cpp's parser after a problem that makes the rest meaningless.
struct Stop {};

// Length of the UTF-8 character that starts at text[at], 0 when it is not one.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto is_tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf && is_tail(at + 1)) return 2;
  if (first >= 0xe0 && first <= 0xef && is_tail(at + 1) && is_tail(at + 2)) {
    const bool overlong = first == 0xe0 && byte(at + 1) < 0xa0;
    const bool surrogate = first == 0xed && byte(at + 1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xf0 && first <= 0xf4 && is_tail(at + 1) && is_tail(at + 2) && is_tail(at + 3)) {
    const bool overlong = first == 0xf0 && byte(at + 1) < 0x90;
    const bool beyond = first == 0xf4 && byte(at + 1) >= 0x90;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
}
bool has_control(std::string_view text) {
  for (char c : text) {
    if (is_control(c)) return true;
  }
  return false;
}

// What no YAML parser should have to guess about: bytes that are not text, and tabs that indent.
// One problem for each line at most.
void check_characters(std::string_view text, ProblemList& problems, int override_index) {
  int line = 1;
  std::size_t line_start = 0;
  bool in_indentation = true, reported = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const Place place{line, static_cast<int>(at - line_start) + 1, override_index};
    const std::size_t length = utf8_length(text, at);
    if (!reported && length == 0) {
      problems.add(place, "this byte is not UTF-8", "save the file as UTF-8");
      reported = true;
    } else if (!reported && is_control(c)) {
      problems.add(place, fmt::format("control character {:#04x}", static_cast<unsigned char>(c)), "remove it");
      reported = true;
    } else if (!reported && in_indentation && c == '\t') {
      problems.add(place, "a tab in the indentation", "indent with spaces: YAML does not allow tabs there");
      reported = true;
    }
    if (c != ' ' && c != '\t') in_indentation = false;
    at += length == 0 ? 1 : length;
    if (c == '\n') {
      ++line;
      line_start = at;
      in_indentation = true;
      reported = false;
    }
  }
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view source, ProblemList& problems, int override_index)
      : source_(source), problems_(problems), override_index_(override_index) {
    line_starts_.push_back(0);
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\n') line_starts_.push_back(i + 1);
    }
  }

  std::optional<YamlNode> take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) stop(place(mark), "a second document starts here", "a lab is one document: remove the ---");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_anchor(mark, anchor);
    YamlNode node;
    node.place = place(mark);
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    stop(place(mark), "an alias (*name)", "write the value out: labs do not use anchors and aliases");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_anchor(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty()) reject_tag(mark, tag);
    if (has_control(value)) problems_.add(place(mark), "a control character in the text", "remove the escape");
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.place = place(mark);
    node.text = value;
    node.quoted = tag == "!";
    if (node.quoted) check_closed(mark);
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { end(); }

 private:
  // A collection that is still open, and for a map the key whose value comes next.
  struct Open {
    YamlNode node;
    bool has_key = false;
    bool is_repeated = false;
    YamlKey key;
    std::unordered_map<std::string, int> lines;  // key -> the line where it was first seen
  };

  Place place(const YAML::Mark& mark) const { return {mark.line + 1, mark.column + 1, override_index_}; }

  // yaml-cpp takes the end of the file for the closing quote when a newline stands before it.
  void check_closed(const YAML::Mark& mark) {
    if (static_cast<std::size_t>(mark.line) >= line_starts_.size()) return;
    const std::size_t start = line_starts_[static_cast<std::size_t>(mark.line)] + static_cast<std::size_t>(mark.column);
    if (start >= source_.size() || (source_[start] != '"' && source_[start] != '\'')) return;  // a block
    const char quote = source_[start];
    for (std::size_t at = start + 1; at < source_.size(); ++at) {
      if (quote == '"' && source_[at] == '\\') {
        ++at;
      } else if (source_[at] == quote) {
        const bool is_escaped = quote == '\'' && at + 1 < source_.size() && source_[at + 1] == quote;
        if (!is_escaped) return;
        ++at;
      }
    }
    stop(place(mark), "a quote that is not closed", fmt::format("end the text with {}", quote));
  }

  [[noreturn]] void stop(const Place& at, std::string message, std::string remedy) {
    problems_.add(at, std::move(message), std::move(remedy));
    throw Stop{};
  }
  void check_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      stop(place(mark), "an anchor (&name)", "write the value out: labs do not use anchors and aliases");
    }
  }
  void reject_tag(const YAML::Mark& mark, const std::string& tag) {
    problems_.add(place(mark), fmt::format("the tag {}", in_quotes(tag)), "remove it: labs do not use YAML tags");
  }

  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    check_anchor(mark, anchor);
    if (tag != "?" && !tag.empty()) reject_tag(mark, tag);
    if (static_cast<int>(open_.size()) >= kMaxYamlDepth) {
      stop(place(mark), fmt::format("nested deeper than {} levels", kMaxYamlDepth),
           "no lab needs that; check the brackets");
    }
    if (!open_.empty() && open_.back().node.is_map() && !open_.back().has_key) {
      stop(place(mark), "a list or a map where a key should be, or a bracket that is not closed",
           "a key is one word; close every [ and {");
    }
    Open open;
    open.node.kind = kind;
    open.node.place = place(mark);
    open_.push_back(std::move(open));
  }

  void end() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_map() && !parent.has_key) {
      take_key(parent, node);
      return;
    }
    if (parent.node.is_map()) {
      parent.has_key = false;
      if (node.is_null()) node.place = parent.key.place;  // yaml-cpp's is that of whatever comes next
      if (parent.is_repeated) return;
      parent.node.keys.push_back(std::move(parent.key));
    }
    parent.node.children.push_back(std::move(node));
  }

  void take_key(Open& map, const YamlNode& node) {
    if (!node.is_scalar() || node.text.empty()) stop(node.place, "an empty key", "a key is one word");
    if (node.text == "<<") stop(node.place, "a merge key (<<)", "write the values out: labs do not use merge keys");
    const auto [first, is_new] = map.lines.emplace(node.text, node.place.line);
    if (!is_new) {
      problems_.add(node.place, fmt::format("key {} is given twice", in_quotes(node.text)),
                    fmt::format("remove this one or the one in line {}", first->second));
    }
    map.key = {node.text, node.place, node.quoted};
    map.has_key = true;
    map.is_repeated = !is_new;
  }

  const std::string_view source_;
  std::vector<std::size_t> line_starts_;
  ProblemList& problems_;
  const int override_index_;
  int documents_ = 0;
  std::vector<Open> open_;
  std::optional<YamlNode> root_;
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text == key) return &children[i];
  }
  return nullptr;
}

YamlNode* YamlNode::find(std::string_view key) {
  return const_cast<YamlNode*>(std::as_const(*this).find(key));
}

std::optional<YamlNode> parse_yaml(std::string_view text, ProblemList& problems, int override_index) {
  const Place start{1, 1, override_index};
  if (text.size() > kMaxYamlSize_B) {
    problems.add(start, fmt::format("the text has {} bytes, more than {}", text.size(), kMaxYamlSize_B),
                 "a lab is a small file: is this one?");
    return std::nullopt;
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
  const std::size_t problems_before = problems.size();
  check_characters(text, problems, override_index);
  if (problems.size() > problems_before) return std::nullopt;

  TreeBuilder builder(text, problems, override_index);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder))
      problems.add(start, "nothing here", "see docs/lab-file.md for a first lab");
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take_root();
  } catch (const Stop&) {
  } catch (const YAML::Exception& error) {
    problems.add({error.mark.line + 1, error.mark.column + 1, override_index}, "not YAML: " + error.msg,
                 "check indentation, quotes and brackets here and just above");
  } catch (const std::exception& error) {
    problems.add(start, fmt::format("not YAML: {}", error.what()), "check indentation, quotes and brackets");
  }
  return std::nullopt;
}

}  // namespace weft::lab
