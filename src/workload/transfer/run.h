// A verified transfer: the client posts `count` operations with at most `depth` outstanding, the server posts
// receives where they are needed, and at the end every byte on the far side is compared with what was meant to be
// there. Or one classic mistake (TransferOptions::misuse), to see how the NICs report it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/transfer_options.h"
#include "spec/transfer_result.h"
#include "workload/connection.h"
#include "workload/workload.h"

namespace weft::workload {

class TransferRun final : public Workload {
 public:
  TransferRun(const TransferOptions& options, const Endpoint& client, const Endpoint& server, std::uint64_t seed);
  TransferRun(const TransferRun&) = delete;
  TransferRun& operator=(const TransferRun&) = delete;

  bool start_phase(Time_ps at_ps) override;
  void finish_phase(bool interrupted) override;
  const TransferOptions& options() const { return options_; }
  const TransferResult& result() const { return result_; }

 private:
  class Client final : public host::Program {
   public:
    explicit Client(TransferRun& run) : run_(run) {}
    ~Client() override { run_.client_.host->stop(program); }
    Time_ps step(Time_ps now_ps) override;
    std::uint32_t program = host::kNoProgram;
    std::uint64_t posted = 0, done = 0;

   private:
    void take(const nic::Completion& completion, Time_ps now_ps);
    TransferRun& run_;
  };
  class Server final : public host::Program {
   public:
    explicit Server(TransferRun& run) : run_(run) {}
    ~Server() override { run_.server_.host->stop(program); }
    Time_ps step(Time_ps now_ps) override;
    std::uint32_t program = host::kNoProgram;
    std::uint64_t posted = 0;

   private:
    TransferRun& run_;
  };

  nic::SendRequest request(std::uint64_t index) const;
  bool uses_receives() const;
  std::uint64_t receives_wanted() const;
  std::span<std::uint8_t> local(std::uint64_t index) {
    return std::span(client_bytes_).subspan(index * slot_B_, slot_B_);
  }
  std::span<std::uint8_t> remote(std::uint64_t index) {
    return std::span(server_bytes_).subspan(index * slot_B_, slot_B_);
  }
  bool verify(std::uint64_t index);
  std::uint64_t verified_datagrams();

  TransferOptions options_;
  Endpoint client_, server_;
  Connection connection_;
  std::uint64_t slot_B_ = 0;
  std::uint64_t payload_at_ = 0;  // UD receives begin with 40 bytes of GRH
  std::vector<std::uint8_t> client_bytes_, server_bytes_, scratch_bytes_;
  std::vector<bool> ok_;  // operation i completed with success
  std::uint32_t client_key_ = 0, server_key_ = 0;
  std::vector<std::uint32_t> scratch_keys_;
  std::uint64_t client_va_ = 0, server_va_ = 0, scratch_va_ = 0;
  Client client_program_{*this};
  Server server_program_{*this};
  TransferResult result_;
  bool started_ = false;
};

}  // namespace weft::workload
