#include "gear/emit_host.h"
#include "gear/import_clab.h"
namespace weft::gear {
void emit_nvue(const SwitchJob&, SwitchOutput&) {}
void emit_eos(const SwitchJob&, SwitchOutput&) {}
void emit_nxos(const SwitchJob&, SwitchOutput&) {}
void emit_routeros(const SwitchJob&, SwitchOutput&) {}
void emit_linux(const SwitchJob&, SwitchOutput&) {}
void emit_linux_forwarder(const lab::Lab&, std::uint32_t, SwitchOutput&) {}
void emit_host(const lab::Lab&, std::uint32_t, const RoutingPlan&, const EmitOptions&, SwitchOutput&) {}
void emit_containerlab(const lab::Lab&, const RoutingPlan&, const EmitOptions&, Emission&) {}
tl::expected<ImportedLab, std::vector<lab::Problem>> import_clab(std::string_view, const ClabOptions&) {
  return ImportedLab{};
}
}  // namespace weft::gear
