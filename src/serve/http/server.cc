#include "serve/http/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "serve/http/client_socket.h"
#include "serve/http/connection_threads.h"
#include "serve/http/guard.h"

namespace weft::serve {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostBody_B = 1 << 20;
constexpr std::size_t kLongestPath = 1000;
constexpr std::size_t kMostHeader_B = 64 << 10;
constexpr std::size_t kMostConnections = 512;
constexpr int kBacklog = 128;                // the library's is 5, compiled in
constexpr std::size_t kMostRequests = 1000;  // on one connection
constexpr std::chrono::seconds kKeepAlive = 15s;
constexpr auto kRequestTime = 30s;
constexpr std::size_t kFilePiece_B = 256 << 10;

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

// Not set_content: the library would compress it, again or with brotli at its slowest.
void send_shared(std::shared_ptr<const std::string> body, const std::string& type, httplib::Response& to) {
  if (body->empty()) {
    to.set_header("Content-Type", type);
    return;
  }
  to.set_content_provider(
      body->size(), type.c_str(), [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return offset <= body->size() && length <= body->size() - offset && sink.write(body->data() + offset, length);
      });
}

void send_body(std::string&& from, const std::string& type, httplib::Response& to) {
  send_shared(std::make_shared<const std::string>(std::move(from)), type, to);
}

struct OpenFile {
  explicit OpenFile(int own_fd, std::size_t own_size_B) : fd(own_fd), size_B(own_size_B) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { close(fd); }
  int fd;
  std::size_t size_B;
};

std::shared_ptr<const OpenFile> open_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return nullptr;
  }
  return std::make_shared<const OpenFile>(fd, static_cast<std::size_t>(status.st_size));
}

// The requested range in bytes of the file; false when the file has no such bytes. The library takes ranges as the
// client has written them, also beyond the end.
bool settle_range(httplib::Ranges& ranges, std::size_t size_B) {
  if (ranges.size() != 1) {
    ranges.clear();  // of several: the whole file
    return true;
  }
  auto& [first, last] = ranges.front();
  const auto size = static_cast<ssize_t>(size_B);
  if (first < 0) {
    first = std::max<ssize_t>(0, size - last);
    last = size - 1;
  } else if (last < 0 || last >= size) {
    last = size - 1;
  }
  return first <= last && first < size;
}

void send_file(const Response& from, httplib::Request& request, httplib::Response& to) {
  auto file = open_file(from.file);
  const bool fits = file != nullptr && settle_range(request.ranges, file->size_B);
  if (!fits || file->size_B == 0) {
    request.ranges.clear();
    if (fits) return to.set_header("Content-Type", from.type);
    Response answer =
        file == nullptr ? problem(404, "the file cannot be read") : problem(416, "the range is outside of the file");
    to.status = answer.status;
    return send_body(std::move(answer.body), answer.type, to);
  }
  to.status = request.ranges.empty() ? 200 : 206;
  to.set_content_provider(file->size_B, from.type.c_str(),
                          [file](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                            std::string piece(std::min(length, kFilePiece_B), '\0');
                            const ssize_t got = pread(file->fd, piece.data(), piece.size(), static_cast<off_t>(offset));
                            return got > 0 && sink.write(piece.data(), static_cast<std::size_t>(got));
                          });
}

void send_response(Response&& from, httplib::Request& request, httplib::Response& to) {
  to.status = from.status;
  for (const auto& [name, value] : from.header) to.set_header(name.c_str(), value);
  if (!from.file.empty()) return send_file(from, request, to);
  request.ranges.clear();
  if (from.shared) return send_shared(std::move(from.shared), from.type, to);
  if (!from.stream) return send_body(std::move(from.body), from.type, to);
  auto stream = std::move(from.stream);
  to.set_chunked_content_provider(from.type.c_str(), [stream](std::size_t, httplib::DataSink& sink) {
    stream([&](std::string_view piece) { return sink.write(piece.data(), piece.size()); });
    sink.done();
    return true;
  });
}

