// Runs collectives as NCCL does: kernels on the streams of GPUs, their blocks' primitives by slices, and the proxies
// that post what goes over the network (docs/mechanisms/collectives.md). One program on each machine holds all that
// happens there; machines meet only by packets.
// Who uses it: nccl-tests (workload/collective/nccl_run.h) and jobs. While the world is at rest: add_communicator(),
// prepare() for every operation that will be asked for, start(). Then enqueue() and compute(): before the world runs,
// or from the end callback, for GPUs of the machine that it was called for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nccl/decide/communicator.h"
#include "nccl/schedule/operation.h"
#include "spec/cluster.h"
#include "spec/collective_use.h"
#include "workload/collective/bounds.h"
#include "workload/connection.h"

namespace weft::workload {

class CollectiveHost;
class CollectiveSocket;
struct CollectiveReceiveHalf;
struct CollectiveSendHalf;

// Of the network plugin, from NCCL's environment.
struct CollectiveNetSettings {
  std::uint32_t qps_per_connection = 1;  // NCCL_IB_QPS_PER_CONNECTION
  bool split_data_on_qps = false;        // NCCL_IB_SPLIT_DATA_ON_QPS
  std::uint8_t timeout = 20;             // NCCL_IB_TIMEOUT
  std::uint8_t retry_cnt = 7;            // NCCL_IB_RETRY_CNT
  std::optional<std::uint8_t> tc;        // NCCL_IB_TC
  std::optional<std::uint8_t> sl;        // NCCL_IB_SL
  // As the environment says, or the defaults.
  static CollectiveNetSettings from(const nccl::Environment& environment);
  std::uint32_t mtu_B = 1500;  // of sockets
};

// By RDMA WRITE from the receiver of a message: there is room for it. An element of NCCL's FIFO.
inline constexpr std::uint32_t kCollectiveOffer_B = 64;

// Where something ran: CUDA's number of the device, and which of its streams. Items of one stream run one after the
// other, those of different streams beside each other.
struct StreamPlace {
  std::uint32_t machine = 0;
  std::uint32_t gpu = 0;
  std::uint32_t stream = 0;
};

// An item of a stream has ended.
struct StreamEnd {
  StreamPlace place;
  std::uint64_t tag = 0;
  Time_ps start_ps = 0;  // of the kernel
  Time_ps end_ps = 0;    // now
};

class CollectiveEngine {
 public:
  // The end of a machine's NIC for the process of that GPU, with memory of the GPU or of the host. Asked while the
  // world is at rest.
  using EndpointOf =
      std::function<Endpoint(std::uint32_t machine, std::uint32_t nic, std::uint32_t gpu, bool in_gpu_memory)>;
  struct Setup {
    nccl::Cluster cluster;
    std::vector<host::Host*> hosts;  // by machine
    EndpointOf endpoint_of;
    // Why the NIC of one machine cannot reach that of another, whatever happens; empty: it may. Optional.
    std::function<std::string(std::uint32_t machine, std::uint32_t nic, std::uint32_t to_machine, std::uint32_t to_nic)>
        no_way;
    CollectiveNetSettings net;
  };
  // Called on the machine of the item, by the thread that runs it.
  using EndCallback = std::function<void(const StreamEnd&)>;

  explicit CollectiveEngine(Setup setup);
  ~CollectiveEngine();
  CollectiveEngine(const CollectiveEngine&) = delete;
  CollectiveEngine& operator=(const CollectiveEngine&) = delete;

  // Returns its number. Ranks are at Communicator::ranks().
  std::uint32_t add_communicator(std::shared_ptr<const nccl::Communicator> communicator);
  // Makes the connections that an operation like this needs at all ranks. Of kSendRecv with peers of its own: those of
  // `rank` alone.
  void prepare(std::uint32_t communicator, const nccl::Operation& operation,
               std::optional<std::uint32_t> rank = std::nullopt);
  void on_end(EndCallback callback) { end_ = std::move(callback); }
  // The programs of all machines, from then on.
  void start(Time_ps at_ps);
  void stop();

  // The host thread of that GPU calls ncclAllReduce (…) not before `earliest_ps`.
  void enqueue(std::uint32_t communicator, std::uint32_t rank, const nccl::Operation& operation, Time_ps earliest_ps,
               std::uint64_t tag, std::uint32_t stream = 0);
  // Another kernel has the stream for so long, when it has all SMs; or something on the CPU, which needs none.
  void compute(const StreamPlace& place, Time_ps duration_ps, Time_ps earliest_ps, std::uint64_t tag,
               bool on_cpu = false);

  // In place of start() and a run: adds what an operation of a rank needs of all that it passes. What was counted since
  // the last clear_counts() is taken to go on at once.
  void count(std::uint32_t communicator, std::uint32_t rank, const nccl::Operation& operation);
  void clear_counts();
  std::vector<CollectiveBound> bounds() const;

  const nccl::Cluster& cluster() const { return setup_.cluster; }
  const nccl::Communicator& communicator(std::uint32_t number) const { return *communicators_[number]; }
  // Kernels that have not ended, at a machine, and what NCCL would have logged of a failed connection; empty: nothing.
  std::size_t unfinished(std::uint32_t machine) const;
  // What prepare() found that cannot be connected, with a remedy: nothing should be started then. Empty: nothing.
  const std::string& unconnectable() const { return unconnectable_; }
  std::string failure() const;
  CollectiveUse use() const;

 private:
  friend class CollectiveHost;
  // One direction between two ranks on a channel, as the halves at its ends know it.
  struct ConnectionKey {
    std::uint32_t communicator, channel, from, to;
    bool point_to_point;
    bool nvls;  // between heads
    friend auto operator<=>(const ConnectionKey&, const ConnectionKey&) = default;
  };
  struct Halves {
    std::uint32_t send = 0, receive = 0;
  };
  std::uint32_t send_half_of(const ConnectionKey& key) const { return connected_.at(key).send; }
  std::uint32_t receive_half_of(const ConnectionKey& key) const { return connected_.at(key).receive; }
  void connect(const ConnectionKey& key);
  bool may_connect(const nccl::Communicator& ranks, std::uint32_t from, std::uint32_t to, const nccl::Route& route);
  std::int64_t pair_Bps(const nccl::Communicator& ranks, std::uint32_t rank) const;
  Halves connect_network(const nccl::Communicator& ranks, const nccl::Route& route, CollectiveSendHalf& send,
                         CollectiveReceiveHalf& receive);
  Halves connect_sockets(const nccl::Communicator& ranks, const nccl::Route& route, CollectiveSendHalf& send,
                         CollectiveReceiveHalf& receive);
  static void add_network(const MessageLoad& load, const std::array<std::string, 2>& machines,
                          const CollectiveSendHalf& send, const CollectiveReceiveHalf& receive, bool in_host,
                          CollectiveLoads& loads);
  Endpoint network_end(std::uint32_t machine, std::uint32_t nic, std::uint32_t gpu, bool in_gpu_memory) const;

  Setup setup_;
  EndCallback end_;
  std::vector<std::shared_ptr<const nccl::Communicator>> communicators_;
  std::vector<std::unique_ptr<CollectiveHost>> hosts_;  // by machine
  std::map<ConnectionKey, Halves> connected_;
  std::vector<std::unique_ptr<CollectiveSocket>> sockets_;
  std::string unconnectable_;
};

}  // namespace weft::workload
