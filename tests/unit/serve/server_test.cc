#include "serve/http/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "serve/http/event_hub.h"
#include "serve/http/event_routes.h"
#include "unit/serve/raw_client.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
// The library is not compiled for it: how it makes its function-local constants once is not seen.
extern "C" const char* __tsan_default_suppressions() {
  return "race:httplib::detail::";
}
#endif
#endif

namespace weft::serve {
namespace {

using namespace std::chrono_literals;

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = (std::filesystem::temp_directory_path() / ("weft-server-" + std::to_string(getpid()))).string();
    std::ofstream(file_) << "0123456789";
    router_.add("GET", "/api/echo", [](const Request& request) {
      return Response{200, "text/plain", "echo " + request.text("q"), {}, {}};
    });
    router_.add("POST", "/api/count", [this](const Request& request) {
      ++posts_;
      return Response{200, "application/json", std::to_string(request.body.size()), {}, {}};
    });
    router_.add("GET", "/api/file", [this](const Request&) {
      Response response{200, "application/octet-stream", "", {}, {}};
      response.file = file_;
      return response;
    });
    router_.add("GET", "/api/broken", [](const Request&) -> Response { throw std::runtime_error("no"); });
    add_event_routes(router_, hub_);
  }
  void TearDown() override {
    hub_.stop();
    std::filesystem::remove(file_);
  }
  // The answer to one request on a connection of its own.
  static std::string asked(const TestServer& server, const std::string& line, const std::string& more = "",
                           const std::string& body = "") {
    RawClient client(server.port());
    client.ask(line, more, body);
    return client.read_answer();
  }
  static bool has_status(const std::string& answer, int status) {
    return answer.starts_with("HTTP/1.1 " + std::to_string(status));
  }

  std::string file_;
  EventHub hub_;
  Router router_;
  std::atomic<int> posts_{0};
};

TEST_F(ServerTest, AnswersAndKeepsConnection) {
  const TestServer server(router_);
  RawClient client(server.port());
  for (int i = 0; i < 20; ++i) {
    client.ask("GET /api/echo?q=" + std::to_string(i));
    EXPECT_TRUE(client.read_answer().ends_with("\r\n\r\necho " + std::to_string(i)));
  }
}

TEST_F(ServerTest, ErrorsOfLibraryAreJson) {
  const TestServer server(router_);
  const struct {
    const char* line;
    int status;
  } cases[] = {{"GET /api/none", 404},   {"PATCH /api/echo", 405},    {"OPTIONS /api/echo", 405},
               {"TRACE /api/echo", 400}, {"FROB /api/echo", 400},     {"CONNECT x:1", 400},
               {"nonsense", 400},        {"DELETE /api/echo", 405},   {"GET /api/broken", 500},
               {"GET  ", 400},           {"GET /api/%ff%00%zz", 404}, {"GET /api/../../etc/passwd", 404}};
  for (const auto& each : cases) {
    const std::string answer = asked(server, each.line, "Content-Length: 0\r\n");
    EXPECT_TRUE(has_status(answer, each.status) || has_status(answer, each.status == 400 ? 404 : each.status))
        << each.line << "\n"
        << answer;
    EXPECT_NE(answer.find("{\"errors\":["), std::string::npos) << each.line << "\n" << answer;
    EXPECT_NE(answer.find("nosniff"), std::string::npos) << each.line;
  }
}

TEST_F(ServerTest, HeadHasNoBody) {
  const TestServer server(router_);
  RawClient client(server.port());
  client.ask("HEAD /api/echo?q=x");
  client.ask("GET /api/echo?q=y", "Connection: close\r\n");
  const std::string both = client.read_to_end();
  EXPECT_EQ(both.find("echo x"), std::string::npos);
  EXPECT_NE(both.find("echo y"), std::string::npos);
}

TEST_F(ServerTest, RefusesBodiesWithoutBounds) {
  const TestServer server(router_);
  const std::string json = "Content-Type: application/json\r\n";
  EXPECT_TRUE(has_status(asked(server, "POST /api/count", json + "Content-Length: 2\r\n", "{}"), 200));
  EXPECT_TRUE(has_status(
      asked(server, "POST /api/count", json + "Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"), 411));
  EXPECT_TRUE(has_status(
      asked(server, "POST /api/count", json + "Content-Encoding: gzip\r\nContent-Length: 2\r\n", "{}"), 411));
  EXPECT_TRUE(has_status(
      asked(server, "POST /api/count", json + "Content-Length: 2000000\r\n", std::string(2'000'000, ' ')), 413));
  EXPECT_EQ(posts_, 1);
}

// What another site's page puts into a body must not be taken for a request of our own page.
TEST_F(ServerTest, NeverTakesBodyForRequest) {
  const TestServer server(router_);
  const std::string inner = "POST /api/count HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
                            "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
  const std::string length = "Content-Length: " + std::to_string(inner.size()) + "\r\n";
  const std::string other = "Origin: http://evil.example\r\n";
  for (const std::string& more :
       {other + length, other + "Transfer-Encoding: chunked\r\n", other + length + "Content-Encoding: gzip\r\n",
        length + length + other, other + "Content-Length: 99999999999999999999\r\n"}) {
    for (const char* line : {"POST /api/count", "GET /api/echo", "FROB /x", "OPTIONS /api/echo", "DELETE /api/echo"}) {
      RawClient client(server.port());
      client.ask(line, more, inner);
      client.ask("GET /api/echo?q=last", "Connection: close\r\n");
      client.read_to_end();
      EXPECT_EQ(posts_, 0) << line << "\n" << more;
    }
  }
}

