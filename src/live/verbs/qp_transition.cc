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
  Attributes rc, uc, ud, initiator, target;  // the last two: of XRC
};

constexpr std::uint32_t kAddress = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr std::uint32_t kAnswers = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr std::uint32_t kConnected = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr std::uint32_t kDatagram = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr std::uint32_t kRetries = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr std::uint32_t kOther = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
constexpr std::uint32_t kAtWork = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr std::uint32_t kAtWorkDatagram = IBV_QP_CUR_STATE | IBV_QP_QKEY;
constexpr std::uint32_t kPath = IBV_QP_AV | kOther | IBV_QP_PATH_MIG_STATE;

// IBTA vol 1, table 96. Without the steps that lead to RESET or ERR, which take no attributes.
constexpr Step kSteps[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, {kConnected, 0}, {kConnected, 0}, {kDatagram, 0}, {kConnected, 0}, {kConnected, 0}},
    {IBV_QPS_INIT, IBV_QPS_INIT, {0, kConnected}, {0, kConnected}, {0, kDatagram}, {0, kConnected}, {0, kConnected}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {kAddress | kAnswers, kOther},
     {kAddress, kOther},
     {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
     {kAddress, kOther},
     {kAddress | kAnswers, kOther}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {kRetries | IBV_QP_SQ_PSN, kAtWork | IBV_QP_MIN_RNR_TIMER},
     {IBV_QP_SQ_PSN, kAtWork},
     {IBV_QP_SQ_PSN, kAtWorkDatagram},
     {kRetries | IBV_QP_SQ_PSN, kAtWork},
     {IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, kAtWork | IBV_QP_MIN_RNR_TIMER}},
    {IBV_QPS_RTS,
     IBV_QPS_RTS,
     {0, kAtWork | IBV_QP_MIN_RNR_TIMER},
     {0, kAtWork},
     {0, kAtWorkDatagram},
     {0, kAtWork},
     {0, kAtWork | IBV_QP_MIN_RNR_TIMER}},
    {IBV_QPS_RTS,
     IBV_QPS_SQD,
     {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
     {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
     {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
     {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
     {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {0, IBV_QP_PORT | kRetries | kAnswers | kPath},
     {0, kPath},
     {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
     {0, IBV_QP_PORT | kRetries | kPath},
     {0, IBV_QP_PORT | IBV_QP_TIMEOUT | kAnswers | kPath}},
    {IBV_QPS_SQD,
     IBV_QPS_RTS,
     {0, kAtWork | IBV_QP_MIN_RNR_TIMER},
     {0, kAtWork},
     {0, kAtWorkDatagram},
     {0, kAtWork},
     {0, kAtWork | IBV_QP_MIN_RNR_TIMER}},
    // UC and UD alone: a reliable queue pair is never in SQE.
    {IBV_QPS_SQE,
     IBV_QPS_RTS,
     {0, 0},
     {0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
     {0, kAtWorkDatagram},
     {0, 0},
     {0, 0}},
};

const Attributes& attributes_of(const Step& step, std::uint32_t type) {
  switch (type) {
    case IBV_QPT_RC:
      return step.rc;
    case IBV_QPT_UC:
      return step.uc;
    case IBV_QPT_XRC_SEND:
      return step.initiator;
    case IBV_QPT_XRC_RECV:
      return step.target;
    default:
      return step.ud;
  }
}

}  // namespace

std::uint32_t attributes_that_count(std::uint32_t type, std::uint32_t mask) {
  if (type == IBV_QPT_XRC_SEND) return mask & ~kAnswers;
  if (type == IBV_QPT_XRC_RECV)
    return mask & ~std::uint32_t{IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY};
  return mask;
}

bool may_modify(std::uint32_t type, std::uint32_t from, std::uint32_t to, std::uint32_t mask) {
  mask &= ~std::uint32_t{IBV_QP_STATE};
  if (to == IBV_QPS_RESET) return mask == 0;
  if (to == IBV_QPS_ERR) return mask == 0 && from != IBV_QPS_RESET;
  const Step* step = std::find_if(std::begin(kSteps), std::end(kSteps),
                                  [&](const Step& each) { return each.from == from && each.to == to; });
  if (step == std::end(kSteps)) return false;
  const Attributes& attributes = attributes_of(*step, type);
  if ((mask & attributes.required) != attributes.required) return false;
  return (mask & ~(attributes.required | attributes.optional)) == 0;
}

}  // namespace weft::live
