// How a signal ends a wait. A handler of the program's runs while a request of its thread is out: the world is asked to
// cancel it (kCancel), what it answers is kept for whoever sent the request, and the handler runs as any code of the
// thread does, with its clock and its connection. When it returns, the world is nudged for a reply, since the thread is
// in the middle of receiving one; when it leaves by longjmp nothing is left behind. A signal is therefore never lost,
// whether it comes before the thread sleeps in the kernel or after.
#pragma once

#include <signal.h>

#include "preload/connection.h"

namespace weft::preload {

// A request that is out.
struct Call {
  void* reply;
  std::size_t reply_B;  // room, then size
  verbs::Descriptors* passed;
  verbs::ReplyHead head{};
  bool answered = false;   // the reply is here
  bool looks = false;      // for the reply, in the thread's page
  bool nudged = false;     // an empty one is on its way, in place of the one that a handler's turn has taken
  bool signalled = false;  // a handler has run during it
  bool restart = true;     // all of those have SA_RESTART
};

// The reply is in the thread's page. Returns true.
bool take_slot(Call& call);
// Ends the wait of this call. Returns whether a reply was taken from the connection. Signals are blocked.
bool cancel(Call& call);

// While a handler of the program's runs.
class Interruption {
 public:
  explicit Interruption(bool restart);
  void end();  // not a destructor: the handler may never return

 private:
  Call* call_;
  int pid_;
  bool taken_ = false, masked_, slots_taken_;
};

// For as long as it lives, a wait with this mask (ppoll, pselect, sigsuspend); null: no other mask.
class WaitMask {
 public:
  explicit WaitMask(const sigset_t* mask);
  ~WaitMask();
  WaitMask(const WaitMask&) = delete;
  WaitMask& operator=(const WaitMask&) = delete;

 private:
  bool set_;
  sigset_t before_;
};

}  // namespace weft::preload
