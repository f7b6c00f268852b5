#include "nccl/text/xml.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::nccl {

namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxElements = 1 << 17;

struct Entity {
  std::string_view text;
  char character;
};
constexpr Entity kEntities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':';
}

class XmlParser {
 public:
  explicit XmlParser(std::string_view text) : text_(text) {}

  tl::expected<XmlElement, XmlError> parse() {
    XmlElement top;
    if (!skip_between() || !element(top, 0) || !skip_between()) return tl::unexpected(error_);
    if (at_ != text_.size()) {
      fail("there is more after the end of the first element");
      return tl::unexpected(error_);
    }
    return top;
  }

 private:
  bool fail(std::string message) {
    error_ = {line_, static_cast<std::uint32_t>(at_ - line_start_ + 1), std::move(message)};
    return false;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool begins(std::string_view with) const { return text_.substr(at_).starts_with(with); }
  void advance(std::size_t count) {
    for (; count > 0 && at_ < text_.size(); --count) {
      if (text_[at_++] == '\n') {
        ++line_;
        line_start_ = at_;
      }
    }
  }
  void skip_space() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) advance(1);
  }
  bool skip_to_after(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return fail(fmt::format("{} is missing", end));
    advance(found + end.size() - at_);
    return true;
  }
  // White space, comments and <?xml …?>.
  bool skip_between() {
    while (true) {
      skip_space();
      if (begins("<!--")) {
        advance(4);
        if (!skip_to_after("-->")) return false;
      } else if (begins("<?")) {
        if (!skip_to_after("?>")) return false;
      } else {
        return true;
      }
    }
  }
  bool name(std::string& to) {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    to = text_.substr(start, at_ - start);
    return !to.empty() || fail("a name is missing");
  }
  bool value(std::string& to) {
    const char quote = peek();
    if (quote != '"' && quote != '\'') return fail("a value needs quotes");
    advance(1);
    while (at_ < text_.size() && peek() != quote) {
      if (peek() == '<') return fail("< within a value");
      if (peek() == '&') {
        const auto entity = std::ranges::find_if(kEntities, [&](const Entity& each) { return begins(each.text); });
        if (entity == std::end(kEntities)) return fail("an entity that XML does not have");
        to += entity->character;
        advance(entity->text.size());
        continue;
      }
      to += peek();
      advance(1);
    }
    if (at_ == text_.size()) return fail("a value without an end");
    advance(1);
    return true;
  }
  bool attributes(XmlElement& to) {
    while (true) {
      skip_space();
      if (peek() == '>' || peek() == '/') return true;
      std::pair<std::string, std::string> pair;
      if (!name(pair.first)) return false;
      if (to.attribute(pair.first) != nullptr) return fail(fmt::format("{} is there twice", pair.first));
      skip_space();
      if (peek() != '=') return fail(fmt::format("= is missing after {}", pair.first));
      advance(1);
      skip_space();
      if (!value(pair.second)) return false;
      to.attributes.push_back(std::move(pair));
    }
  }
  bool element(XmlElement& to, std::size_t depth) {
    if (peek() != '<') return fail("an element is missing");
    if (depth == kMaxDepth) return fail("too many elements within each other");
    if (++count_ > kMaxElements) return fail("too many elements");
    to.line = line_;
    advance(1);
    if (!name(to.name) || !attributes(to)) return false;
    if (peek() == '/') {
      advance(1);
      if (peek() != '>') return fail("> is missing");
      advance(1);
      return true;
    }
    advance(1);
    while (true) {
      if (!skip_between()) return false;
      if (begins("</")) {
        advance(2);
        std::string end;
        if (!name(end)) return false;
        if (end != to.name) return fail(fmt::format("</{}> where </{}> was expected", end, to.name));
        skip_space();
        if (peek() != '>') return fail("> is missing");
        advance(1);
        return true;
      }
      if (at_ == text_.size()) return fail(fmt::format("</{}> is missing", to.name));
      to.children.emplace_back();
      if (!element(to.children.back(), depth + 1)) return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0, count_ = 0;
  std::uint32_t line_ = 1;
  XmlError error_;
};

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    const auto entity = std::ranges::find(kEntities, c, &Entity::character);
    if (entity == std::end(kEntities)) {
      result += c;
    } else {
      result += entity->text;
    }
  }
  return result;
}

void write_element(const XmlElement& element, std::size_t indent, std::string& to) {
  to.append(indent, ' ');
  to += fmt::format("<{}", element.name);
  for (const auto& each : element.attributes) to += fmt::format(" {}=\"{}\"", each.first, escaped(each.second));
  if (element.children.empty()) {
    to += "/>\n";
    return;
  }
  to += ">\n";
  for (const XmlElement& child : element.children) write_element(child, indent + 2, to);
  to.append(indent, ' ');
  to += fmt::format("</{}>\n", element.name);
}

}  // namespace

const std::string* XmlElement::attribute(std::string_view key) const {
  for (const auto& each : attributes) {
    if (each.first == key) return &each.second;
  }
  return nullptr;
}

XmlElement& XmlElement::add(std::string child) {
  children.emplace_back();
  children.back().name = std::move(child);
  return children.back();
}

tl::expected<XmlElement, XmlError> parse_xml(std::string_view text) {
  return XmlParser(text).parse();
}

std::string write_xml(const XmlElement& element) {
  std::string text;
  write_element(element, 0, text);
  return text;
}

}  // namespace weft::nccl
