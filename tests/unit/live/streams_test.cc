#include "live/streams.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "support/labs.h"
#include "unit/live/cm_pair.h"

namespace weft::live {
namespace {

class Streams : public testing::Test {
 protected:
  Streams() : lab_(support::two_host_lab()), world_(lab_, lab::WorldOptions{}) {
    for (std::uint32_t i = 0; i < 2; ++i) nodes_.push_back(std::make_unique<Node>(threads_, world_.host(i), i));
    process_->node = nodes_[0].get();
    nodes_[0]->processes.push_back(process_);
    network_ = std::make_unique<ManagementNetwork>(world_, nodes_);
  }
  template <typename Body>
  static Request request_of(const Body& body) {
    Request request;
    request.body.resize(sizeof(body));
    std::memcpy(request.body.data(), &body, sizeof(body));
    return request;
  }
  std::uint32_t open() {
    verbs::Handle handle{};
    Reply reply = network_->open(*process_);
    std::memcpy(&handle, reply.body.data(), sizeof(handle));
    return handle.handle;
  }
  // Binds to any port and returns it; 0 when there is none.
  std::uint32_t bind(std::uint32_t stream) {
    verbs::StreamAddress any{stream, 0, {}, 0};
    Reply reply = network_->bind(*process_, request_of(any));
    if (reply.error != 0) return 0;
    std::memcpy(&any, reply.body.data(), sizeof(any));
    return any.port;
  }

  lab::Lab lab_;
  lab::World world_;
  NoThreads threads_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::shared_ptr<Process> process_ = std::make_shared<Process>();
  std::unique_ptr<ManagementNetwork> network_;
};

TEST_F(Streams, EphemeralPortsComeRoundAndSkipThoseInUse) {
  std::uint32_t kept = open();
  EXPECT_EQ(bind(kept), 32768U);
  std::set<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    std::uint32_t stream = open();
    std::uint32_t port = bind(stream);
    ASSERT_GT(port, 32768U) << "after " << i;
    ASSERT_LE(port, 60999U);
    seen.insert(port);
    EXPECT_EQ(network_->close(*process_, request_of(verbs::Handle{stream}), 0).error, 0);
  }
  EXPECT_EQ(seen.size(), 60999U - 32768U) << "each but the one that is kept";
}

}  // namespace
}  // namespace weft::live
