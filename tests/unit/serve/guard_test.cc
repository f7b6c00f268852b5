#include "serve/http/guard.h"

#include <gtest/gtest.h>

namespace weft::serve {
namespace {

Request guarded_request(std::string path, std::map<std::string, std::string> header, std::string method = "GET") {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.header = std::move(header);
  if (!request.header.contains("host")) request.header["host"] = "127.0.0.1:8420";
  return request;
}

int refused_with(const Guard& guard, const Request& request) {
  const auto refused = guard.refuse(request);
  return refused ? refused->status : 0;
}

TEST(Guard, WantsServersOwnName) {
  const Guard guard("127.0.0.1", 8420, "");
  for (const char* host : {"127.0.0.1:8420", "localhost:8420", "[::1]:8420"})
    EXPECT_EQ(refused_with(guard, guarded_request("/api/runs", {{"host", host}})), 0) << host;
  for (const char* host : {"", "evil.example:8420", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8420\r\nX: y"})
    EXPECT_EQ(refused_with(guard, guarded_request("/", {{"host", host}})), 403) << host;
  Request without = guarded_request("/", {});
  without.header.erase("host");
  EXPECT_EQ(refused_with(guard, without), 403);
}

TEST(Guard, PortOfSchemeMayBeLeftOut) {
  const Guard guard("127.0.0.1", 80, "");
  for (const char* host : {"127.0.0.1", "localhost", "[::1]", "127.0.0.1:80"})
    EXPECT_EQ(refused_with(guard, guarded_request("/api/runs", {{"host", host}})), 0) << host;
  for (const char* host : {"evil.example", "127.0.0.1:8420", "127.0.0.1:"})
    EXPECT_EQ(refused_with(guard, guarded_request("/api/runs", {{"host", host}})), 403) << host;
}

TEST(Guard, RefusesOtherSites) {
  const Guard guard("127.0.0.1", 8420, "");
  EXPECT_EQ(refused_with(guard, guarded_request("/api/runs", {{"origin", "http://127.0.0.1:8420"}})), 0);
  for (const char* origin : {"http://evil.example", "https://127.0.0.1:8420", "null", "http://127.0.0.1:8421", ""})
    EXPECT_EQ(refused_with(guard, guarded_request("/api/runs", {{"origin", origin}})), 403) << origin;
  EXPECT_EQ(refused_with(guard, guarded_request("/api/runs", {{"sec-fetch-site", "same-origin"}})), 0);
  EXPECT_EQ(refused_with(guard, guarded_request("/", {{"sec-fetch-site", "none"}})), 0);
  EXPECT_EQ(refused_with(guard, guarded_request("/app.js", {{"sec-fetch-site", "cross-site"}})), 403);
  // Another port of this machine is the same site.
  EXPECT_EQ(refused_with(guard, guarded_request("/api/runs", {{"sec-fetch-site", "same-site"}})), 403);
}

TEST(Guard, LetsOthersLinkToViews) {
  const Guard guard("127.0.0.1", 8420, "");
  const std::map<std::string, std::string> link{
      {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "document"}};
  EXPECT_EQ(refused_with(guard, guarded_request("/run/incast/time", link)), 0);
  EXPECT_EQ(refused_with(guard, guarded_request("/api/runs", link)), 403);
  auto frame = link;
  frame["sec-fetch-dest"] = "iframe";
  EXPECT_EQ(refused_with(guard, guarded_request("/run/incast/time", frame)), 403);
}

TEST(Guard, WantsJsonInBodies) {
  const Guard guard("127.0.0.1", 8420, "");
  const auto post = [&](const char* type) {
    return refused_with(guard, guarded_request("/api/tasks", {{"content-type", type}}, "POST"));
  };
  EXPECT_EQ(post("application/json"), 0);
  EXPECT_EQ(post("application/json; charset=utf-8"), 0);
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"})
    EXPECT_EQ(post(type), 415) << type;
  EXPECT_EQ(refused_with(guard, guarded_request("/api/tasks", {}, "POST")), 415);
}

TEST(Guard, AsksForToken) {
  const std::string token = "00112233445566778899aabbccddeeff";
  const Guard guard("0.0.0.0", 8420, token);
  const auto with = [&](std::string header, std::string value) {
    return refused_with(guard,
                        guarded_request("/api/runs", {{"host", "lab7:8420"}, {std::move(header), std::move(value)}}));
  };
  EXPECT_EQ(with("x", "y"), 401);
  EXPECT_EQ(with("authorization", "Bearer " + token), 0);
  EXPECT_EQ(with("authorization", "Bearer " + token + "0"), 401);
  EXPECT_EQ(with("authorization", "Basic " + token), 401);
  EXPECT_EQ(with("cookie", "a=b; weft-8420=" + token), 0);
  EXPECT_EQ(with("cookie", "weft-8420="), 401);
  EXPECT_EQ(with("cookie", "weft-8421=" + token), 401);
}

TEST(Guard, TokenInAddressBecomesCookie) {
  const std::string token = "00112233445566778899aabbccddeeff";
  const Guard guard("0.0.0.0", 8420, token);
  Request request = guarded_request("//evil.example/run", {});
  request.query = {{"token", token}, {"t", "1,2\r\nX: y"}};
  const auto answer = guard.refuse(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 303);
  EXPECT_EQ(answer->header.at("Location"), "/evil.example/run?t=1,2%0D%0AX:%20y");
  EXPECT_EQ(answer->header.at("Set-Cookie"), "weft-8420=" + token + "; Path=/; HttpOnly; SameSite=Strict");
  request.query["token"] = "0";
  EXPECT_EQ(refused_with(guard, request), 401);
  request.path = "/api/runs";
  request.query["token"] = token;
  EXPECT_EQ(refused_with(guard, request), 401);
}

}  // namespace
}  // namespace weft::serve
