// What a directory is that was named as a run and is none: the message says which it is, and which to name.
#pragma once

#include <optional>
#include <string>

#include "study/figures.h"

namespace weft::study {

// Nothing: it has the results.json of a run or of a study.
std::optional<StudyProblem> why_no_run(const std::string& directory);

}  // namespace weft::study
