// The main program of all fuzz targets: weft_fuzz --target=lab_fuzz, then libFuzzer's own arguments.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fuzz/targets.h"

namespace {

using namespace weft::fuzz;

struct Entry {
  std::string_view name;
  FuzzTarget* run;
};
constexpr Entry kEntries[] = {
    {"analyze_fuzz", analyze_fuzz},
    {"chakra_fuzz", chakra_fuzz},
    {"cm_fuzz", cm_fuzz},
    {"connection_fuzz", connection_fuzz},
    {"doctor_fuzz", doctor_fuzz},
    {"frame_fuzz", frame_fuzz},
    {"gear_import_fuzz", gear_import_fuzz},
    {"lab_fuzz", lab_fuzz},
    {"mad_fuzz", mad_fuzz},
    {"nccl_fuzz", nccl_fuzz},
    {"outside_fuzz", outside_fuzz},
    {"pcap_fuzz", pcap_fuzz},
    {"program_fuzz", program_fuzz},
    {"results_fuzz", results_fuzz},
    {"simai_fuzz", simai_fuzz},
    {"vm_host_fuzz", vm_host_fuzz},
};

FuzzTarget* chosen = nullptr;

}  // namespace

// libFuzzer ignores arguments that begin with two dashes, and hands them to the processes that it starts.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (!argument.starts_with(kOption)) continue;
    for (const Entry& entry : kEntries) {
      if (argument.substr(kOption.size()) == entry.name) chosen = entry.run;
    }
  }
  if (chosen != nullptr) return 0;
  std::fputs("weft_fuzz: no such target; use one of", stderr);
  for (const Entry& entry : kEntries) std::fprintf(stderr, " --target=%s", entry.name.data());
  std::fputs("\n", stderr);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return chosen(data, size);
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t room, unsigned seed) {
  return chosen == lab_fuzz ? mutate_lab(data, size, room, seed) : LLVMFuzzerMutate(data, size, room);
}
