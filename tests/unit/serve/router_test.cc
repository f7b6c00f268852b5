#include "serve/http/router.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace weft::serve {
namespace {

Request get_request(std::string path) {
  Request request;
  request.method = "GET";
  request.path = std::move(path);
  return request;
}

Router example_router() {
  Router router;
  const auto echo = [](std::string name) {
    return [name](const Request& request) {
      std::string body = name;
      for (const std::string& part : request.match) body += "|" + part;
      return Response{200, "text/plain", body, {}, {}};
    };
  };
  router.add("GET", "/api/runs", echo("list"));
  router.add("GET", "/api/runs/*/flows", echo("flows"));
  router.add("GET", "/api/labs/**", echo("lab"));
  router.add("POST", "/api/tasks", echo("task"));
  return router;
}

TEST(Router, PassesPartsOfPath) {
  const Router router = example_router();
  EXPECT_EQ(router.answer(get_request("/api/runs")).body, "list");
  EXPECT_EQ(router.answer(get_request("/api/runs/incast/flows")).body, "flows|incast");
  EXPECT_EQ(router.answer(get_request("/api/labs/fabric/incast-ecn.yaml")).body, "lab|fabric/incast-ecn.yaml");
}

TEST(Router, AnswersUnknownPathsAndMethods) {
  const Router router = example_router();
  EXPECT_EQ(router.answer(get_request("/api/runs/incast")).status, 404);
  EXPECT_EQ(router.answer(get_request("/api/runs/incast/flows/1")).status, 404);
  const Response wrong = router.answer(get_request("/api/tasks"));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.header.at("Allow"), "POST");
}

// A check that fails in a handler is an answer: the server and those whom it serves go on.
TEST(Router, AnswersFailedChecks) {
  Router router;
  router.add("GET", "/api/broken", [](const Request&) -> Response {
    WEFT_CHECK(false, "two and two are five");
    return {};
  });
  const Response response = router.answer(get_request("/api/broken"));
  EXPECT_EQ(response.status, 500);
  EXPECT_NE(response.body.find("two and two are five"), std::string::npos) << response.body;
  EXPECT_EQ(router.counts()->by_class[5].load(), 1U);
}

TEST(Router, CountsAnswersByStatus) {
  const Router router = example_router();
  const Router copy = router;
  router.answer(get_request("/api/runs"));
  copy.answer(get_request("/api/runs"));
  copy.answer(get_request("/nothing"));
  EXPECT_EQ(router.counts()->by_class[2].load(), 2U);
  EXPECT_EQ(router.counts()->by_class[4].load(), 1U);
  EXPECT_EQ(router.counts()->by_class[5].load(), 0U);
}

}  // namespace
}  // namespace weft::serve
