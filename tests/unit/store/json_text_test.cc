#include "store/json_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

namespace weft::store {
namespace {

// The same bytes as a tree would give.
TEST(JsonText, MatchesDump) {
  nlohmann::ordered_json tree;
  tree["text"] = "h0:p0";
  tree["quoted"] = "a \"b\" \\ c\n\t\x01 µ \x7f";
  tree["most"] = std::numeric_limits<std::uint64_t>::max();
  tree["least"] = std::numeric_limits<std::int64_t>::min();
  tree["byte"] = std::uint8_t{200};
  tree["real"] = 12.345678;
  tree["whole"] = 3.0;
  tree["none"] = nullptr;
  tree["flag"] = true;
  tree["empty"] = nlohmann::ordered_json::object();
  tree["list"] = {0, 7};
  tree["objects"].push_back({{"a", 1}, {"b", 2}});
  tree["objects"].push_back({{"a", 3}});
  tree["last"] = 0;

  JsonText text;
  text.open('{');
  text.add("text", std::string("h0:p0"));
  text.add("quoted", "a \"b\" \\ c\n\t\x01 µ \x7f");
  text.add("most", std::numeric_limits<std::uint64_t>::max());
  text.add("least", std::numeric_limits<std::int64_t>::min());
  text.add("byte", std::uint8_t{200});
  text.add("real", 12.345678);
  text.add("whole", 3.0);
  text.add("none", nullptr);
  text.add("flag", true);
  text.open("empty", '{');
  text.close('}');
  text.open("list", '[');
  text.item(0);
  text.item(7);
  text.close(']');
  text.open("objects", '[');
  text.open_item('{');
  text.add("a", 1);
  text.add("b", 2);
  text.close('}');
  text.open_item('{');
  text.add("a", 3);
  text.close('}');
  text.close(']');
  text.add("last", 0);
  text.close('}');
  EXPECT_EQ(text.text(), tree.dump());
}

}  // namespace
}  // namespace weft::store
