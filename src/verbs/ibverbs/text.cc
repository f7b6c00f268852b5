// Names of numbers. ibv_devinfo, perftest and the logs of MPI print them, and users search for them: they are worded
// as in rdma-core.
#include "verbs/ibverbs/objects.h"

namespace {

template <std::size_t kCount>
const char* name_of(const char* const (&names)[kCount], int number) {
  const bool is_known = number >= 0 && static_cast<std::size_t>(number) < kCount && names[number] != nullptr;
  return is_known ? names[number] : "unknown";
}

constexpr const char* kNodeTypes[] = {nullptr,
                                      "InfiniBand channel adapter",
                                      "InfiniBand switch",
                                      "InfiniBand router",
                                      "iWARP NIC",
                                      "usNIC",
                                      "usNIC UDP",
                                      "unspecified"};

constexpr const char* kPortStates[] = {"no state change (NOP)", "down", "init", "armed", "active", "active defer"};

constexpr const char* kEvents[] = {
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};

constexpr const char* kStatuses[] = {
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};

}  // namespace

const char* ibv_node_type_str(ibv_node_type type) {
  return name_of(kNodeTypes, type);
}

const char* ibv_port_state_str(ibv_port_state state) {
  return name_of(kPortStates, state);
}

const char* ibv_event_type_str(ibv_event_type type) {
  return name_of(kEvents, type);
}

const char* ibv_wc_status_str(ibv_wc_status status) {
  return name_of(kStatuses, status);
}
