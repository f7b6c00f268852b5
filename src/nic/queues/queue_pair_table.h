// Queue pairs of a port. A destroyed one keeps its place, in RESET, so that whatever the port's schedule, its timers or
// the fabric still have for it finds it and has no effect; its number rests until kRestingQps others were destroyed.
// Numbers are a function of seed, port and order (nic/port_numbers.h). Contexts: nic/port_schedule.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "nic/port_contexts.h"
#include "nic/port_numbers.h"
#include "nic/queues/queue_pair.h"
#include "nic/work_heap.h"

namespace weft::nic {

class QueuePairTable {
  // Fields for every packet.
  std::vector<QueuePair> qps_;
  std::uint32_t first_qpn_;
  std::uint32_t last_receiver_ = 0;  // the next packet is probably for it, too

 public:
  QueuePairTable(std::uint64_t seed, std::uint32_t port_id, bool second_of_bond)
      : first_qpn_(QueuePairNumbers::kFirst | (second_of_bond ? QueuePairNumbers::kSecondPort : 0)),
        places_(std::make_unique<Places>(seed, port_id)) {}

  // Null: a number that nobody has had.
  QueuePair* find(std::uint32_t qpn) {
    const std::uint32_t index = qpn - first_qpn_;
    return index < qps_.size() ? &qps_[index] : nullptr;
  }
  const QueuePair* find(std::uint32_t qpn) const { return const_cast<QueuePairTable*>(this)->find(qpn); }
  bool has(std::uint32_t qpn) const {
    const QueuePair* qp = find(qpn);
    return qp != nullptr && (qp->flags & QueuePair::kLive) != 0;
  }
  bool is_of_other_port(std::uint32_t qpn) const { return ((qpn ^ first_qpn_) & QueuePairNumbers::kSecondPort) != 0; }

  // The context of its requester; that of its responder is the next one.
  std::uint32_t context_of(const QueuePair& qp) const { return place_of(qp.qpn) * 2; }
  std::uint32_t place_of(std::uint32_t qpn) const { return qpn - first_qpn_; }
  bool has_context(std::uint32_t context) const { return context / 2 < qps_.size(); }
  QueuePair& of_context(std::uint32_t context) {
    WEFT_DCHECK(has_context(context), "a context of no queue pair");
    return qps_[context / 2];
  }
  const QueuePair& of_context(std::uint32_t context) const { return qps_[context / 2]; }

  // For the cache: the queue pair of the last packet that came in; null: none is.
  void received_by(const QueuePair& qp) { last_receiver_ = place_of(qp.qpn); }
  const QueuePair* likely_receiver() const { return last_receiver_ < qps_.size() ? &qps_[last_receiver_] : nullptr; }

  std::span<QueuePair> all() { return qps_; }
  std::uint32_t live_count() const { return static_cast<std::uint32_t>(qps_.size()) - places_->resting.size(); }
  bool uses_cq(std::uint32_t cq) const;
  bool uses_srq(std::uint32_t srq) const;

  // The queue pair has a number and a place from now on.
  QueuePair& add(QueuePair qp);
  // Its number rests; its memory is given back.
  void retire(QueuePair& qp);
  void reserve(std::uint32_t more) { qps_.reserve(qps_.size() + more); }
  std::uint32_t random_psn() { return places_->numbers.random_psn(); }

 private:
  struct Places {
    ContextRing resting;  // of destroyed queue pairs, the oldest first
    QueuePairNumbers numbers;
    Places(std::uint64_t seed, std::uint32_t port_id) : numbers(seed, port_id) {}
  };
  std::unique_ptr<Places> places_;
};

}  // namespace weft::nic
