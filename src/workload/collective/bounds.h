// What collectives cannot beat: how long they keep each link, card, GPU and block busy that they pass, in place of a
// run. The slices and messages are those that a run has, counted by the same code, without waiting; a collective takes
// at least as long as the busiest of them works.
// Not counted: latencies, acknowledgements and clear-to-send messages, the switches of the fabric.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::workload {

struct CollectiveBound {
  std::string name;    // of the kind: "NIC line rate"
  std::string where;   // the busiest one: "n0 mlx5_0, sends"
  double busy_ps = 0;  // it works so long
};

// The bus bandwidth that a collective of a size cannot beat, by what would have to be faster; the least first.
struct RooflineBound {
  std::string name, where;
  double busbw_Bps = 0;
};
struct Roofline {
  std::uint64_t size_B = 0;
  std::vector<RooflineBound> bounds;
};

class CollectiveLoads {
 public:
  // `part` tells the directions of one thing apart.
  void add(const void* thing, int part, const std::string& name, const std::string& where, double busy_ps);
  // The busiest of each name, the busiest first.
  std::vector<CollectiveBound> busiest() const;

 private:
  std::map<std::pair<const void*, int>, CollectiveBound> loads_;
};

// Packets of RDMA messages by size, and what comes once for each message.
struct MessageLoad {
  std::map<std::uint32_t, std::uint64_t> packets;
  std::uint64_t messages = 0;
  void add(std::uint64_t size_B, std::uint32_t mtu_B);
};

}  // namespace weft::workload
