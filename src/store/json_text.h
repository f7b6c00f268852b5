// One JSON object as text, member by member, without a tree: results.json of a large fabric is made of ten thousand of
// them. Written as nlohmann's dump() writes it, without spaces.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace weft::store {

// To so many decimal places, so that files compare byte by byte on every machine.
double rounded(double value, int places);

class JsonText {
 public:
  JsonText() { text_.reserve(512); }

  void open(char bracket) { begin(bracket); }
  void open(std::string_view key, char bracket) {
    name(key);
    begin(bracket);
  }
  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  template <class Value>
  void add(std::string_view key, const Value& value) {
    name(key);
    put(value);
  }
  // A value that is JSON already.
  void add_json(std::string_view key, std::string_view json) {
    name(key);
    text_ += json;
  }
  template <class Value>
  void item(const Value& value) {
    separate();
    put(value);
  }
  void open_item(char bracket) {
    separate();
    begin(bracket);
  }

  std::string_view text() const { return text_; }
  void clear() {
    text_.clear();
    first_ = true;
  }

 private:
  void begin(char bracket) {
    text_ += bracket;
    first_ = true;
  }
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  void name(std::string_view key);  // keys are our own words: nothing to escape
  void put(std::string_view value);
  void put(const std::string& value) { put(std::string_view(value)); }
  void put(const char* value) { put(std::string_view(value)); }
  void put(double value);
  void put(bool value) { text_ += value ? "true" : "false"; }
  void put(std::nullptr_t) { text_ += "null"; }
  void put(std::unsigned_integral auto value) { put_unsigned(value); }
  void put(std::signed_integral auto value) { put_signed(value); }
  void put_unsigned(unsigned long long value);
  void put_signed(long long value);

  std::string text_;
  bool first_ = true;
};

}  // namespace weft::store
