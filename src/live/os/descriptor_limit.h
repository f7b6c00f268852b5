// A world has a descriptor for each thread and each socket of its programs: many more than one program needs.
#pragma once

namespace weft::live {

// As many as this process may have; once.
void raise_descriptor_limit();
// In a program that this process starts: as it was before. Safe between fork and exec.
void restore_descriptor_limit();

}  // namespace weft::live
