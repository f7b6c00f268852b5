// The ibv_wr_* way of posting: a call for the operation, one for its target, one for its data, and one that shows the
// world all of them or none. perftest takes it on every device that looks like mlx5. Entries are written into the ring
// behind what was posted; the first error is kept and told at the end.
#include <cerrno>
#include <cstring>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

void refuse(Qp& qp, int error) {
  if (qp.wr_error == 0) qp.wr_error = error;
  qp.wr_entry = nullptr;
}

// The next entry, or null when there was an error: then what belongs to it is ignored.
SendEntry* begin(ibv_qp_ex* face, ibv_wr_opcode opcode) {
  Qp& qp = qp_of(face);
  if (qp.wr_next - qp.send_freed.load(std::memory_order_acquire) >= qp.send.entries) refuse(qp, ENOMEM);
  if (!is_possible(qp.qp_type, opcode)) refuse(qp, EINVAL);
  if (qp.wr_error != 0) return nullptr;
  qp.wr_entry = qp.send.at<SendEntry>(qp.wr_next++);
  *qp.wr_entry = {};
  qp.wr_entry->wr_id = face->wr_id;
  qp.wr_entry->flags = face->wr_flags & ~static_cast<unsigned int>(IBV_SEND_INLINE);
  qp.wr_entry->opcode = opcode;
  return qp.wr_entry;
}

void begin_remote(ibv_qp_ex* face, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address, std::uint32_t imm) {
  SendEntry* entry = begin(face, opcode);
  if (entry == nullptr) return;
  entry->remote_va = address;
  entry->rkey = rkey;
  entry->imm = imm;
}

void begin_send(ibv_qp_ex* face, ibv_wr_opcode opcode, std::uint32_t imm) {
  if (SendEntry* entry = begin(face, opcode); entry != nullptr) entry->imm = imm;
}

void wr_send(ibv_qp_ex* face) {
  begin_send(face, IBV_WR_SEND, 0);
}

void wr_send_imm(ibv_qp_ex* face, __be32 imm) {
  begin_send(face, IBV_WR_SEND_WITH_IMM, imm);
}

void wr_send_inv(ibv_qp_ex* face, std::uint32_t rkey) {
  begin_send(face, IBV_WR_SEND_WITH_INV, rkey);
}

void wr_rdma_write(ibv_qp_ex* face, std::uint32_t rkey, std::uint64_t address) {
  begin_remote(face, IBV_WR_RDMA_WRITE, rkey, address, 0);
}

void wr_rdma_write_imm(ibv_qp_ex* face, std::uint32_t rkey, std::uint64_t address, __be32 imm) {
  begin_remote(face, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address, imm);
}

void wr_rdma_read(ibv_qp_ex* face, std::uint32_t rkey, std::uint64_t address) {
  begin_remote(face, IBV_WR_RDMA_READ, rkey, address, 0);
}

void begin_atomic(ibv_qp_ex* face, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address,
                  std::uint64_t compare_add, std::uint64_t swap) {
  SendEntry* entry = begin(face, opcode);
  if (entry == nullptr) return;
  entry->remote_va = address;
  entry->rkey = rkey;
  entry->compare_add = compare_add;
  entry->swap = swap;
}

void wr_compare_swap(ibv_qp_ex* face, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare,
                     std::uint64_t swap) {
  begin_atomic(face, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address, compare, swap);
}

void wr_fetch_add(ibv_qp_ex* face, std::uint32_t rkey, std::uint64_t address, std::uint64_t add) {
  begin_atomic(face, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address, add, 0);
}

void wr_set_ud_addr(ibv_qp_ex* face, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  SendEntry* entry = qp_of(face).wr_entry;
  if (entry == nullptr) return;
  entry->ah = ah->handle;
  entry->remote_qpn = qpn;
  entry->qkey = qkey;
}

void wr_set_sge_list(ibv_qp_ex* face, std::size_t count, const ibv_sge* list) {
  Qp& qp = qp_of(face);
  if (count > qp.cap.max_send_sge) refuse(qp, EINVAL);
  if (qp.wr_entry != nullptr) write_sges(list, static_cast<std::uint32_t>(count), *qp.wr_entry);
}

void wr_set_sge(ibv_qp_ex* face, std::uint32_t lkey, std::uint64_t address, std::uint32_t length_B) {
  const ibv_sge sge{address, length_B, lkey};
  wr_set_sge_list(face, 1, &sge);
}

