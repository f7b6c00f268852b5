#include "live/verbs/qp_transition.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <iterator>

namespace weft::live {

namespace {

struct Attributes {
  std::uint32_t required, optional;
};
struct Step {
  std::uint32_t from, to;
  Attributes rc, uc, ud;
};

constexpr std::uint32_t kAddress = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr std::uint32_t kConnected = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr std::uint32_t kDatagram = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr std::uint32_t kReliable =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr std::uint32_t kAtWork = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;

// Without those that lead to RESET or ERR, which take no attributes. SQD is not modelled.
constexpr Step kSteps[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, {kConnected, 0}, {kConnected, 0}, {kDatagram, 0}},
    {IBV_QPS_INIT, IBV_QPS_INIT, {0, kConnected}, {0, kConnected}, {0, kDatagram}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {kAddress | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
      IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
     {kAddress, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
     {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {kReliable, kAtWork | IBV_QP_MIN_RNR_TIMER},
     {IBV_QP_SQ_PSN, kAtWork},
     {IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY}},
    {IBV_QPS_RTS, IBV_QPS_RTS, {0, kAtWork | IBV_QP_MIN_RNR_TIMER}, {0, kAtWork}, {0, IBV_QP_CUR_STATE | IBV_QP_QKEY}},
    // Of UC and UD: an RC queue pair is never in SQE.
    {IBV_QPS_SQE,
     IBV_QPS_RTS,
     {0, 0},
     {0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
     {0, IBV_QP_CUR_STATE | IBV_QP_QKEY}},
};

}  // namespace

bool may_modify(std::uint32_t type, std::uint32_t from, std::uint32_t to, std::uint32_t mask) {
  mask &= ~std::uint32_t{IBV_QP_STATE};
  if (to == IBV_QPS_RESET) return mask == 0;
  if (to == IBV_QPS_ERR) return mask == 0 && from != IBV_QPS_RESET;
  const Step* step = std::find_if(std::begin(kSteps), std::end(kSteps),
                                  [&](const Step& each) { return each.from == from && each.to == to; });
  if (step == std::end(kSteps)) return false;
  const Attributes& attributes = type == IBV_QPT_RC ? step->rc : type == IBV_QPT_UC ? step->uc : step->ud;
  if ((mask & attributes.required) != attributes.required) return false;
  return (mask & ~(attributes.required | attributes.optional)) == 0;
}

}  // namespace weft::live
