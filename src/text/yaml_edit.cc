#include "text/yaml_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "text/yaml_override.h"
#include "text/yaml_tree.h"

namespace weft::lab {

namespace {

// Null and an empty map are one: what is left when the last key is taken away.
bool is_empty_node(const YamlNode& node) {
  return node.is_null() || (node.children.empty() && !node.is_scalar());
}

bool same_tree(const YamlNode& a, const YamlNode& b) {
  if (is_empty_node(a) && is_empty_node(b)) return true;
  if (a.kind != b.kind || a.text != b.text || a.quoted != b.quoted || a.children.size() != b.children.size())
    return false;
  for (std::size_t i = 0; i < a.children.size(); ++i) {
    const YamlNode* other = a.is_map() ? b.find(a.keys[i].text) : &b.children[i];
    if (other == nullptr || !same_tree(a.children[i], *other)) return false;
  }
  return true;
}

bool is_plain_scalar(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos) return false;
  return text.find_first_of(",[]{}\n") == text.npos && text.find(": ") == text.npos && text.find(" #") == text.npos &&
         text.back() != ':';
}

std::string quoted_scalar(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// The node in one line.
std::string flow_text(const YamlNode& node) {
  if (node.is_scalar()) return node.quoted || !is_plain_scalar(node.text) ? quoted_scalar(node.text) : node.text;
  std::string out;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) out += ", ";
    if (node.is_map())
      out += (is_plain_scalar(node.keys[i].text) ? node.keys[i].text : quoted_scalar(node.keys[i].text)) + ": ";
    out += flow_text(node.children[i]);
  }
  if (node.is_map()) return "{" + out + "}";
  if (node.is_sequence()) return "[" + out + "]";
  return "";
}

