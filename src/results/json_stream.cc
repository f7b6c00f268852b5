#include "results/json_stream.h"

#include <utility>

namespace weft::lab {

void JsonStream::value(std::string_view key, std::string_view json) {
  std::string text = prefix(key);
  text += json;
  sink_(text);
}

void JsonStream::open(std::string_view key, char bracket) {
  std::string text = prefix(key);
  text += bracket;
  sink_(text);
  first_ = true;
  ++depth_;
}

void JsonStream::close(char bracket) {
  --depth_;
  std::string text;
  if (!first_) text.append(1, '\n').append(2 * depth_, ' ');
  text += bracket;
  sink_(text);
  first_ = false;
}

void JsonStream::open_with(std::string json) {
  json.pop_back();
  sink_(prefix("").append(json));
  first_ = json.size() == 1;
  ++depth_;
}

std::string JsonStream::prefix(std::string_view key) {
  std::string text;
  if (!std::exchange(first_, false)) text += ',';
  if (depth_ > 0) text.append(1, '\n').append(2 * depth_, ' ');
  if (!key.empty()) text.append(1, '"').append(key).append("\": ");
  return text;
}

}  // namespace weft::lab