// A client's socket as the library sees it.
class SocketStream final : public httplib::Stream {
 public:
  explicit SocketStream(ClientSocket& socket) : socket_(socket) {}
  bool is_readable() const override { return socket_.is_readable(); }
  bool is_writable() const override { return socket_.is_writable(); }
  ssize_t read(char* to, std::size_t size) override { return socket_.read(to, size); }
  ssize_t write(const char* from, std::size_t size) override { return socket_.write(from, size); }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_.socket(); }

 private:
  ClientSocket& socket_;
};

class Threads final : public httplib::TaskQueue {
 public:
  // Connections beyond the limit are closed by the accepting thread, without an answer.
  void enqueue(std::function<void()> job) override {
    if (threads_.enqueue(job)) return;
    refuses = true;
    job();
    refuses = false;
  }
  static inline thread_local bool refuses = false;
  void shutdown() override { threads_.shutdown(); }

 private:
  ConnectionThreads threads_{kMostConnections};
};

bool is_too_large(const httplib::Request& request) {
  const std::string length = request.get_header_value("Content-Length");
  return length.size() > 9 || std::strtoul(length.c_str(), nullptr, 10) > kMostBody_B;
}

bool must_have_body(const httplib::Request& request) {
  return request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
}

// A body of unknown size, or one that grows when it is decompressed.
bool is_unbounded(const httplib::Request& request) {
  return (must_have_body(request) && !request.has_header("Content-Length")) ||
         request.has_header("Transfer-Encoding") || request.has_header("Content-Encoding") ||
         request.headers.count("Content-Length") > 1;
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Content-Length") && request.get_header_value("Content-Length") != "0";
}

// The library with its own connection loop. Bytes after a request that was not read completely must never be taken for
// another request: a page of another site can choose those bytes.
class HttpServer final : public httplib::Server {
 public:
  bool raise_backlog() { return ::listen(svr_sock_, kBacklog) == 0; }

  std::atomic<bool> stopping{false}, started{false}, ended{false};

 private:
  bool process_and_close_socket(socket_t socket) override {
    if (Threads::refuses) return close(socket) == 0;
    ClientSocket client(socket, stopping);
    SocketStream stream(client);
    bool read_to_end = true;
    std::size_t count = 1;
    for (; read_to_end && count <= kMostRequests && client.wait_for_request(kKeepAlive); ++count) {
      client.begin_request(kMostHeader_B, kRequestTime);
      bool closed = false;
      read_to_end = false;  // an invalid request ends here as well
      const bool answered = process_request(stream, count == kMostRequests, closed, [&](httplib::Request& request) {
        // Bodies of methods that have none are not read either.
        const bool reads_body = must_have_body(request) || request.method == "DELETE";
        client.allow_more(kMostBody_B);
        read_to_end = !is_too_large(request) && request.path.size() <= kLongestPath && !is_unbounded(request) &&
                      (reads_body || !has_body(request));
        if (read_to_end) return;
        request.headers.erase("Connection");
        request.headers.emplace("Connection", "close");
      });
      if (!answered || closed) break;
    }
    // Closing a socket with unread data discards answers that are still being sent.
    if (!read_to_end || count >= kMostRequests) client.linger();
    shutdown(socket, SHUT_RDWR);
    close(socket);
    return true;
  }
};

ListenProblem listen_problem(const ServerOptions& options, int error) {
  const std::string where = fmt::format("cannot listen on {} port {}", options.address, options.port);
  switch (error) {
    case EADDRINUSE:
      return {where + ": another program uses this port",
              "another weft serve may be running; choose a port with --port, 0 for any free port"};
    case EACCES:
    case EPERM:
      return {where + ": permission denied", "choose a port of 1024 or more with --port"};
    case 0:
    case EADDRNOTAVAIL:
      return {where + ": not an address of this machine",
              "omit --listen for 127.0.0.1, or write 0.0.0.0 for all addresses (ip address lists them)"};
    default:
      return {fmt::format("{}: {}", where, std::strerror(error)),
              "choose another address or port with --listen and --port"};
  }
}

