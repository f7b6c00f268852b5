#include "nccl/communicator.h"

#include <gtest/gtest.h>

#include <set>

#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

void print(const Communicator& c) {
  for (const Graph* g : {&c.graphs().ring, &c.graphs().tree, &c.graphs().nvls}) {
    printf("pattern %d cross %u channels %zu bw %g/%g type %s/%s same %d\n", (int)g->pattern, g->cross_nic, g->channels.size(), g->intra_GBps,
           g->inter_GBps, std::string(to_string(g->intra_type)).c_str(), std::string(to_string(g->inter_type)).c_str(), g->same_channels);
    for (const GraphChannel& ch : g->channels) {
      printf("   net %d :", ch.nets[0]);
      for (auto x : ch.gpus) printf(" %u", x);
      printf(" : %d\n", ch.nets[1]);
    }
  }
  printf("%zu coll channels, %u nvls, %u p2p, %u per peer\n", c.channels().size(), c.nvls_channels(), c.p2p_channels(), c.p2p_channels_per_peer());
}

TEST(X, Dgx) {
  Cluster cl = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 8, 8, 400));
  Communicator c(cl, ranks_on(cl, 8));
  printf("error %s\n", c.error().c_str());
  print(c);
  for (std::uint64_t s = 8; s <= (1ull << 33); s *= 4) {
    Choice ch = c.choose(Collective::kAllReduce, s);
    printf("%lu -> %d %d ch %u th %u %.1f us  parts %u\n", s, (int)ch.algorithm, (int)ch.protocol, ch.channels, ch.threads, ch.predicted_us, c.parts(Collective::kAllReduce, s, 4).channels);
  }
}
TEST(X, One) {
  for (int g : {25, 100, 200, 400}) {
  Cluster cl = cluster_of(2, catalog_machine("dgx-h100", g == 25 ? "a100-80g" : "h100-sxm", 1, 1, g));
  Communicator c(cl, ranks_on(cl, 1));
  print(c);
  }
}
TEST(X, Single) {
  for (int n : {1, 2, 4, 5, 8}) {
  Cluster cl = cluster_of(1, catalog_machine("dgx-h100", "h100-sxm", n, 0, 400));
  Communicator c(cl, ranks_on(cl, n));
  printf("=== %d\n", n);
  print(c);
  if (n > 1) printf("8G: %d %g\n", (int)c.choose(Collective::kAllReduce, 8ull << 30).algorithm, c.choose(Collective::kAllReduce, 8ull << 30).predicted_us);
  }
}

}  // namespace
}  // namespace weft::nccl
