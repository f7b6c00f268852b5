#include "preload/process/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/wire.h"
#include "verbs/wait_protocol.h"

namespace weft::preload {

bool take_slot(Call& call) {
  verbs::TurnSlot<verbs::ReplyHead>& slot = thread.page->reply;
  call.head = slot.head();
  const std::size_t size_B = call.head.size_B < call.reply_B ? call.head.size_B : call.reply_B;
  if (call.head.size_B > call.reply_B && call.head.error == 0) call.head.error = EMSGSIZE;
  memcpy(call.reply, slot.body(), size_B);
  call.reply_B = size_B;
  call.answered = true;
  slot.empty();
  return true;
}

bool cancel(Call& call) {
  // Whatever comes from now on comes by the connection.
  bool taken = call.looks && thread.page->reply.close() && take_slot(call);
  send_request(thread.socket, verbs::Op::kCancel, verbs::weft_now_ps(), nullptr, 0);
  for (;;) {
    verbs::ReplyHead head;
    std::size_t size_B = call.answered ? 0 : call.reply_B;
    // The reply to a nudge, which another handler has asked for, is nobody's.
    void* room = call.answered ? nullptr : call.reply;
    if (!receive_reply(thread.socket, head, room, &size_B, call.answered ? nullptr : call.passed)) world_is_gone();
    move_clock_to(head.now_ps);
    if (head.error == verbs::kCancelDone) return taken;
    taken = true;
    if (call.answered) continue;
    call.answered = true;
    call.head = head;
    call.reply_B = size_B;
  }
}

Interruption::Interruption(bool restart)
    : call_(thread.call), pid_(this_process().pid), masked_(thread.masked), slots_taken_(thread.slots_taken) {
  thread.masked = false;
  if (call_ == nullptr) return;
  thread.slots_taken = true;
  AllSignalsBlocked blocked;
  taken_ = cancel(*call_);
  if (taken_) {
    call_->signalled = true;
    call_->restart = call_->restart && restart;
  }
  thread.call = nullptr;
}

void Interruption::end() {
  ++thread.handled;
  thread.masked = masked_;
  thread.slots_taken = slots_taken_;
  if (call_ == nullptr) return;
  AllSignalsBlocked blocked;
  thread.call = call_;
  const bool is_child = this_process().pid != pid_;
  if (is_child) {
    // The handler has forked, and this is the child: the request was its parent's.
    if (!call_->answered) call_->head = {EINTR, 0, 0};
    call_->answered = true;
    call_->nudged = false;
  }
  // A child that has not called yet has no connection: there is nothing to receive on, either.
  if (!taken_ && !is_child) return;
  if (thread.page == nullptr || call_->looks) return;
  send_request(thread.socket, verbs::Op::kNudge, verbs::weft_now_ps(), nullptr, 0);
  call_->nudged = true;
}

WaitMask::WaitMask(const sigset_t* mask) : set_(mask != nullptr) {
  if (!set_) return;
  thread.handled_at_mask = thread.handled;
  thread.masked = true;
  WEFT_REAL(pthread_sigmask)(SIG_SETMASK, mask, &before_);
}

WaitMask::~WaitMask() {
  if (!set_) return;
  const int error = errno;
  thread.masked = false;
  WEFT_REAL(pthread_sigmask)(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace weft::preload
