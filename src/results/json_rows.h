// The objects that results.json of a large fabric has many of: one per port, link, drop and pause.
#pragma once

#include "results/json_stream.h"
#include "results/json_text.h"
#include "results/pause_rows.h"
#include "results/run_result.h"

namespace weft::lab {

void add_drop(JsonText& j, const fabric::DropRecord& drop, const SwitchOutcome& each, const fabric::AddressBook& book);
void add_switch_port(JsonText& j, const SwitchPortOutcome& port);
void add_port(JsonText& j, const PortOutcome& port);
void add_pause(JsonText& j, const PauseRow& row);
void add_link(JsonText& j, const LinkOutcome& link);

// Decimal places as perftest prints them, so that files compare byte by byte on every machine.
double places(double value, int digits);

// An element of a list, as `add` writes it into `text`, whose memory is used again.
template <class Add, class... Parts>
void write_item(JsonStream& out, JsonText& text, const Add& add, const Parts&... parts) {
  text.clear();
  add(text, parts...);
  out.item(text.text());
}

}  // namespace weft::lab
