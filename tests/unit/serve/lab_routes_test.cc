// The API about labs: whatever is sent, it answers.
#include "serve/lab_routes.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "serve/http/router.h"

namespace weft::serve {
namespace {

using Json = nlohmann::json;

constexpr const char* kNoRate = R"(version: 1
name: norate
fabric: {template: single-switch, hosts: 3, switch: n9600-64od, host: {nic: cx5-25g}}
workloads:
  - {name: w, flows: distribution, hosts: all, shape: websearch, load: 20 %, duration: 300 us}
)";
constexpr const char* kNoPorts = R"(version: 1
name: no-ports
nodes:
  a: {kind: host, nics: [{model: cx5-100g, ports: {}}]}
  b: {kind: host, nics: [{model: cx5-100g, ports: {}}]}
workloads:
  - {name: w, flows: permutation, hosts: all, size: 1 kB}
)";
constexpr const char* kOneOfEach = R"(version: 1
name: one
nodes:
  a: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24}}}]}
  b: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24}}}]}
links:
  - {endpoints: ["a:p0", "b:p0"]}
workloads:
  - {name: w, flows: permutation, hosts: all, size: 1 kB}
)";

Response post(const std::string& path, const Json& body) {
  Router router;
  add_lab_routes(router, false);
  Request request;
  request.method = "POST";
  request.path = path;
  request.body = body.dump();
  return router.answer(std::move(request));
}

TEST(LabRoutes, ReportsLabsThatCannotBe) {
  for (const char* text : {kNoRate, kNoPorts}) {
    const Response response = post("/api/lab/check", {{"text", text}});
    EXPECT_EQ(response.status, 200) << response.body;
    const Json answer = Json::parse(response.body);
    EXPECT_FALSE(answer["ok"]);
    ASSERT_FALSE(answer["errors"].empty());
    for (const Json& error : answer["errors"]) {
      EXPECT_GT(error["line"], 0) << error;
      EXPECT_TRUE(error.contains("remedy")) << error;
    }
  }
}

TEST(LabRoutes, RefusesToTakeItemsAway) {
  for (const char* path : {"links[0]", "workloads[0]", "workloads[w]", "nodes.a.nics[0]"}) {
    const Response response =
        post("/api/lab/edit", {{"text", kOneOfEach}, {"changes", Json::array({{{"path", path}, {"value", ""}}})}});
    EXPECT_EQ(response.status, 422) << path << ": " << response.body;
  }
}

}  // namespace
}  // namespace weft::serve
