// The objects that results.json of a large fabric has many of: one per port, link, drop and pause.
#pragma once

#include "results/pause_rows.h"
#include "results/run_result.h"
#include "store/json_stream.h"
#include "store/json_text.h"
#include "store/rows/fabric_rows.h"
#include "store/rows/object_rows.h"

namespace weft::lab {

store::DropRow drop_row(const fabric::DropRecord& drop, const SwitchOutcome& each, const fabric::AddressBook& book);
void add_switch_port(store::JsonText& j, const SwitchPortOutcome& port);
void add_port(store::JsonText& j, const PortOutcome& port);
store::PauseObject pause_object(const PauseRow& row);
store::LedgerRow ledger_row(const LinkOutcome& link);

// Decimal places as perftest prints them, so that files compare byte by byte on every machine.
inline double places(double value, int digits) {
  return store::rounded(value, digits);
}

// An element of a list, as `add` writes it into `text`, whose memory is used again.
template <class Add, class... Parts>
void write_item(store::JsonStream& out, store::JsonText& text, const Add& add, const Parts&... parts) {
  text.clear();
  add(text, parts...);
  out.item(text.text());
}

}  // namespace weft::lab
