// Programs that `weft exec` puts into the PATH of a node under the names of commands that a machine without the card
// lacks (live/view/node_command.h): passes its words to the world and prints what that says. As iperf3 and tcpdump it
// says which network is meant, or how the frames of a port are seen, and runs the machine's own.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "verbs/node_protocol.h"
#include "verbs/world_call.h"

namespace {

using namespace weft;

std::string base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// The next of this name in the PATH that is not this program. Returns when there is none.
void run_other(const std::string& name, char** argv) {
  const char* path = getenv("PATH");
  const std::string folders = path == nullptr ? "/usr/bin:/bin" : path;
  char own[4096];
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = folders.find(':', at) == std::string::npos ? folders.size() : folders.find(':', at);
    const std::string file = folders.substr(at, end - at) + "/" + name;
    at = end + 1;
    const ssize_t size = readlink(file.c_str(), own, sizeof own - 1);
    if (size > 0 && std::string(own, static_cast<std::size_t>(size)).find("/node-tool") != std::string::npos) continue;
    if (access(file.c_str(), X_OK) == 0) execv(file.c_str(), argv);
  }
}

bool wants_server_or_help(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "-v") == 0 ||
        strcmp(argv[i], "--version") == 0)
      return true;
  }
  return false;
}

int run_iperf(const std::string& name, int argc, char** argv) {
  const char* network = getenv(verbs::kNetworkVariable);
  const bool chosen = network != nullptr && *network != '\0';
  if (!wants_server_or_help(argc, argv)) {
    if (chosen) {
      fprintf(stderr, "weft: TCP of this program goes over the %s network\n", network);
    } else {
      fprintf(stderr,
              "weft: TCP of this program goes over the lab's `network`: management, beside the fabric, unless the lab "
              "says fabric; through the cables with weft exec --net fabric\n");
    }
  }
  run_other(name, argv);
  fprintf(stderr, "weft: %s is not installed on this machine; install it, or give the lab an iperf3 workload\n",
          name.c_str());
  return 127;
}

int refuse_capture(const std::string& name, int argc, char** argv) {
  std::string port = "PORT";
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "-r", 2) == 0 || strcmp(argv[i], "--read-file") == 0 || wants_server_or_help(argc, argv)) {
      run_other(name, argv);
      fprintf(stderr, "weft: %s is not installed on this machine\n", name.c_str());
      return 127;
    }
    if (strncmp(argv[i], "-i", 2) == 0) port = argv[i][2] != '\0' ? argv[i] + 2 : i + 1 < argc ? argv[i + 1] : "PORT";
  }
  const char* node = getenv(verbs::kNodeVariable);
  fprintf(stderr,
          "weft: %s sees no interface of a node; outside of it: weft capture --live %s:%s | %s -r -\n"
          "weft: or into a file: weft capture start %s:%s --out seen.pcapng\n",
          name.c_str(), node == nullptr ? "NODE" : node, port.c_str(), name == "tcpdump" ? "tcpdump" : "tshark",
          node == nullptr ? "NODE" : node, port.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = base_name(argv[0]);
  if (name == "iperf3" || name == "iperf") return run_iperf(name, argc, argv);
  if (name == "tcpdump" || name == "tshark" || name == "dumpcap") return refuse_capture(name, argc, argv);
  std::string words = name + '\0';
  for (int i = 1; i < argc; ++i) words += std::string(argv[i]) + '\0';
  if (words.size() > verbs::kMaxNodeCommand_B) {
    fprintf(stderr, "%s: the command line is too long\n", name.c_str());
    return 1;
  }
  std::string reply(sizeof(verbs::NodeCommandReply) + 2 * verbs::kMaxNodeCommand_B, '\0');
  std::size_t reply_B = reply.size();
  const int error = verbs::weft_call(static_cast<std::uint32_t>(verbs::Op::kNodeCommand), words.data(), words.size(),
                                     reply.data(), &reply_B, nullptr);
  verbs::NodeCommandReply head{};
  if (error != 0 || reply_B < sizeof head) {
    fprintf(stderr, "%s: %s; it shows a node of a lab: weft exec NODE -- %s\n", name.c_str(),
            strerror(error != 0 ? error : EPROTO), name.c_str());
    return 1;
  }
  memcpy(&head, reply.data(), sizeof head);
  if (sizeof head + head.out_B + head.error_B > reply_B) return 1;
  fwrite(reply.data() + sizeof head, 1, head.out_B, stdout);
  fflush(stdout);
  fwrite(reply.data() + sizeof head + head.out_B, 1, head.error_B, stderr);
  return head.status;
}
