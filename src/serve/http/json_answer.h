// JSON as an answer. Names come from lab files and may contain anything: invalid UTF-8 is replaced. `Json` is
// nlohmann's, which only .cc files include.
#pragma once

#include <string>

#include "serve/http/request.h"

namespace weft::serve {

template <class Json>
std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Json>
Response json_answer(const Json& json) {
  return {200, "application/json", json_text(json), {}, {}};
}

}  // namespace weft::serve
