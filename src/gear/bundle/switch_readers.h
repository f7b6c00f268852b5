// The readers of switches by their operating system (switch.cc chooses), and what they share.
#pragma once

#include "gear/bundle/switch.h"

namespace weft::gear {

void read_eos(const Bundle& bundle, SwitchState& state);
void read_nxos(const Bundle& bundle, SwitchState& state);
void read_cumulus(const Bundle& bundle, SwitchState& state);
void read_linux_switch(const Bundle& bundle, SwitchState& state);

// "gpu01:ens1f0np0" in a description, as many sites write it.
void set_neighbour(SwitchPort& port, std::string_view description);

// A table with a line of dashes below its headings: each row by the names of the columns, in lower case.
struct TableRow {
  std::string_view first;  // the text of the first column
  std::map<std::string, std::string_view> cells;
  std::size_t line = 0;  // index in the section

  std::string_view cell(const std::string& name) const;
};
std::vector<TableRow> table_rows(const BundleSection& section);

}  // namespace weft::gear
