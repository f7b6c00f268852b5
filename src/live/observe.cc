// What can be seen of a world that is up, besides its captures.
#include "lab/read_out.h"
#include "lab/results_json.h"
#include "live/server.h"

namespace weft::live {

// Between two windows everything adds up, as at the end of a run.
void Server::send_results(Connection& connection) {
  lab::RunResult result;
  result.end_ps = world_.engine().now_ps();
  std::vector<lab::Act> none;
  lab::read_out(world_, none, result);
  const std::string text = lab::results_json(world_.lab(), result);
  SharedMemory file = SharedMemory::make("weft-results", text.size());
  if (file.data() == nullptr) {
    connection.send(Reply::failed(ENOMEM), 0);
    return;
  }
  std::memcpy(file.data(), text.data(), text.size());
  Reply reply;
  reply.fds[0] = file.fd();
  connection.send(reply, 0);
}

}  // namespace weft::live