Response library_error(int status) {
  switch (status) {
    case 404:
      return problem(404, "not found", "docs/api.md lists the paths");
    case 413:
      return problem(413, "the body is larger than 1 MB", "send less");
    case 414:
      return problem(414, "the address is too long", "shorten it");
    case 416:
      return problem(416, "the range cannot be parsed", "Range: bytes=FIRST-LAST");
    case 500:
      return problem(500, "the server could not answer");
    default:
      return problem(status, "the request cannot be parsed");
  }
}

}  // namespace

struct Server::Parts {
  HttpServer http;
  Router router;
  Guard guard;
  int port = 0;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

tl::expected<std::unique_ptr<Server>, ListenProblem> Server::open(const ServerOptions& options, const Router& router) {
  auto parts = std::make_unique<Parts>();
  Parts& own = *parts;
  own.router = router;
  own.http.new_task_queue = [] { return new Threads; };
  own.http.set_payload_max_length(kMostBody_B);
  own.http.set_tcp_nodelay(true);
  own.http.set_keep_alive_max_count(kMostRequests);
  own.http.set_keep_alive_timeout(kKeepAlive.count());
  // The library's own allow others to take the same port.
  own.http.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    fcntl(socket, F_SETFD, FD_CLOEXEC);
  });
  const auto send = [&own](Response&& response, const httplib::Request& from, httplib::Response& to) {
    own.guard.add_headers(response);
    // The library's request is no constant; what it does with ranges cannot be changed otherwise.
    send_response(std::move(response), const_cast<httplib::Request&>(from), to);
  };
  const auto answer = [&own, send](const httplib::Request& from, httplib::Response& to) {
    Request request = request_of(from);
    auto refused = own.guard.refuse(request);
    send(refused ? std::move(*refused) : own.router.answer(std::move(request)), from, to);
  };
  own.http.set_pre_routing_handler([send](const httplib::Request& from, httplib::Response& to) {
    // The library finds handlers by std::regex, which goes a frame deeper for each character.
    const bool too_large = is_too_large(from), too_long = from.path.size() > kLongestPath;
    if (too_long) {
      send(library_error(414), from, to);
      return httplib::Server::HandlerResponse::Handled;
    }
    if (!too_large && !is_unbounded(from)) return httplib::Server::HandlerResponse::Unhandled;
    send(too_large
             ? library_error(413)
             : problem(411, "the body has no length, or is compressed", "send it uncompressed, with Content-Length"),
         from, to);
    return httplib::Server::HandlerResponse::Handled;
  });
  own.http.set_error_handler(
      httplib::Server::HandlerWithResponse([send](const httplib::Request& from, httplib::Response& to) {
        if (to.content_provider_ || to.has_header("Content-Type")) return httplib::Server::HandlerResponse::Unhandled;
        send(library_error(to.status), from, to);
        return httplib::Server::HandlerResponse::Handled;
      }));
  own.http.set_exception_handler([send](const httplib::Request& from, httplib::Response& to, std::exception_ptr) {
    send(problem(500, "the server could not answer"), from, to);
  });
  own.http.Get(".*", answer).Post(".*", answer).Put(".*", answer).Patch(".*", answer).Delete(".*", answer);
  own.http.Options(".*", answer);
  errno = 0;
  if (options.port == 0) {
    own.port = own.http.bind_to_any_port(options.address.c_str());
    if (own.port < 0) own.port = 0;
  } else if (own.http.bind_to_port(options.address.c_str(), options.port)) {
    own.port = options.port;
  }
  if (own.port == 0) {
    return tl::unexpected(listen_problem(options, errno));
  }
  own.http.raise_backlog();
  own.guard = Guard(options.address, static_cast<std::uint16_t>(own.port), options.token);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

std::uint16_t Server::port() const {
  return static_cast<std::uint16_t>(parts_->port);
}
void Server::run() {
  HttpServer& http = parts_->http;
  http.started = true;
  if (!http.stopping) http.listen_after_bind();
  http.ended = true;
}
void Server::stop() {
  HttpServer& http = parts_->http;
  http.stopping = true;
  // It may be about to enter the loop, where the library does not notice a stop.
  while (http.started && !http.ended) {
    http.stop();
    std::this_thread::sleep_for(5ms);
  }
}

}  // namespace weft::serve
