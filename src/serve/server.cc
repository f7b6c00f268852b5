#include "serve/server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <utility>

#include "serve/guard.h"

namespace weft::serve {

namespace {

constexpr std::size_t kMostBody_B = 1 << 20;
constexpr std::size_t kThreads = 160;  // connected clients at once: 100 with an event stream, and others
constexpr int kWriteTimeout_s = 10;    // a client that takes nothing for so long is dropped

Request request_of(const httplib::Request& from) {
  Request request;
  request.method = from.method == "HEAD" ? "GET" : from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.params) request.query.emplace(name, value);
  for (const auto& [name, value] : from.headers) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    request.header.emplace(lower, value);
  }
  request.body = from.body;
  return request;
}

void send_response(Response&& from, httplib::Response& to) {
  to.status = from.status;
  for (const auto& [name, value] : from.header) to.set_header(name.c_str(), value);
  if (!from.stream) {
    // Not set_content: the library would compress it, again or with brotli at its slowest.
    auto body = std::make_shared<const std::string>(std::move(from.body));
    to.set_content_provider(body->size(), from.type.c_str(),
                            [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                              return sink.write(body->data() + offset, length);
                            });
    return;
  }
  auto stream = std::move(from.stream);
  to.set_chunked_content_provider(from.type.c_str(), [stream](std::size_t, httplib::DataSink& sink) {
    stream([&](std::string_view piece) { return sink.write(piece.data(), piece.size()); });
    sink.done();
    return true;
  });
}

}  // namespace

struct Server::Parts {
  httplib::Server http;
  Router router;
  Guard guard;
  int port = 0;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

tl::expected<std::unique_ptr<Server>, std::string> Server::open(const ServerOptions& options, const Router& router) {
  auto parts = std::make_unique<Parts>();
  Parts& own = *parts;
  own.router = router;
  own.http.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  own.http.set_payload_max_length(kMostBody_B);
  own.http.set_write_timeout(kWriteTimeout_s);
  own.http.set_tcp_nodelay(true);
  const auto answer = [&own](const httplib::Request& from, httplib::Response& to) {
    Request request = request_of(from);
    auto refused = own.guard.refuse(request);
    Response response = refused ? std::move(*refused) : own.router.answer(std::move(request));
    own.guard.add_headers(response);
    send_response(std::move(response), to);
  };
  own.http.Get(".*", answer);
  own.http.Post(".*", answer);
  own.http.Delete(".*", answer);
  if (options.port == 0) {
    own.port = own.http.bind_to_any_port(options.address.c_str());
    if (own.port < 0) own.port = 0;
  } else if (own.http.bind_to_port(options.address.c_str(), options.port)) {
    own.port = options.port;
  }
  if (own.port == 0) return tl::unexpected(fmt::format("{}:{} cannot be had", options.address, options.port));
  own.guard = Guard(options.address, static_cast<std::uint16_t>(own.port), options.token);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

std::uint16_t Server::port() const {
  return static_cast<std::uint16_t>(parts_->port);
}
void Server::run() {
  parts_->http.listen_after_bind();
}
void Server::stop() {
  parts_->http.stop();
}

}  // namespace weft::serve
