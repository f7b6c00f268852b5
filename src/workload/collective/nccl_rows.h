// The rows of nccl-tests, what each asks for, and how much of it is simulated: iterations that repeat the one before
// are not, a row stops after enough data has moved.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nccl/decide/communicator.h"
#include "nccl/schedule/operation.h"
#include "spec/nccl_options.h"

namespace weft::workload {

class NcclRows {
 public:
  struct Row {
    std::uint64_t count = 0;
    std::uint32_t type = 0, operation = 0;
    std::int32_t root = -1;
  };
  // Iterations of a row that all ranks enqueue at the same time.
  struct Phase {
    std::size_t row = 0;
    bool in_place = false;
    std::uint32_t iterations = 0;
  };

  NcclRows(const NcclOptions& options, std::shared_ptr<const nccl::Communicator> communicator);

  const std::vector<Row>& all() const { return rows_; }
  const std::vector<std::size_t>& warm_ups() const { return warm_ups_; }  // rows, before all others
  // All that is simulated, in order.
  std::vector<Phase> phases() const;
  nccl::Operation operation_of(const Row& row, bool in_place, std::uint32_t rank) const;
  std::uint32_t kernels_of_iteration() const;
  std::uint32_t iterations_of(const Row& row) const;
  std::uint32_t warm_up_iterations_of(const Row& row) const;

 private:
  void add_rows();
  void add_warm_ups();
  std::uint64_t moved_by(const Row& row) const;

  NcclOptions options_;
  std::shared_ptr<const nccl::Communicator> communicator_;
  std::vector<Row> rows_;
  std::vector<std::size_t> warm_ups_;
};

}  // namespace weft::workload
