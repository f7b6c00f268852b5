// The keys of `qos`, one row each (text/fields.h).
#pragma once

#include <string>

#include "model/qos_contract.h"
#include "text/fields.h"

namespace weft::lab {

extern const SectionOf<QosContract> kQosKeys;
extern const SectionOf<QosContract> kPfcKeys;
extern const SectionOf<fabric::WatchdogConfig> kWatchdogKeys;
extern const SectionOf<fabric::QueueConfig> kQueueKeys;
extern const SectionOf<fabric::EcnRamp> kEcnKeys;
extern const SectionOf<fabric::GroupConfig> kGroupKeys;  // with those of GroupWish
extern const SectionOf<GroupWish> kGroupWishKeys;
extern const SectionOf<QosContract> kBufferKeys;

// `congestion`: the keys of every algorithm, with those of each.
extern const SectionOf<QosContract> kCongestionKeys;
extern const SectionOf<QosContract> kDcqcnKeys;      // by their names in mlxconfig, in its units
extern const SectionOf<QosContract> kDcqcnHostKeys;  // of it, what is no parameter of the algorithm
extern const SectionOf<QosContract> kHpccKeys;
extern const SectionOf<QosContract> kTimelyKeys;
extern const SectionOf<QosContract> kSwiftKeys;
// Of an algorithm; null: it has none.
const SectionOf<QosContract>* congestion_keys(nic::CongestionKind kind);

// "[3, 4]"
std::string class_list_text(std::int64_t mask);

}  // namespace weft::lab
