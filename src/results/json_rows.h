// The objects that results.json of a large fabric has many of: one per flow, port, link, drop and pause.
#pragma once

#include "results/json_text.h"
#include "results/pause_rows.h"
#include "results/run_result.h"

namespace weft::lab {

void add_flow(JsonText& j, const FlowOutcome& flow);
void add_drop(JsonText& j, const fabric::DropRecord& drop, const SwitchOutcome& each, const fabric::AddressBook& book);
void add_switch_port(JsonText& j, const SwitchPortOutcome& port);
void add_port(JsonText& j, const PortOutcome& port);
void add_pause(JsonText& j, const PauseRow& row);
void add_link(JsonText& j, const LinkOutcome& link);

// Decimal places as perftest prints them, so that files compare byte by byte on every machine.
double places(double value, int digits);

}  // namespace weft::lab
