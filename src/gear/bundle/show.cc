// The tables that SONiC's `show` prints: interfaces status, pfc counters, pfcwd stats, priority-group drop counters,
// interfaces counters, lldp table.
#include <algorithm>

#include "gear/bundle/switch_readers.h"

namespace weft::gear {

namespace {

// SONiC aligns columns by a line of dashes: "---------  ------".
std::vector<std::pair<std::size_t, std::size_t>> columns_of(std::string_view dashes) {
  std::vector<std::pair<std::size_t, std::size_t>> columns;
  for (std::size_t at = dashes.find('-'); at != dashes.npos;) {
    const std::size_t end = std::min(dashes.find_first_not_of('-', at), dashes.size());
    columns.emplace_back(at, end - at);
    at = end == dashes.size() ? dashes.npos : dashes.find('-', end);
  }
  return columns;
}

bool is_rule(std::string_view line) {
  return line.find("--") != line.npos && trimmed(line).find_first_not_of("- ") == line.npos;
}

std::uint64_t speed_Mbps(std::string_view text) {
  const std::uint64_t number = std::min<std::uint64_t>(leading_number(text).value_or(0), 10'000'000);
  return text.ends_with("G") ? number * 1000 : number;
}

}  // namespace

std::string_view TableRow::cell(const std::string& name) const {
  const auto it = cells.find(name);
  return it == cells.end() ? std::string_view() : it->second;
}

std::vector<TableRow> table_rows(const BundleSection& section) {
  std::vector<TableRow> rows;
  std::vector<std::pair<std::size_t, std::size_t>> columns;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < section.lines.size(); ++i) {
    const std::string_view line = section.lines[i];
    if (is_rule(line)) {
      columns = columns_of(line);
      names.clear();
      for (const auto& [at, width] : columns) {
        const std::string_view heading = i > 0 ? std::string_view(section.lines[i - 1]) : std::string_view();
        names.push_back(lower_case(trimmed(heading.substr(std::min(at, heading.size()), width))));
      }
      continue;
    }
    if (columns.empty() || trimmed(line).empty()) continue;
    TableRow& row = rows.emplace_back();
    row.line = i;
    for (std::size_t c = 0; c < columns.size(); ++c)
      row.cells[names[c]] = trimmed(line.substr(std::min(columns[c].first, line.size()), columns[c].second));
    row.first = trimmed(line.substr(0, std::min(columns[0].first + columns[0].second, line.size())));
  }
  return rows;
}

void read_show(const Bundle& bundle, const BundleSection& section, SwitchState& state) {
  const auto is = [&](std::string_view command) { return std::string_view(section.command).starts_with(command); };
  const bool status = is("show interfaces status") || is("show interface status");
  const bool counters = is("show interfaces counters") || is("show interface counters");
  const bool pfc = is("show pfc counters"), storms = is("show pfcwd stats"), lldp = is("show lldp table");
  const bool drops = is("show priority-group drop counters");
  if (!status && !counters && !pfc && !storms && !lldp && !drops) return;
  for (const TableRow& each : table_rows(section)) {
    std::map<std::string, std::string_view> row = each.cells;
    const Evidence from = bundle.at(section, each.line);
    const std::string_view first = each.first;
    const std::size_t colon = first.find(':');
    const auto found = state.ports.find(std::string(first.substr(0, colon)));
    if (found == state.ports.end()) continue;
    SwitchPort& port = found->second;
    if (status) {
      if (!row["oper"].empty()) port.oper = {lower_case(row["oper"]), from};
      if (!row["admin"].empty()) port.admin = {lower_case(row["admin"]), from};
      if (const std::uint64_t speed = speed_Mbps(row["speed"]); speed > 0) port.speed_Mbps = {speed, from};
      if (const auto mtu = leading_number(row["mtu"])) port.mtu = {*mtu, from};
      if (const std::string fec = lower_case(row["fec"]); !fec.empty() && fec != "n/a") port.fec = {fec, from};
    } else if (counters) {
      if (const auto errors = leading_number(row["rx_err"])) port.rx_errors = {*errors, from};
    } else if (pfc || drops) {
      const bool receives = row.contains("port rx");
      for (std::uint32_t number = 0; number < 8; ++number) {
        const auto value = leading_number(row[(pfc ? "pfc" : "pg") + std::to_string(number)]);
        if (value) (drops ? port.group_drops : receives ? port.pfc_rx : port.pfc_tx)[number] = {*value, from};
      }
    } else if (storms) {
      const auto queue = leading_number(colon == first.npos ? "" : first.substr(colon + 1));
      const std::string_view detected = row["storm detected/restored"];
      if (queue && *queue < 64 && leading_number(detected).value_or(0) > 0)
        port.storms[static_cast<std::uint32_t>(*queue)] = {std::string(detected), from};
    } else if (lldp) {
      port.neighbour_host = std::string(row["remotedevice"]);
      // Hosts send the MAC as the port's id and its name as the description.
      const std::string_view id = row["remoteportid"], description = row["remoteportdescr"];
      port.neighbour_port = std::string(id.find(':') != id.npos && !description.empty() ? description : id);
    }
  }
}

}  // namespace weft::gear
