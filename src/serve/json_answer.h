// JSON as an answer. Names come from lab files and may be anything: what is no UTF-8 is replaced.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "serve/request.h"

namespace weft::serve {

inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline Response json_answer(const nlohmann::ordered_json& json) {
  return {200, "application/json", json_text(json), {}, {}};
}

}  // namespace weft::serve
