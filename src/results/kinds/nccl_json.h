// nccl-tests' own JSON (-J).
#pragma once

#include <string>

#include "spec/nccl_result.h"

namespace weft::lab {

std::string nccl_json(const workload::NcclOptions& options, const workload::NcclResult& result);

}  // namespace weft::lab
