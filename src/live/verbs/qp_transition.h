// Which attributes ibv_modify_qp may and must give for each step of a queue pair: the tables of IBTA vol 1, 11.2.5.2,
// as Linux enforces them (ib_modify_qp_is_ok), so that a program that forgets one fails here as it does on a host.
#pragma once

#include <cstdint>

namespace weft::live {

// Numbers are those of verbs.h: ibv_qp_type, ibv_qp_state, ibv_qp_attr_mask.

// An initiator of XRC answers nothing and a target asks nothing: Linux takes what concerns the other direction out of
// the mask before it looks (uverbs), so that programs may give both kinds the attributes of RC. Returns what is left.
std::uint32_t attributes_that_count(std::uint32_t type, std::uint32_t mask);

// A call without IBV_QP_STATE is a step from a state to itself.
bool may_modify(std::uint32_t type, std::uint32_t from, std::uint32_t to, std::uint32_t mask);

}  // namespace weft::live
