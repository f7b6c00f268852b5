// Small pieces of text that the report is made of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_table.h"
#include "model/lab.h"

namespace weft::lab {

std::string heading(std::string_view title);  // of a section
std::string range_text(std::optional<double> min, std::optional<double> max);
std::string_view transfer_name(workload::TransferOp op);
std::string ends_text(const Lab& lab, const WorkloadConfig& workload);  // "vm00:p0 -> vm01:p0"
std::string block(const TextTable& table);                              // as a code block of Markdown
// What the drawing says about a port.
// How near a GPU is to the NIC, as nvidia-smi says it: "PIX"; nothing when their slots are not known.
std::string gpu_path_class(const HostConfig& host, const NicConfig& nic, std::uint32_t gpu);
std::vector<std::string> port_lines(const Lab& lab, const PortRef& port);
std::vector<std::string> box(const std::vector<std::string>& lines);
// Two boxes and a cable with a text above and below it.
std::string side_by_side(const std::vector<std::string>& left, const std::string& cable,
                         const std::vector<std::string>& right);

}  // namespace weft::lab
