// A client that sends bytes as they are, to a server of the test's own.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "serve/http/server.h"

namespace weft::serve {

class TestServer {
 public:
  explicit TestServer(const Router& router, std::string token = "") {
    ServerOptions options;
    options.port = 0;
    options.token = std::move(token);
    auto opened = Server::open(options, router);
    if (!opened) return;
    server_ = std::move(*opened);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~TestServer() { stop(); }
  void stop() {
    if (server_) server_->stop();
    if (thread_.joinable()) thread_.join();
  }
  std::uint16_t port() const { return server_->port(); }

 private:
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : port_(port), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
  }
  ~RawClient() { close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // A line of the request, then what every client sends.
  void ask(const std::string& line, const std::string& more = "", const std::string& body = "") {
    send(line + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n" + more + "\r\n" + body);
  }
  // Until `text` has come, or the end.
  std::string read_until(std::string_view text) {
    char piece[65536];
    while (read_.find(text) == std::string::npos) {
      const ssize_t got = recv(fd_, piece, sizeof(piece), 0);
      if (got <= 0) break;
      read_.append(piece, static_cast<std::size_t>(got));
    }
    return read_;
  }
  std::string read_to_end() { return read_until(std::string(1, '\0') + "never"); }
  // One whole answer with a Content-Length; what follows stays.
  std::string read_answer() {
    const std::string all = read_until("\r\n\r\n");
    const std::size_t head = all.find("\r\n\r\n"), at = all.find("Content-Length: ");
    if (head == std::string::npos || at == std::string::npos) return std::exchange(read_, {});
    const std::size_t whole = head + 4 + std::stoul(all.substr(at + 16));
    char piece[65536];
    while (read_.size() < whole) {
      const ssize_t got = recv(fd_, piece, sizeof(piece), 0);
      if (got <= 0) return std::exchange(read_, {});
      read_.append(piece, static_cast<std::size_t>(got));
    }
    std::string answer = read_.substr(0, whole);
    read_.erase(0, whole);
    return answer;
  }

 private:
  std::uint16_t port_;
  int fd_;
  bool connected_ = false;
  std::string read_;
};

}  // namespace weft::serve
