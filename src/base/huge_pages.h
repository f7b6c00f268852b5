// Asks the kernel for huge pages under the heap: a fabric of a thousand hosts touches tens of megabytes in every
// window, and address translation would cost a tenth of the run. Call before the heap grows; does nothing where it
// cannot.
#pragma once

namespace weft {

void use_huge_pages();

}  // namespace weft
