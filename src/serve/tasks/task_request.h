// A checked request of POST /api/tasks: types and sizes are checked here, the lab by its reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "serve/http/request.h"

namespace weft::serve {

struct TaskRequest {
  std::string kind = "run";
  std::string text;                    // of the lab
  std::string name;                    // of the run
  std::vector<std::string> set, vary;  // "path=value", "path=a,b,c"
  std::optional<std::uint64_t> seed;
  std::string capture = "none";
  std::uint64_t snaplen_B = 128, capture_size_B = 200'000'000;
  bool untrusted = true;  // it may not start programs or name files
  bool samples = true;    // the lab has series, or cannot have `sample=auto`
};

// The error is the answer.
tl::expected<TaskRequest, Response> read_task_request(const std::string& body, bool allow_programs);

// The arguments of `weft` for it.
std::vector<std::string> task_words(const TaskRequest& request, const std::string& program, const std::string& lab_file,
                                    const std::string& directory);

}  // namespace weft::serve
