// A static program: libweft.so cannot be preloaded into it, and it reads the CPU's counter.
#include <stdint.h>

int main() {
#if defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
#else
  const uint64_t value = __builtin_ia32_rdtsc();
#endif
  return value > 0 ? 0 : 1;
}
