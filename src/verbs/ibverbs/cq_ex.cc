// The ibv_cq_ex way of taking completions: one at a time, between ibv_start_poll and ibv_end_poll, and of each only
// what the program asks for. Timestamps are the card's clock, of 1 GHz: nanoseconds of the world.
#include <ctime>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

constexpr std::int64_t kPsOfNs = 1000;

void show(Cq& cq) {
  ibv_cq_ex* face = face_of(&cq);
  face->wr_id = cq.current.wr_id;
  face->status = static_cast<ibv_wc_status>(cq.current.status);
  something_happened();
  weft_spend_ps(weft_costs()->poll_hit_ps);
}

// The lock is held from here until ibv_end_poll, if there is an entry.
int start_poll(ibv_cq_ex* face, ibv_poll_cq_attr* attr) {
  if (attr->comp_mask != 0) return EINVAL;
  Cq& cq = cq_of(face);
  weft_connect();  // as SpinGuard does
  pthread_spin_lock(&cq.lock);
  bool found = advance(cq);
  if (!found) {
    pthread_spin_unlock(&cq.lock);
    if (!wait_for_entries(cq)) return ENOENT;
    pthread_spin_lock(&cq.lock);
    found = advance(cq);
    if (!found) pthread_spin_unlock(&cq.lock);
  }
  if (!found) return ENOENT;
  show(cq);
  return 0;
}

int next_poll(ibv_cq_ex* face) {
  Cq& cq = cq_of(face);
  if (!advance(cq)) return ENOENT;
  show(cq);
  return 0;
}

void end_poll(ibv_cq_ex* face) {
  pthread_spin_unlock(&cq_of(face).lock);
}

const CqEntry& entry_of(ibv_cq_ex* face) {
  return cq_of(face).current;
}

ibv_wc_opcode read_opcode(ibv_cq_ex* face) {
  return static_cast<ibv_wc_opcode>(entry_of(face).opcode);
}
std::uint32_t read_vendor_error(ibv_cq_ex* face) {
  return entry_of(face).vendor_error;
}
std::uint32_t read_byte_len(ibv_cq_ex* face) {
  return entry_of(face).byte_len;
}
__be32 read_imm_data(ibv_cq_ex* face) {
  return entry_of(face).imm;
}
std::uint32_t read_qp_num(ibv_cq_ex* face) {
  return entry_of(face).qpn;
}
std::uint32_t read_src_qp(ibv_cq_ex* face) {
  return entry_of(face).src_qp;
}
unsigned int read_wc_flags(ibv_cq_ex* face) {
  return entry_of(face).flags;
}
std::uint32_t read_slid(ibv_cq_ex*) {
  return 0;
}
std::uint8_t read_sl(ibv_cq_ex* face) {
  return static_cast<std::uint8_t>(entry_of(face).sl);
}
std::uint8_t read_dlid_path_bits(ibv_cq_ex*) {
  return 0;
}
std::uint64_t read_completion_ts(ibv_cq_ex* face) {
  return static_cast<std::uint64_t>(entry_of(face).time_ps / kPsOfNs);
}
// The program's clock, less how long ago it was.
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* face) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t ago_ns = (weft_now_ps() - entry_of(face).time_ps) / kPsOfNs;
  return static_cast<std::uint64_t>(now.tv_sec * 1'000'000'000 + now.tv_nsec - ago_ns);
}

constexpr std::uint64_t kKnownFields = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

void set_readers(ibv_cq_ex& face, std::uint64_t fields) {
  auto wants = [&](std::uint64_t field) { return (fields & field) != 0; };
  face.start_poll = start_poll;
  face.next_poll = next_poll;
  face.end_poll = end_poll;
  face.read_opcode = read_opcode;
  face.read_vendor_err = read_vendor_error;
  face.read_wc_flags = read_wc_flags;
  if (wants(IBV_WC_EX_WITH_BYTE_LEN)) face.read_byte_len = read_byte_len;
  if (wants(IBV_WC_EX_WITH_IMM)) face.read_imm_data = read_imm_data;
  if (wants(IBV_WC_EX_WITH_QP_NUM)) face.read_qp_num = read_qp_num;
  if (wants(IBV_WC_EX_WITH_SRC_QP)) face.read_src_qp = read_src_qp;
  if (wants(IBV_WC_EX_WITH_SLID)) face.read_slid = read_slid;
  if (wants(IBV_WC_EX_WITH_SL)) face.read_sl = read_sl;
  if (wants(IBV_WC_EX_WITH_DLID_PATH_BITS)) face.read_dlid_path_bits = read_dlid_path_bits;
  if (wants(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)) face.read_completion_ts = read_completion_ts;
  if (wants(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK))
    face.read_completion_wallclock_ns = read_completion_wallclock_ns;
}

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init) {
  constexpr std::uint32_t kKnown = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  if ((init->comp_mask & ~kKnown) != 0) return fail(EINVAL);
  if ((init->wc_flags & ~kKnownFields) != 0) return fail(EOPNOTSUPP);
  // Single-threaded: the lock is then never waited for. A queue that may be overrun is not modelled.
  const std::uint32_t flags = (init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? init->flags : 0;
  if ((flags & ~std::uint32_t{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}) != 0) return fail(EOPNOTSUPP);
  ibv_pd* domain = (init->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0 ? init->parent_domain : nullptr;
  if (domain != nullptr && static_cast<Pd*>(domain)->parent_of == nullptr) return fail(EINVAL);
  Cq* cq = create_cq(context, *init, domain);
  if (cq == nullptr) return nullptr;
  set_readers(*face_of(cq), init->wc_flags);
  return face_of(cq);
}

int query_rt_values(ibv_context*, ibv_values_ex* values) {
  if ((values->comp_mask & ~std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EINVAL;
  const std::int64_t now_ns = weft_now_ps() / kPsOfNs;
  values->raw_clock = {now_ns / 1'000'000'000, now_ns % 1'000'000'000};
  values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
}

}  // namespace weft::verbs
