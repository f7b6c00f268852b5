// The fields of NIC, host, switch and forwarder models by their catalog names: one table each, used to read the
// catalog, to apply a lab's `set:`, and to check the JSON schema against.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spec/forwarder_model.h"
#include "spec/gpu_model.h"
#include "spec/host_model.h"
#include "spec/nic_model.h"
#include "spec/switch_model.h"
#include "text/yaml_walk.h"

namespace weft::lab {

template <class Model>
struct ModelField {
  std::string_view key;
  std::variant<std::string Model::*, std::int64_t Model::*, std::uint32_t Model::*, bool Model::*,
               nic::AckTimeoutMode Model::*, nic::CnpScope Model::*, fabric::BufferSplit Model::*,
               fabric::HeadroomMethod Model::*>
      member;
  std::optional<Quantity> quantity = {};  // none: a plain number
  Range<std::int64_t> range = {};

  bool is_text() const { return std::holds_alternative<std::string Model::*>(member); }
};

std::span<const ModelField<nic::NicModel>> nic_fields();
std::span<const ModelField<host::HostModel>> host_fields();  // without its layout (catalog/host_layout.h)
std::span<const ModelField<host::GpuModel>> gpu_fields();
std::span<const ModelField<fabric::SwitchModel>> switch_fields();        // without its ports (catalog/front_ports.h)
std::span<const ModelField<fabric::ForwarderModel>> forwarder_fields();  // likewise

// Words of the enumerations.
std::span<const Word<nic::AckTimeoutMode>> ack_timeout_words();
std::span<const Word<nic::CnpScope>> cnp_scope_words();
std::span<const Word<fabric::BufferSplit>> buffer_split_words();
std::span<const Word<fabric::HeadroomMethod>> headroom_method_words();

// What `node` says for a field that is no text, as a number: in the base unit, 0 or 1, the value of an enumerator.
// Nothing when something was wrong. For the models above, as is set_field.
template <class Model>
std::optional<std::int64_t> read_field(const YamlNode& node, const ModelField<Model>& field, ProblemList& problems);
// Stores `text` in a field that is one, and `number` in any other.
template <class Model>
void set_field(const ModelField<Model>& field, std::int64_t number, std::string_view text, Model& model);

// `set: {ack_interval: 16 packets}`: any field that is a number, a flag or a choice. A NIC's pause thresholds follow
// its rx_buffer unless they are set too.
void apply_set(const YamlNode& node, nic::NicModel& model, ProblemList& problems);
void apply_set(const YamlNode& node, host::HostModel& model, ProblemList& problems);
void apply_set(const YamlNode& node, fabric::SwitchModel& model, ProblemList& problems);
void apply_set(const YamlNode& node, fabric::ForwarderModel& model, ProblemList& problems);

// The keys that `set:` accepts.
std::vector<std::string_view> settable_nic_keys();
std::vector<std::string_view> settable_host_keys();
std::vector<std::string_view> settable_switch_keys();
std::vector<std::string_view> settable_forwarder_keys();

}  // namespace weft::lab
