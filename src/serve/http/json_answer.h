// JSON as an answer. Names come from lab files and may contain anything: invalid UTF-8 is replaced. `Json` is
// nlohmann's, which only .cc files include.
#pragma once

#include <string>

#include "serve/http/request.h"
#include "store/json_text.h"

namespace weft::serve {

template <class Json>
std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Json>
Response json_answer(const Json& json) {
  return {200, "application/json", json_text(json), {}, {}};
}

// An answer that was written member by member.
inline Response json_answer(const store::JsonText& json) {
  return {200, "application/json", std::string(json.text()), {}, {}};
}

}  // namespace weft::serve