// Where things are in the text.
class TextPlaces {
 public:
  explicit TextPlaces(std::string_view text) : text_(text) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') starts_.push_back(i + 1);
  }

  std::size_t offset(const Place& place) const {
    const std::size_t line = std::min(static_cast<std::size_t>(std::max(place.line, 1)), starts_.size()) - 1;
    return std::min(starts_[line] + static_cast<std::size_t>(std::max(place.column, 1)) - 1, text_.size());
  }
  std::size_t line_of(std::size_t at) const {
    return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), at) - starts_.begin()) - 1;
  }
  std::size_t line_start(std::size_t line) const { return starts_[line]; }
  std::size_t line_end(std::size_t line) const {
    const std::size_t next = line + 1 < starts_.size() ? starts_[line + 1] - 1 : text_.size();
    return std::max(next, starts_[line]);
  }
  std::size_t lines() const { return starts_.size(); }

  // Behind the bracket that closes the one at `at`.
  std::size_t flow_end(std::size_t at) const {
    int depth = 0;
    for (std::size_t i = at; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"' || c == '\'') {
        i = quote_end(i) - 1;
      } else if (c == '#' && i > 0 && (text_[i - 1] == ' ' || text_[i - 1] == '\n')) {
        i = line_end(line_of(i)) - 1;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        return i + 1;
      }
    }
    return text_.size();
  }
  std::size_t quote_end(std::size_t at) const {
    for (std::size_t i = at + 1; i < text_.size(); ++i) {
      if (text_[at] == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == text_[at]) {
        if (text_[at] == '\'' && i + 1 < text_.size() && text_[i + 1] == '\'') {
          ++i;
          continue;
        }
        return i + 1;
      }
    }
    return text_.size();
  }
  // A scalar that begins at `at`; in a flow it ends at a comma or a bracket.
  std::size_t scalar_end(std::size_t at, bool in_flow) const {
    if (at < text_.size() && (text_[at] == '"' || text_[at] == '\'')) return quote_end(at);
    std::size_t end = line_end(line_of(at));
    for (std::size_t i = at; i < end; ++i) {
      const bool comment = text_[i] == '#' && i > 0 && text_[i - 1] == ' ';
      if (comment || (in_flow && std::string_view(",]}").find(text_[i]) != std::string_view::npos)) end = i;
    }
    while (end > at && text_[end - 1] == ' ') --end;
    return end;
  }
  // Behind the last line of a block whose lines are indented by `indent` and more; `list`: items begin with a dash
  // there.
  std::size_t block_end(std::size_t at, std::size_t indent, bool list) const {
    std::size_t last = line_of(at);
    for (std::size_t line = last + 1; line < lines(); ++line) {
      const std::size_t first = text_.find_first_not_of(' ', line_start(line));
      if (first == text_.npos || text_[first] == '\n' || text_[first] == '#') continue;
      const std::size_t column = first - line_start(line);
      if (column < indent || (list && column == indent && text_[first] != '-')) break;
      last = line;
    }
    return line_end(last);
  }
  bool is_flow(const YamlNode& node) const {
    const std::size_t at = offset(node.place);
    return at < text_.size() && (text_[at] == '{' || text_[at] == '[');
  }
  std::size_t end_of(const YamlNode& node, bool in_flow) const {
    const std::size_t at = offset(node.place);
    if (node.is_scalar()) return scalar_end(at, in_flow);
    if (is_flow(node)) return flow_end(at);
    return block_end(at, at - line_start(line_of(at)), node.is_sequence());
  }
  // Behind the colon of a key.
  std::size_t behind_key(const YamlKey& key) const {
    std::size_t at = offset(key.place);
    at = at < text_.size() && (text_[at] == '"' || text_[at] == '\'') ? quote_end(at) : at + key.text.size();
    const std::size_t colon = text_.find(':', at);
    return colon == text_.npos ? text_.size() : colon + 1;
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

// The one place where the changed tree differs from that of the text.
struct Change {
  const YamlNode* parent = nullptr;  // in the tree of the text
  const YamlNode* node = nullptr;    // of the changed tree: the value
  std::size_t index = 0;             // in both
  bool is_new = false;               // not in the tree of the text
  bool in_flow = false;
};

std::optional<Change> find_change(const YamlNode& before, const YamlNode& after, const TextPlaces& places,
                                  bool in_flow) {
  const bool flow = in_flow || (!before.is_null() && !before.is_scalar() && places.is_flow(before));
  for (std::size_t i = 0; i < after.children.size(); ++i) {
    const bool is_new = i >= before.children.size();
    if (is_new || after.children[i].place.override_index >= 0)
      return Change{&before, &after.children[i], i, is_new, flow};
    if (auto found = find_change(before.children[i], after.children[i], places, flow)) return found;
  }
  return std::nullopt;
}

class Editor {
 public:
  Editor(std::string_view text, const TextPlaces& places) : text_(text), places_(places) {}
  std::string added_key;  // of a value that is new in a map

  tl::expected<std::string, std::string> put(const YamlNode& root, const Change& change) const {
    const std::string value = flow_text(*change.node);
    if (!change.is_new && change.parent->is_map()) return put_value(change, value);
    if (!change.is_new) {
      const YamlNode& old = change.parent->children[change.index];
      const std::size_t at = places_.offset(old.place);
      return replaced(at, places_.end_of(old, change.in_flow), value);
    }
    return add(root, change, value);
  }

  tl::expected<std::string, std::string> take_away(const Change& change) const {
    if (!change.parent->is_map()) return tl::unexpected(std::string("an item of a list cannot be taken away"));
    const YamlKey& key = change.parent->keys[change.index];
    const YamlNode& old = change.parent->children[change.index];
    const std::size_t start = places_.offset(key.place), end = value_end(key, old, change.in_flow);
    if (change.in_flow) {
      const std::size_t next = text_.find_first_not_of(' ', end);
      if (next != text_.npos && text_[next] == ',') return replaced(start, text_.find_first_not_of(' ', next + 1), "");
      std::size_t before = start;
      while (before > 0 && (text_[before - 1] == ' ' || text_[before - 1] == '\n')) --before;
      if (before > 0 && text_[before - 1] == ',') return replaced(before - 1, end, "");
      return replaced(start, end, "");
    }
    const std::size_t line = places_.line_of(start);
    if (text_.substr(places_.line_start(line), start - places_.line_start(line)).find_first_not_of(' ') !=
        std::string_view::npos)
      return tl::unexpected(std::string("it stands behind a dash: change the file by hand"));
    const std::size_t last = places_.line_end(places_.line_of(end));
    return replaced(places_.line_start(line), std::min(last + 1, text_.size()), "");
  }

 private:
  std::string replaced(std::size_t from, std::size_t to, std::string_view with) const {
    return std::string(text_.substr(0, from)).append(with).append(text_.substr(std::min(to, text_.size())));
  }
  std::size_t value_end(const YamlKey& key, const YamlNode& node, bool in_flow) const {
    return node.is_null() ? places_.behind_key(key) : places_.end_of(node, in_flow);
  }
  std::string put_value(const Change& change, const std::string& value) const {
    const YamlKey& key = change.parent->keys[change.index];
    const YamlNode& old = change.parent->children[change.index];
    return replaced(places_.behind_key(key), value_end(key, old, change.in_flow), " " + value);
  }
  tl::expected<std::string, std::string> add(const YamlNode& root, const Change& change,
                                             const std::string& value) const {
    const YamlNode& parent = *change.parent;
    std::string entry = value;
    if (!added_key.empty()) entry = added_key + ": " + value;
    if (parent.children.empty() && !(&parent != &root && places_.is_flow(parent)))
      return tl::unexpected(std::string("there is nothing to add it to"));
    if (places_.is_flow(parent)) {
      std::size_t at = places_.flow_end(places_.offset(parent.place)) - 1;
      while (at > 0 && text_[at - 1] == ' ') --at;
      return replaced(at, at, parent.children.empty() ? entry : ", " + entry);
    }
    const std::size_t first = places_.offset(parent.is_map() ? parent.keys.front().place : parent.place);
    const std::size_t indent = first - places_.line_start(places_.line_of(first));
    const std::size_t end = places_.block_end(first, indent, parent.is_sequence());
    return replaced(end, end,
                    fmt::format("\n{}{}{}", std::string(indent, ' '), parent.is_sequence() ? "- " : "", entry));
  }

  std::string_view text_;
  const TextPlaces& places_;
};

// The maps and lists from the root down to a value, each with the index of the next.
struct Step {
  YamlNode* node = nullptr;
  std::size_t index = 0;
};
bool find_steps(YamlNode& from, const YamlNode* value, std::vector<Step>& steps) {
  for (std::size_t i = 0; i < from.children.size(); ++i) {
    steps.push_back({&from, i});
    if (&from.children[i] == value || find_steps(from.children[i], value, steps)) return true;
    steps.pop_back();
  }
  return false;
}

// Of a key that is taken away: maps that have nothing else go with it, up to those of the root.
Change with_empty_parents(YamlNode& before, const Change& change, const TextPlaces& places) {
  std::vector<Step> steps;
  if (!find_steps(before, &change.parent->children[change.index], steps)) return change;
  while (steps.size() > 1 && steps.back().node->is_map() && steps.back().node->children.size() == 1 &&
         steps[steps.size() - 2].node->is_map())
    steps.pop_back();
  Change larger = change;
  larger.parent = steps.back().node;
  larger.index = steps.back().index;
  larger.in_flow =
      std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return places.is_flow(*step.node); });
  return larger;
}

