// Asks the kernel for huge pages under the heap: a fabric of a thousand hosts touches tens of megabytes in every
// window, and address translation would cost a tenth of the run. Call before the heap grows; does nothing where it
// cannot.
#pragma once

namespace weft {

void use_huge_pages();
// The opposite, for a process that lives long and answers many: the heap grows in small steps, what is freed at its end
// and what is large goes back to the kernel.
void use_small_pages();

}  // namespace weft
