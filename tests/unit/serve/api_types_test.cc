// The page's types of rows are made from the declarations of the rows.
#include "serve/api/api_types.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"

namespace weft::serve {
namespace {

TEST(ApiTypes, MatchPage) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/web/src/lib/rows.ts";
  if (std::getenv("WEFT_WRITE") != nullptr) {
    ASSERT_TRUE(write_file(path, api_types()));
  } else {
    EXPECT_EQ(read_file(path, 1 << 20).value_or(""), api_types()) << "WEFT_WRITE=1 writes it";
  }
}

}  // namespace
}  // namespace weft::serve
