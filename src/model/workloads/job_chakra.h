// MLCommons Chakra execution traces (schema/protobuf/et_def.proto, package ChakraProtoMsg): one file for each rank,
// <prefix>.<rank>.et, a list of protobuf messages, each after its length as a varint: GlobalMetadata, then Nodes.
// Read by hand, so that any bytes are a trace or an error with the offset.
// Attributes that count are those of Chakra's feeder: is_cpu_op, num_ops, comm_type, comm_size, comm_src, comm_dst,
// comm_tag, pg_name, and root_rank where a collective has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "spec/job_graph.h"

namespace weft::workload {

enum class ChakraType : std::uint8_t {
  kInvalid,
  kMetadata,
  kMemoryLoad,
  kMemoryStore,
  kCompute,
  kSend,
  kReceive,
  kCollective
};

struct ChakraNode {
  std::size_t offset_B = 0;  // in the file
  std::uint64_t id = 0;
  std::string name;
  ChakraType type = ChakraType::kInvalid;
  std::vector<std::uint64_t> before;  // ids; control and data dependencies
  std::uint64_t duration_us = 0;
  std::uint64_t operations = 0;
  std::uint64_t size_B = 0;
  std::int64_t collective = -1;  // CollectiveCommType
  std::int64_t source = -1, destination = -1, tag = 0, root = 0;
  std::string group;
  bool on_cpu = false;
};

struct ChakraTrace {
  std::string version;
  std::vector<ChakraNode> nodes;
};

struct ChakraProblem {
  std::uint32_t rank = 0;
  std::size_t offset_B = 0;
  std::string message, remedy;
};

tl::expected<ChakraTrace, ChakraProblem> read_chakra(std::span<const std::uint8_t> bytes);

struct ChakraGroup {
  std::string name;  // pg_name
  std::vector<std::uint32_t> ranks;
};
// The job of these traces, one for each rank. Groups that are not given have the ranks whose traces name them; a
// collective without one has all. Compute without a duration takes num_ops at this rate.
tl::expected<JobGraph, ChakraProblem> make_chakra_job(std::span<const ChakraTrace> traces,
                                                      std::span<const ChakraGroup> groups, double flops_per_s);

}  // namespace weft::workload
