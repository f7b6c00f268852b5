// The CPU's counter in virtual time. The kernel makes a read of it fault (PR_SET_TSC), and the handler here answers the
// instruction: mrs of cntvct_el0, cntvctss_el0 and cntfrq_el0 on arm64, rdtsc and rdtscp on x86-64. The counter runs at
// 1 GHz, one tick per nanosecond: programs find out by measuring or from cntfrq_el0, the architecture's own frequency
// since Armv8.6 is the same, and no rounding comes between ticks and clock_gettime.
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <atomic>

#include "preload/process/process.h"
#include "preload/process/signals.h"
#include "preload/real.h"

namespace weft::preload {

namespace {

constexpr std::uint64_t kCounter_Hz = 1'000'000'000;

bool set_trap(bool on) {
  return prctl(PR_SET_TSC, on ? PR_TSC_SIGSEGV : PR_TSC_ENABLE, 0, 0, 0) == 0;
}

bool is_in_vdso(std::uintptr_t pc) {
  constexpr std::uintptr_t kVdsoMax_B = 16 << 10;
  const std::uintptr_t start = getauxval(AT_SYSINFO_EHDR);
  return start != 0 && pc >= start && pc < start + kVdsoMax_B;
}

std::uint64_t true_ticks() {
#if defined(__aarch64__)
  std::uint64_t value;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value) : : "memory");
  return value;
#else
  return __builtin_ia32_rdtsc();
#endif
}

bool is_trapped() {
  int mode = PR_TSC_ENABLE;
  return this_process().counter_trapped && prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_SIGSEGV;
}

// Value that an instruction at `pc` reads. The C library's own clock reads end in the vDSO, which takes the counter for
// the machine's: it gets the true one, or it would compute nonsense from it.
std::uint64_t ticks_at(std::uintptr_t pc) {
  if (!is_in_vdso(pc)) return static_cast<std::uint64_t>(read_uptime_ns());
  const CounterUntrapped untrapped;
  return true_ticks();
}

#if defined(__aarch64__)
bool emulate(ucontext_t& context) {
  constexpr std::uint32_t kFrequency = 0xd53be000, kVirtualCount = 0xd53be040, kVirtualCountOrdered = 0xd53be0c0;
  std::uint32_t instruction;
  memcpy(&instruction, reinterpret_cast<const void*>(context.uc_mcontext.pc), sizeof instruction);
  const std::uint32_t reg = instruction & 31;
  std::uint64_t value;
  switch (instruction & ~std::uint32_t{31}) {
    case kFrequency:
      value = kCounter_Hz;
      break;
    case kVirtualCount:
    case kVirtualCountOrdered:
      value = ticks_at(context.uc_mcontext.pc);
      break;
    default:
      return false;
  }
  if (reg != 31) context.uc_mcontext.regs[reg] = value;  // 31 is xzr
  context.uc_mcontext.pc += sizeof instruction;
  return true;
}
#elif defined(__x86_64__)
bool emulate(ucontext_t& context) {
  greg_t* regs = context.uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const unsigned char*>(regs[REG_RIP]);
  const bool rdtsc = code[0] == 0x0f && code[1] == 0x31;
  const bool rdtscp = code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9;
  if (!rdtsc && !rdtscp) return false;
  const std::uint64_t value = ticks_at(static_cast<std::uintptr_t>(regs[REG_RIP]));
  regs[REG_RAX] = static_cast<greg_t>(value & 0xffffffff);
  regs[REG_RDX] = static_cast<greg_t>(value >> 32);
  if (rdtscp) regs[REG_RCX] = 0;  // TSC_AUX: CPU 0 of node 0
  regs[REG_RIP] += rdtsc ? 2 : 3;
  return true;
}
#else
#error "unknown CPU counter"
#endif

// A trapped read has no address; a fault of the program's own has, and its program counter may not even be readable.
bool may_be_trapped_read(const siginfo_t& info) {
  return info.si_code == SI_KERNEL;
}

void on_fault(int signal, siginfo_t* info, void* raw) {
  const int saved_errno = errno;
  auto& context = *static_cast<ucontext_t*>(raw);
  bool done = false;
  if (may_be_trapped_read(*info)) {
    if (!is_virtual()) {
      set_trap(false);  // of this thread; the instruction runs again
      done = true;
    } else {
      done = emulate(context);
    }
  }
  errno = saved_errno;
  if (!done) program_fault(signal, info, raw);
}

}  // namespace

void trap_counter() {
  // Handler first, and open to a fault inside a fault: the program's handler may look at the clock.
  take_over_fault_signal(on_fault);
  this_process().counter_trapped = set_trap(true);
}

CounterUntrapped::CounterUntrapped() : was_trapped_(is_trapped()) {
  if (was_trapped_) set_trap(false);
}
CounterUntrapped::~CounterUntrapped() {
  if (was_trapped_) set_trap(true);
}

void warn_of_untrapped_counter() {
  static std::atomic<bool> said{false};
  const Process& process = this_process();
  if (process.counter_trapped || process.wall_clock || process.welcome.clock != verbs::Clock::kVirtual ||
      said.exchange(true))
    return;
  say("the kernel does not trap the CPU's counter; programs that read it directly see real time "
      "(arm64 needs Linux 6.12%s)",
      "");
}

}  // namespace weft::preload
