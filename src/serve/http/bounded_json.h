// JSON from outside: requests, files of the served directory, answers of worlds.
#pragma once

#include <string_view>

#include "base/json_depth.h"

namespace weft::serve {

// A discarded value (is_discarded()) if the text is not JSON or nested too deeply.
template <class Json>
Json bounded_json(std::string_view text) {
  if (json_depth(text) > kDeepestJson) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace weft::serve
