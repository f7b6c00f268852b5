// lspci -vv and nvidia-smi topo -m.
#include <algorithm>

#include "gear/bundle/host.h"

namespace weft::gear {

namespace {

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

// "0000:41:00.0" or "41:00.0".
bool is_pci_address(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == text.npos || dot + 2 != text.size()) return false;
  const auto parts = words_of(text.substr(0, dot), ":");
  if (parts.size() < 2 || parts.size() > 3) return false;
  return std::all_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return part.size() <= 8 && is_hex(part); });
}

// Text after "Speed " or "Width x" in a line of LnkCap or LnkSta.
std::string_view link_field(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  return at == line.npos ? std::string_view() : line.substr(at + name.size());
}

// nvidia-smi underlines the names of columns for a terminal.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain += text[i];
      continue;
    }
    while (i < text.size() && text[i] != 'm') ++i;
  }
  return plain;
}

}  // namespace

void HostReader::read_lspci() {
  PciDevice* device = nullptr;
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    if (!line.empty() && line[0] != '\t' && line[0] != ' ') {
      const std::string_view address = line.substr(0, line.find(' '));
      device = nullptr;
      if (!is_pci_address(address) || address.size() == line.size()) continue;
      device = &pci_device(address);
      device->name = std::string(line.substr(address.size() + 1));
      device->from = at(i);
      continue;
    }
    if (device == nullptr) continue;
    const bool is_cap = trimmed(line).starts_with("LnkCap:"), is_now = trimmed(line).starts_with("LnkSta:");
    if (is_cap || is_now) {
      const auto speed = leading_decimal(link_field(line, "Speed "));
      const auto lanes = leading_number(link_field(line, "Width x"));
      if (speed) (is_cap ? device->cap_GTps : device->now_GTps) = seen(*speed, i);
      if (lanes) (is_cap ? device->cap_lanes : device->now_lanes) = seen(*lanes, i);
    }
    if (auto value = value_after(line, "ACSCtl:"))
      device->acs = seen(value->find("SrcValid+") != value->npos || value->find("ReqRedir+") != value->npos, i);
    if (auto value = value_after(line, "NUMA node:")) {
      if (const auto node = leading_number(*value)) device->numa_node = seen(*node, i);
    }
    if (auto value = value_after(line, "IOMMU group:")) device->iommu_group = leading_number(*value);
    if (auto value = value_after(line, "Kernel driver in use:")) device->driver = std::string(*value);
    if (auto value = value_after(line, "Product Name:")) {
      // "ConnectX-6 VPI adapter card, HDR IB (200Gb/s) and 200GbE, …"
      const std::size_t unit = value->find("Gb/s");
      const std::size_t digits = unit == value->npos ? unit : value->find_last_not_of("0123456789", unit - 1);
      if (unit != value->npos && unit > 0 && digits != value->npos && digits + 1 < unit)
        device->product_Gbps = seen(leading_decimal(value->substr(digits + 1)).value_or(0), i);
    }
  }
}

void HostReader::read_topology() {
  std::vector<std::string> columns;
  std::map<std::string, std::string> nics;
  std::vector<std::pair<std::pair<std::string, std::string>, Seen<std::string>>> cells;
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string line = without_escapes(section_->lines[i]);
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (columns.empty()) {
      for (std::string_view word : words) {
        if (word.starts_with("GPU") || word.starts_with("NIC") || word.starts_with("mlx")) columns.emplace_back(word);
        if (word == "CPU") break;
      }
    } else if (words[0].starts_with("GPU") && words[0].find(':') == words[0].npos) {
      for (std::size_t c = 0; c < columns.size() && c + 1 < words.size(); ++c)
        cells.push_back({{std::string(words[0]), columns[c]}, seen(std::string(words[c + 1]), i)});
    } else if (words.size() == 2 && words[0].starts_with("NIC") && words[0].ends_with(":")) {
      nics[std::string(words[0].substr(0, words[0].size() - 1))] = std::string(words[1]);
    }
  }
  for (auto& [names, path] : cells) {
    const auto nic = nics.find(names.second);
    const std::string column = nic == nics.end() ? names.second : nic->second;
    if (!column.starts_with("GPU")) host_.topology.insert_or_assign(std::pair(names.first, column), path);
  }
}

}  // namespace weft::gear