TEST_F(ServerTest, SurvivesHostileRequests) {
  const TestServer server(router_);
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  const std::string requests[] = {"GET /api/echo HTTP/1.1\r\n\r\n",  // no Host
                                  "GET /api/echo HTTP/1.0\r\n\r\n",
                                  "GET " + std::string(100'000, 'a') + " HTTP/1.1\r\n" + host + "\r\n",
                                  "GET /api/echo HTTP/1.1\r\n" + host + "X: " + std::string(200'000, 'x') + "\r\n\r\n",
                                  "GET /api/echo?q=\xff\xfe\xc0\x80 HTTP/1.1\r\n" + host + "\r\n",
                                  "GET /api/echo?q=%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\n" + host + "\r\n",
                                  "GET /api/echo\r\nX: y HTTP/1.1\r\n" + host + "\r\n",
                                  std::string("GET /\0 HTTP/1.1\r\n", 17) + host + "\r\n",
                                  "\r\n\r\n\r\n",
                                  std::string(5000, '\0'),
                                  "GET /api/echo HTTP/1.1\r\n" + host + "Range: bytes=9999999999999999999999-1\r\n\r\n",
                                  "GET /api/echo HTTP/1.1\r\n" + host + "Range: bytes=5000-6000\r\n\r\n",
                                  "GET /api/echo HTTP/1.1\r\n" + host + "no colon\r\n\r\n"};
  for (const std::string& request : requests) {
    RawClient client(server.port());
    client.send(request);
    client.send("GET /api/echo HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n");
    const std::string answer = client.read_to_end();
    EXPECT_EQ(answer.find("\r\nSet-Cookie"), std::string::npos) << request.substr(0, 60);
    EXPECT_LT(answer.size(), 4096U);
  }
  EXPECT_TRUE(has_status(asked(server, "GET /" + std::string(8000, 'a')), 414));
  // A header that has no end.
  RawClient endless(server.port());
  endless.send("GET /api/echo HTTP/1.1\r\n");
  for (int i = 0; i < 4000; ++i) endless.send("X-" + std::to_string(i) + ": " + std::string(4000, 'x') + "\r\n");
  endless.read_to_end();
  EXPECT_TRUE(has_status(asked(server, "GET /api/echo"), 200));
}

TEST_F(ServerTest, SendsPartsOfFiles) {
  const TestServer server(router_);
  const auto part = [&](const std::string& range) {
    return asked(server, "GET /api/file", "Range: bytes=" + range + "\r\n");
  };
  EXPECT_TRUE(asked(server, "GET /api/file").ends_with("\r\n\r\n0123456789"));
  EXPECT_TRUE(has_status(part("2-4"), 206));
  EXPECT_TRUE(part("2-4").ends_with("\r\n\r\n234"));
  EXPECT_TRUE(part("7-").ends_with("\r\n\r\n789"));
  EXPECT_TRUE(part("-2").ends_with("\r\n\r\n89"));
  EXPECT_TRUE(part("-200").ends_with("\r\n\r\n0123456789"));
  EXPECT_TRUE(part("5-500").ends_with("\r\n\r\n56789"));
  EXPECT_TRUE(part("0-1,4-5").ends_with("\r\n\r\n0123456789"));
  for (const char* range : {"10-", "100-200", "-0", "5-4"}) {
    const std::string answer = part(range);
    EXPECT_TRUE(has_status(answer, 416)) << range << "\n" << answer;
  }
}

TEST_F(ServerTest, HundredClientsListenAndAsk) {
  TestServer server(router_);
  std::atomic<int> events{0}, answers{0}, wrong{0};
  std::atomic<bool> ends{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < 100; ++i) {
    clients.emplace_back([&] {
      RawClient listener(server.port()), asker(server.port());
      listener.ask("GET /api/events");
      while (!ends) {
        asker.ask("GET /api/echo?q=a");
        if (asker.read_answer().ends_with("echo a")) {
          ++answers;
        } else {
          ++wrong;
        }
        std::this_thread::sleep_for(20ms);
      }
      if (listener.read_until("data: last\n").find("data: last\n") != std::string::npos) ++events;
    });
  }
  // Some that read nothing, and a publisher that must not wait for them.
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<RawClient>(server.port()));
    silent.back()->ask("GET /api/events");
  }
  const std::string large(20'000, 'x');
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    hub_.publish("task", "1", large);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  for (int i = 0; i < 1000 && hub_.listeners() < 120; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(hub_.listeners(), 120U);
  hub_.publish("task", "1", "last");
  ends = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(events, 100);
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(answers, 100);
  hub_.stop();
  const auto stop = std::chrono::steady_clock::now();
  server.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - stop, 5s);
}

TEST_F(ServerTest, StopsBeforeItRuns) {
  ServerOptions options;
  options.port = 0;
  auto server = Server::open(options, router_);
  ASSERT_TRUE(server);
  (*server)->stop();
  (*server)->run();
  EXPECT_FALSE(Server::open({"192.0.2.1", 0, ""}, router_));
}

}  // namespace
}  // namespace weft::serve
