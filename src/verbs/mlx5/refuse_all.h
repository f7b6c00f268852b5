// Definitions for calls of libmlx5.so.1 that answer "not supported" whatever they are given. Their arguments are not
// named: none is looked at, and on the ABIs of amd64 and arm64 a callee may leave its arguments alone.
#pragma once

#include <cerrno>

#include "verbs/refuse.h"

#define WEFT_MLX5 extern "C" __attribute__((visibility("default")))

#define REFUSE_OBJECT(name)       \
  WEFT_MLX5 void* name() {        \
    return weft::verbs::refuse(); \
  }
#define REFUSE_CALL(name) \
  WEFT_MLX5 int name() {  \
    return EOPNOTSUPP;    \
  }
#define NOTHING_TO_END(name) \
  WEFT_MLX5 void name() {}
