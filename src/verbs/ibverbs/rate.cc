// Static rates: multiples of 2.5 Gb/s, and the bit rates of InfiniBand links. From FDR on a lane's rate is no multiple
// of 2.5 Gb/s (14.0625, 25.78125, 53.125, 106.25 Gb/s), so that the two tables differ (IBTA vol 1, 14.2.5.6; vol
// 2, 5.6).
#include "verbs/ibverbs/objects.h"

namespace {

struct Rate {
  ibv_rate rate;
  int multiple;  // 0: has none
  int mbps;
};
constexpr Rate kRates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2500},     {IBV_RATE_5_GBPS, 2, 5000},         {IBV_RATE_10_GBPS, 4, 10000},
    {IBV_RATE_20_GBPS, 8, 20000},     {IBV_RATE_30_GBPS, 12, 30000},      {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000},    {IBV_RATE_80_GBPS, 32, 80000},      {IBV_RATE_120_GBPS, 48, 120000},
    {IBV_RATE_14_GBPS, 0, 14062},     {IBV_RATE_56_GBPS, 0, 56250},       {IBV_RATE_112_GBPS, 0, 112500},
    {IBV_RATE_168_GBPS, 0, 168750},   {IBV_RATE_25_GBPS, 0, 25781},       {IBV_RATE_100_GBPS, 0, 103125},
    {IBV_RATE_200_GBPS, 0, 206250},   {IBV_RATE_300_GBPS, 0, 309375},     {IBV_RATE_28_GBPS, 11, 28125},
    {IBV_RATE_50_GBPS, 20, 53125},    {IBV_RATE_400_GBPS, 160, 425000},   {IBV_RATE_600_GBPS, 240, 637500},
    {IBV_RATE_800_GBPS, 320, 850000}, {IBV_RATE_1200_GBPS, 480, 1275000},
};

}  // namespace

int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& known : kRates) {
    if (known.rate == rate && known.multiple != 0) return known.multiple;
  }
  return -1;
}

ibv_rate mult_to_ibv_rate(int multiple) {
  for (const Rate& known : kRates) {
    if (known.multiple == multiple && multiple != 0) return known.rate;
  }
  return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& known : kRates) {
    if (known.rate == rate) return known.mbps;
  }
  return -1;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& known : kRates) {
    if (known.mbps == mbps) return known.rate;
  }
  return IBV_RATE_MAX;
}
