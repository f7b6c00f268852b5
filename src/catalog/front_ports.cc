#include "catalog/front_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "catalog/link_rules.h"

namespace weft::lab {
namespace {

constexpr std::int64_t kGbps = 1'000'000'000;
constexpr std::uint64_t kMaxPorts = 1024;

// Takes what stands before `end` off the front of `text`; nothing when `end` is not there.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return head;
}

std::optional<std::uint32_t> whole_number(std::string_view text, std::uint64_t max) {
  const auto value = parse_unsigned(text);
  if (!value || *value == 0 || *value > max) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::optional<std::int64_t> ethernet_rate_bps(std::string_view text) {
  if (!text.ends_with('G')) return std::nullopt;
  const auto value = whole_number(text.substr(0, text.size() - 1), 800);
  if (!value) return std::nullopt;
  const auto rates = ethernet_rates_bps();
  const std::int64_t rate_bps = *value * kGbps;
  if (std::find(rates.begin(), rates.end(), rate_bps) == rates.end()) return std::nullopt;
  return rate_bps;
}

}  // namespace

tl::expected<fabric::FrontPorts, TextError> parse_front_ports(std::string_view text) {
  const auto wrong = [text] {
    return tl::unexpected(TextError{fmt::format("\"{}\" does not describe ports", text),
                                    "write it like 32x 100G/50G/25G on 4 lanes, the highest rate first"});
  };
  std::string_view rest = text;
  const auto count_text = take_until(rest, "x ");
  auto rates_text = take_until(rest, " on ");
  const auto lanes_text = take_until(rest, rest.ends_with(" lanes") ? " lanes" : " lane");
  if (!count_text || !rates_text || !lanes_text || !rest.empty()) return wrong();
  const auto count = whole_number(*count_text, kMaxPorts);
  const auto lanes = whole_number(*lanes_text, 8);
  if (!count || !lanes) return wrong();
  fabric::FrontPorts ports{*count, {}, *lanes};
  for (bool more = true; more;) {
    const auto head = take_until(*rates_text, "/");
    more = head.has_value();
    const auto rate_bps = ethernet_rate_bps(head.value_or(*rates_text));
    if (!rate_bps || (!ports.rates_bps.empty() && *rate_bps >= ports.rates_bps.back())) return wrong();
    ports.rates_bps.push_back(*rate_bps);
  }
  return ports;
}

std::uint32_t front_port_count(const fabric::SwitchModel& model) {
  std::uint32_t count = 0;
  for (const fabric::FrontPorts& ports : model.ports) count += ports.count;
  return count;
}

const fabric::FrontPorts* front_port(const fabric::SwitchModel& model, std::uint32_t number) {
  std::uint32_t last = 0;
  for (const fabric::FrontPorts& ports : model.ports) {
    last += ports.count;
    if (number != 0 && number <= last) return &ports;
  }
  return nullptr;
}

}  // namespace weft::lab
