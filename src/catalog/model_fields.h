// The fields of NIC, host, switch and forwarder models by their catalog names: one table each (text/fields.h), used to
// read the catalog and to apply a lab's `set:`.
#pragma once

#include "spec/forwarder_model.h"
#include "spec/gpu_model.h"
#include "spec/host_model.h"
#include "spec/nic_model.h"
#include "spec/switch_model.h"
#include "text/fields.h"
#include "text/problem.h"
#include "text/yaml_tree.h"

namespace weft::lab {

// All of a model but its name, texts first.
FieldList nic_fields();
FieldList host_fields();  // without its layout (catalog/host_layout.h)
FieldList gpu_fields();
FieldList switch_fields();     // without its ports (catalog/front_ports.h)
FieldList forwarder_fields();  // likewise

// The keys that `set:` accepts: those that are no texts.
extern const SectionOf<nic::NicModel> kNicSetKeys;
extern const SectionOf<host::HostModel> kHostSetKeys;
extern const SectionOf<fabric::SwitchModel> kSwitchSetKeys;
extern const SectionOf<fabric::ForwarderModel> kForwarderSetKeys;

// `set: {ack_interval: 16 packets}`: any field that is a number, a flag or a choice. A NIC's pause thresholds follow
// its rx_buffer unless they are set too.
void apply_set(const YamlNode& node, nic::NicModel& model, ProblemList& problems);
void apply_set(const YamlNode& node, host::HostModel& model, ProblemList& problems);
void apply_set(const YamlNode& node, fabric::SwitchModel& model, ProblemList& problems);
void apply_set(const YamlNode& node, fabric::ForwarderModel& model, ProblemList& problems);

}  // namespace weft::lab
