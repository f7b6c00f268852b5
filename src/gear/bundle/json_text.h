// Where each key of a JSON text stands, down to the third level: to say where a value was read.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gear/bundle/text.h"

namespace weft::gear {

class JsonText {
 public:
  // The text has been parsed: it is JSON. `before` lines of the file come before it.
  JsonText(std::string_view text, std::string file, std::string section, int before);

  // The line of the last of these keys that is there.
  Evidence at(std::initializer_list<std::string_view> keys) const;

 private:
  struct Place {
    int line;
    std::size_t begin;
  };
  std::string_view text_;
  std::string file_, section_;
  int first_line_ = 1;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace weft::gear
