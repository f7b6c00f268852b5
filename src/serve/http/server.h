// `weft serve`: HTTP on one address for the page and its API (docs/api.md). Handlers are in *_routes.cc; guard.h
// decides who may ask. A client has a thread of its own while it is connected: a slow one does not hold up others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "serve/http/router.h"

namespace weft::serve {

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8420;  // 0: any free port
  std::string token;          // empty: none is needed
};

// Why the server cannot listen on an address, and the remedy.
struct ListenProblem {
  std::string message, remedy;
};

class Server {
 public:
  static tl::expected<std::unique_ptr<Server>, ListenProblem> open(const ServerOptions& options, const Router& router);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  // Answers until stop(), which may be called from any other thread and returns when all clients are gone.
  void run();
  void stop();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace weft::serve