void erase_at(YamlNode& map, std::size_t index) {
  map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(index));
  map.children.erase(map.children.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace

tl::expected<std::string, std::string> edit_yaml(std::string_view text, std::string_view path,
                                                 const std::optional<std::string>& value) {
  const std::string change_text = fmt::format("{}={}", path, value.value_or("x"));
  const std::span<const std::string> changes(&change_text, 1);
  ProblemList problems(changes);
  const auto first_problem = [&] { return tl::unexpected(problems.take().front().message); };
  auto before = parse_yaml(text, problems);
  if (!before || !problems.empty()) return first_problem();
  YamlNode after = *before;
  apply_overrides(after, changes, problems);
  if (!problems.empty()) return first_problem();
  const TextPlaces places(text);
  const auto change = find_change(*before, after, places, false);
  if (!change) return std::string(text);
  if (!value && change->is_new) return std::string(text);  // it is not there
  std::vector<Step> steps;
  find_steps(after, change->node, steps);
  Editor editor(text, places);
  if (change->is_new && steps.back().node->is_map()) {
    const std::string& key = steps.back().node->keys[steps.back().index].text;
    editor.added_key = is_plain_scalar(key) ? key : quoted_scalar(key);
  }
  auto edited = value ? editor.put(*before, *change) : editor.take_away(with_empty_parents(*before, *change, places));
  if (!edited) return edited;
  if (!value) {
    erase_at(*steps.back().node, steps.back().index);
    for (steps.pop_back(); !steps.empty() && steps.back().node->is_map(); steps.pop_back()) {
      if (!steps.back().node->children[steps.back().index].children.empty()) break;
      erase_at(*steps.back().node, steps.back().index);
    }
  }
  auto again = parse_yaml(*edited, problems);
  if (!again || !problems.empty() || !same_tree(*again, after))
    return tl::unexpected(fmt::format("{} cannot be changed in this text", path));
  return edited;
}

}  // namespace weft::lab