void wr_set_inline_data_list(ibv_qp_ex* face, std::size_t count, const ibv_data_buf* list) {
  Qp& qp = qp_of(face);
  std::size_t total_B = 0;
  for (std::size_t i = 0; i < count && qp.wr_entry != nullptr; ++i) {
    if (list[i].length > qp.cap.max_inline_data - total_B) {
      refuse(qp, EINVAL);
      return;
    }
    std::memcpy(reinterpret_cast<std::uint8_t*>(qp.wr_entry + 1) + total_B, list[i].addr, list[i].length);
    total_B += list[i].length;
  }
  if (qp.wr_entry == nullptr) return;
  qp.wr_entry->flags |= IBV_SEND_INLINE;
  qp.wr_entry->inline_B = static_cast<std::uint16_t>(total_B);
}

void wr_set_inline_data(ibv_qp_ex* face, void* address, std::size_t length_B) {
  const ibv_data_buf buffer{address, length_B};
  wr_set_inline_data_list(face, 1, &buffer);
}

void wr_start(ibv_qp_ex* face) {
  Qp& qp = qp_of(face);
  weft_connect();  // as SpinGuard does
  pthread_spin_lock(&qp.send_lock);
  qp.wr_first = qp.wr_next = qp.send.head->produced.load(std::memory_order_relaxed);
  qp.wr_entry = nullptr;
  qp.wr_error = may_send(qp.state) ? 0 : EINVAL;
}

int wr_complete(ibv_qp_ex* face) {
  Qp& qp = qp_of(face);
  const int error = qp.wr_error;
  if (error == 0) publish_sends(qp.send, qp.wr_first, qp.wr_next);
  pthread_spin_unlock(&qp.send_lock);
  return error;
}

void wr_abort(ibv_qp_ex* face) {
  pthread_spin_unlock(&qp_of(face).send_lock);
}

void wr_set_xrc_srqn(ibv_qp_ex* face, std::uint32_t number) {
  if (Qp& qp = qp_of(face); qp.wr_entry != nullptr) qp.wr_entry->remote_qpn = number;
}

void wr_bind_mw(ibv_qp_ex* face, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) {
  SendEntry* entry = begin(face, IBV_WR_BIND_MW);
  if (entry == nullptr) return;
  if (const int error = write_bind(*entry, *mw, rkey, *info); error != 0) refuse(qp_of(face), error);
}

void wr_local_inv(ibv_qp_ex* face, std::uint32_t rkey) {
  begin_send(face, IBV_WR_LOCAL_INV, rkey);
}

struct Operation {
  std::uint64_t flag;
  ibv_wr_opcode opcode;
};
constexpr Operation kOperations[] = {
    {IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE},
    {IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM},
    {IBV_QP_EX_WITH_SEND, IBV_WR_SEND},
    {IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM},
    {IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV},
    {IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ},
    {IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP},
    {IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD},
    {IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW},
    {IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV},
};

}  // namespace

int set_wr_calls(Qp& qp, std::uint64_t operations) {
  for (const Operation& known : kOperations) {
    if (is_possible(qp.qp_type, known.opcode)) operations &= ~known.flag;
  }
  if (operations != 0) return EOPNOTSUPP;
  ibv_qp_ex* face = face_of(&qp);
  face->wr_send = wr_send;
  face->wr_send_imm = wr_send_imm;
  face->wr_send_inv = wr_send_inv;
  face->wr_rdma_write = wr_rdma_write;
  face->wr_rdma_write_imm = wr_rdma_write_imm;
  face->wr_rdma_read = wr_rdma_read;
  face->wr_atomic_cmp_swp = wr_compare_swap;
  face->wr_atomic_fetch_add = wr_fetch_add;
  face->wr_bind_mw = wr_bind_mw;
  face->wr_local_inv = wr_local_inv;
  face->wr_set_ud_addr = wr_set_ud_addr;
  face->wr_set_xrc_srqn = wr_set_xrc_srqn;
  face->wr_set_sge = wr_set_sge;
  face->wr_set_sge_list = wr_set_sge_list;
  face->wr_set_inline_data = wr_set_inline_data;
  face->wr_set_inline_data_list = wr_set_inline_data_list;
  face->wr_start = wr_start;
  face->wr_complete = wr_complete;
  face->wr_abort = wr_abort;
  qp.has_ex = true;
  return 0;
}

}  // namespace weft::verbs
