#include "store/json_stream.h"

#include <utility>

namespace weft::store {

void JsonStream::value(std::string_view key, std::string_view json) {
  sink_(begin(key).append(json));
}

void JsonStream::open(std::string_view key, char bracket) {
  sink_(begin(key).append(1, bracket));
  first_ = true;
  ++depth_;
}

void JsonStream::close(char bracket) {
  --depth_;
  text_.clear();
  if (!first_) text_.append(1, '\n').append(2 * depth_, ' ');
  sink_(text_.append(1, bracket));
  first_ = false;
}

void JsonStream::open_with(std::string json) {
  json.pop_back();
  sink_(begin("").append(json));
  first_ = json.size() == 1;
  ++depth_;
}

std::string& JsonStream::begin(std::string_view key) {
  text_.clear();
  if (!std::exchange(first_, false)) text_ += ',';
  if (depth_ > 0) text_.append(1, '\n').append(2 * depth_, ' ');
  if (!key.empty()) text_.append(1, '"').append(key).append("\": ");
  return text_;
}

}  // namespace weft::store
