// Collectives of gloo between nodes, with every element compared: the classes that gloo has for all of its transports,
// and over TCP its functions too.
//   gloo_probe serve tcp|ibverbs | gloo_probe ask tcp|ibverbs HOST
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/alltoall.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/ibverbs/device.h>
#include <gloo/transport/tcp/device.h>

#include <map>
#include <vector>

#include "interop/programs/probe.h"

namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

constexpr int kElements = 100'000, kPort = 7500;

// What the two tell each other before they are connected, over a TCP connection: gloo's own way, files, would be a wait
// that the world cannot see.
class Exchange final : public gloo::rendezvous::Store {
 public:
  explicit Exchange(int fd) : fd_(fd) {}
  void set(const std::string& key, const std::vector<char>& value) override {
    known_[key] = value;
    const std::uint32_t sizes[] = {static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
    probe::put(fd_, std::string(reinterpret_cast<const char*>(sizes), sizeof sizes) + key +
                        std::string(value.begin(), value.end()));
  }
  std::vector<char> get(const std::string& key) override {
    wait({key});
    return known_[key];
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) {
      while (known_.count(key) == 0) read_one();
    }
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override { wait(keys); }

 private:
  void read_one() {
    std::uint32_t sizes[2];
    memcpy(sizes, probe::get(fd_, sizeof sizes).data(), sizeof sizes);
    const std::string key = probe::get(fd_, sizes[0]), value = probe::get(fd_, sizes[1]);
    known_[key] = {value.begin(), value.end()};
  }
  int fd_;
  std::map<std::string, std::vector<char>> known_;
};

std::vector<float> own_values(const Context& context) {
  std::vector<float> values(kElements);
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>((context->rank + 1) * (i % 1000));
  return values;
}

// Each rank has given a multiple of the same row: the sum has the sum of the factors.
void check_sum(const Context& context, const std::vector<float>& values) {
  const int factors = context->size * (context->size + 1) / 2;
  for (int i = 0; i < kElements; ++i) REQUIRE(values[i] == static_cast<float>(factors * (i % 1000)));
}

// gloo does not wait for the completions of its last, small messages, and an algorithm that is destroyed before them
// ends the program: let them come.
void run(gloo::Algorithm&& algorithm) {
  algorithm.run();
  usleep(20000);
}

template <class Algorithm>
void all_reduce(const Context& context, const char* name) {
  probe::current = name;
  std::vector<float> values = own_values(context);
  run(Algorithm(context, {values.data()}, kElements));
  check_sum(context, values);
  printf("%s: ok\n", name);
}

void broadcast(const Context& context) {
  probe::current = "broadcast";
  std::vector<float> values = own_values(context);
  const int root = context->size - 1;
  run(gloo::BroadcastOneToAll<float>(context, {values.data()}, kElements, root));
  for (int i = 0; i < kElements; ++i) REQUIRE(values[i] == static_cast<float>((root + 1) * (i % 1000)));
  printf("broadcast: ok\n");
}

void functions(const Context& context) {
  probe::current = "allreduce function";
  std::vector<float> values = own_values(context);
  gloo::AllreduceOptions options(context);
  options.setOutput(values.data(), values.size());
  options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
  gloo::allreduce(options);
  check_sum(context, values);

  probe::current = "alltoall function";
  std::vector<int> to(static_cast<std::size_t>(context->size)), from(to.size(), -1);
  for (int i = 0; i < context->size; ++i) to[static_cast<std::size_t>(i)] = 100 * context->rank + i;
  gloo::AlltoallOptions exchange(context);
  exchange.setInput(to.data(), to.size());
  exchange.setOutput(from.data(), from.size());
  gloo::alltoall(exchange);
  for (int i = 0; i < context->size; ++i) REQUIRE(from[static_cast<std::size_t>(i)] == 100 * i + context->rank);
  printf("functions: ok\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool serves = strcmp(argv[1], "serve") == 0, over_tcp = strcmp(argv[2], "tcp") == 0;
  if (argc != (serves ? 3 : 4)) return 2;
  try {
    const Context context = std::make_shared<gloo::rendezvous::Context>(serves ? 0 : 1, 2);
    std::shared_ptr<gloo::transport::Device> device;
    if (over_tcp) {
      char name[256];
      REQUIRE(gethostname(name, sizeof name) == 0);
      device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(name));
    } else {
      const std::vector<std::string> names = gloo::transport::ibverbs::getDeviceNames();
      REQUIRE(!names.empty());
      device = gloo::transport::ibverbs::CreateDevice({names[0], 1, 3});  // GID index 3: RoCE v2 of the IPv4 address
    }
    Exchange store(serves ? probe::accept_one(probe::listen_at(kPort)) : probe::connect_to(argv[3], kPort));
    context->connectFullMesh(store, device);
    printf("%s\n", device->str().c_str());
    all_reduce<gloo::AllreduceRingChunked<float>>(context, "ring");
    all_reduce<gloo::AllreduceHalvingDoubling<float>>(context, "halving and doubling");
    broadcast(context);
    if (over_tcp) functions(context);
    run(gloo::BarrierAllToAll(context));
  } catch (const std::exception& problem) {
    fprintf(stderr, "gloo_probe (%s): %s\n", probe::current, problem.what());
    return 1;
  }
  printf("all: ok\n");
  return 0;
}
