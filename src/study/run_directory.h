// Explains why a directory is not a run: the message says what it is, and which directory to name.
#pragma once

#include <optional>
#include <string>

#include "study/figures.h"

namespace weft::study {

// Nothing: the directory has the results.json of a run or of a study.
std::optional<StudyProblem> why_no_run(const std::string& directory);

}  // namespace weft::study
