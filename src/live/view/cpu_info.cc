#include "live/view/cpu_info.h"

namespace weft::live {

namespace {

// "Intel(R) Xeon(R) Processor @ 2.50GHz": the kernel's name of the model ends with it, where the CPU says it.
std::string model_at_counter_frequency(std::string_view line) {
  const std::size_t at = line.rfind("@ ");
  return std::string(line.substr(0, at)) + "@ 1.00GHz";
}

}  // namespace

std::string cpu_info_at_counter_frequency(std::string_view machine) {
  std::string text;
  bool named = false;
  while (!machine.empty()) {
    const std::string_view line = machine.substr(0, machine.find('\n'));
    machine.remove_prefix(line.size() < machine.size() ? line.size() + 1 : line.size());
    if (line.starts_with("cpu MHz")) {
      text += "cpu MHz\t\t: 1000.000";
      named = true;
    } else if (line.starts_with("model name") && line.ends_with("Hz") && line.find("@ ") != line.npos) {
      text += model_at_counter_frequency(line);
      named = true;
    } else {
      text += line;
    }
    text += '\n';
  }
  return named ? text : std::string();
}

}  // namespace weft::live
