#include "support/source_shape.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace weft::support {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Copies newlines of what is left out.
class Stripper {
 public:
  explicit Stripper(std::string_view text) : text_(text) {}

  std::string strip() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  bool sees(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  void skip(std::size_t end) {
    for (; at_ < std::min(end, text_.size()); ++at_) {
      if (text_[at_] == '\n') out_ += '\n';
    }
  }
  std::size_t after(std::string_view mark, std::size_t from) const {
    const std::size_t found = text_.find(mark, from);
    return found == text_.npos ? text_.size() : found + mark.size();
  }
  void step() {
    if (sees("//")) return skip(text_.find('\n', at_));
    if (sees("/*")) return skip(after("*/", at_ + 2));
    if (sees("#") && out_.find_last_not_of(' ') != out_.npos && out_[out_.find_last_not_of(' ')] == '\n') {
      std::size_t end = text_.find('\n', at_);
      while (end != text_.npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
      return skip(end);
    }
    if (sees("R\"") && (at_ == 0 || !is_word(text_[at_ - 1]))) {
      const std::size_t open = text_.find('(', at_);
      const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
      out_ += "\"\"";
      return skip(after(close, open));
    }
    const char c = text_[at_];
    const bool is_separator = c == '\'' && at_ > 0 && is_word(text_[at_ - 1]);  // of digits
    if (c == '"' || (c == '\'' && !is_separator)) {
      std::size_t end = at_ + 1;
      while (end < text_.size() && text_[end] != c) end += text_[end] == '\\' ? 2 : 1;
      out_ += "\"\"";
      return skip(end + 1);
    }
    out_ += c;
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

// A declaration without its template parameters and attributes.
std::string plain(std::string head) {
  static const std::regex attribute(R"(\[\[[^\]]*\]\])");
  head = std::regex_replace(head, attribute, "");
  static const std::regex parameters(R"(\btemplate\s*<)");
  for (std::smatch match; std::regex_search(head, match, parameters);) {
    const auto at = static_cast<std::size_t>(match.position());
    std::size_t end = at + static_cast<std::size_t>(match.length()) - 1;
    for (int depth = 0; end < head.size(); ++end) {
      depth += head[end] == '<' ? 1 : head[end] == '>' ? -1 : 0;
      if (depth == 0) break;
    }
    head.erase(at, std::min(end + 1, head.size()) - at);
  }
  return head;
}

// The first character `c` that is in no parentheses.
std::size_t find_outside(const std::string& head, char c) {
  int depth = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (depth == 0 && head[i] == c) return i;
    depth += head[i] == '(' ? 1 : head[i] == ')' ? -1 : 0;
  }
  return head.npos;
}

// What stands before the parameters of a function; empty for what is none.
std::string function_name(const std::string& head) {
  const std::size_t op = head.find("operator");
  const std::size_t open =
      op == head.npos ? find_outside(head, '(') : head.find('(', head.find("operator()") == op ? op + 10 : op);
  if (open == head.npos || (op == head.npos && find_outside(head, '=') < open)) return "";
  std::size_t end = open;
  while (end > 0 && head[end - 1] == ' ') --end;
  std::size_t begin = op == head.npos ? end : op;
  int depth = 0;  // of the parameters of a template
  for (; begin > 0; --begin) {
    const char c = head[begin - 1];
    if (depth == 0 && !is_word(c) && c != ':' && c != '~' && c != '>') break;
    depth += c == '>' ? 1 : c == '<' ? -1 : 0;
  }
  return std::regex_replace(head.substr(begin, end - begin), std::regex("<.*>"), "");
}

class Scanner {
 public:
  explicit Scanner(std::string code) : code_(std::move(code)) {}

  SourceShape scan() {
    while (at_ < code_.size()) step();
    return std::move(shape_);
  }

 private:
  enum class Kind { kNamespace, kClass, kOther };
  struct Scope {
    Kind kind = Kind::kNamespace;
    bool is_public = true;
    bool counts_data = false;
    std::size_t index = 0;  // in shape_.classes
  };

  void begin_declaration() {
    head_.clear();
    head_line_ = 0;
  }
  // The place after the brace that closes the one at `at`.
  std::size_t after_block(std::size_t at) const {
    int depth = 0;
    for (; at < code_.size(); ++at) {
      depth += code_[at] == '{' ? 1 : code_[at] == '}' ? -1 : 0;
      if (depth == 0) return at + 1;
    }
    return at;
  }
  void skip_to(std::size_t end) {
    line_ += static_cast<std::size_t>(std::count(code_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 code_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
  }
  std::string qualified(const std::string& name) const {
    return scopes_.back().kind == Kind::kClass ? shape_.classes[scopes_.back().index].name + "::" + name : name;
  }
  void count_member(bool is_function) {
    if (scopes_.back().kind != Kind::kClass || !scopes_.back().is_public) return;
    if (is_function || scopes_.back().counts_data) ++shape_.classes[scopes_.back().index].public_members;
  }

  void open_brace() {
    static const std::regex type(
        R"(^\s*(?:typedef\s+|static\s+|const\s+)*(class|struct|union)\b(?:\s+alignas\([^)]*\))?\s*([\w:]*))");
    const std::string head = plain(head_);
    std::smatch match;
    if (std::count(head.begin(), head.end(), '(') > std::count(head.begin(), head.end(), ')')) {
      skip_to(after_block(at_));  // the default of a parameter
      head_ += "{}";
      return;
    }
    if (std::regex_search(head, std::regex(R"(\bnamespace\b)")) || head.find("extern \"\"") != head.npos) {
      scopes_.push_back({});
    } else if (head.find("enum") == head.npos && std::regex_search(head, match, type) &&
               find_outside(match.suffix().str(), '(') == head.npos) {
      const bool is_class = match[1] == "class";
      const std::string name = match[2].length() > 0 ? match[2].str() : "(unnamed)";
      shape_.classes.push_back({qualified(name), head_line_, 0});
      scopes_.push_back({Kind::kClass, !is_class, is_class, shape_.classes.size() - 1});
    } else if (const std::string name = function_name(head); !name.empty()) {
      std::size_t last = head_.find_last_not_of(" \n");
      // Of a constructor: `member_{value}`.
      if (find_outside(head, ':') != head.npos && last != head_.npos && is_word(head_[last]) &&
          std::regex_search(head, std::regex(R"(\)\s*(noexcept\s*)?:[^:])"))) {
        const std::size_t end = after_block(at_);
        head_ += "()";
        skip_to(end);
        return;
      }
      const std::size_t end = after_block(at_);
      const std::size_t first = head_line_;
      skip_to(end);
      shape_.functions.push_back({qualified(name), first, line_ - first + 1});
      count_member(true);
      begin_declaration();
      return;
    } else {
      skip_to(after_block(at_));  // an initialiser, an enum
      head_ += "{}";
      return;
    }
    begin_declaration();
    ++at_;
  }

  void end_declaration() {
    const std::string head = plain(head_);
    static const std::regex no_member(R"(^\s*(using|friend|static_assert|typedef|enum|class|struct|union)\b)");
    if (head.find_first_not_of(" \n") != head.npos && !std::regex_search(head, no_member))
      count_member(!function_name(head).empty() && head.find("= {") == head.npos);
    begin_declaration();
  }

  void step() {
    const char c = code_[at_];
    if (c == '{') return open_brace();
    if (c == '}') {
      if (scopes_.size() > 1) scopes_.pop_back();
      begin_declaration();
    } else if (c == ';') {
      end_declaration();
    } else if (c == ':' && is_access()) {
      begin_declaration();
    } else {
      if (c == '\n') ++line_;
      if (head_line_ == 0 && c != ' ' && c != '\n') head_line_ = line_;
      head_ += c == '\n' ? ' ' : c;
    }
    ++at_;
  }
  // "public" and the like, before a colon.
  bool is_access() {
    Scope& scope = scopes_.back();
    if (scope.kind != Kind::kClass) return false;
    const std::size_t first = head_.find_first_not_of(' ');
    const std::string word = first == head_.npos ? "" : head_.substr(first);
    if (word != "public" && word != "private" && word != "protected") return false;
    scope.is_public = word == "public";
    return true;
  }

  std::string code_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;
  std::string head_;
  std::size_t head_line_ = 0;
  std::vector<Scope> scopes_{Scope{}};
  SourceShape shape_;
};

}  // namespace

std::string bare_code(std::string_view text) {
  return Stripper(text).strip();
}

SourceShape shape_of(std::string_view text) {
  return Scanner("\n" + bare_code(text)).scan();
}

}  // namespace weft::support
