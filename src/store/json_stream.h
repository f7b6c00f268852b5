// Writes one JSON object of many parts without having all of them in memory. Each element of a list and each key stands
// on a line of its own. What is written is JSON already; nothing here escapes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace weft::store {

using TextSink = std::function<void(std::string_view)>;

class JsonStream {
 public:
  explicit JsonStream(const TextSink& sink) : sink_(sink) {}

  void value(std::string_view key, std::string_view json);
  // '{' or '['; the key is empty in a list.
  void open(std::string_view key, char bracket);
  void close(char bracket);
  void item(std::string_view json) { value("", json); }
  // An element that is an object, of which `json` has the first members; the others follow, then close('}').
  void open_with(std::string json);

 private:
  // Begins text_ with what stands before an element.
  std::string& begin(std::string_view key);

  const TextSink& sink_;
  std::string text_;  // the last piece; kept for its memory
  std::size_t depth_ = 0;
  bool first_ = true;
};

}  // namespace weft::store
