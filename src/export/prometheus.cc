#include "export/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "export/metric_families.h"
#include "export/metric_names.h"

namespace weft::exports {

namespace {

std::string hw_help(std::string_view counter) {
  return fmt::format("hw_counters/{} of the RDMA device.", counter);
}

using PortKey = std::pair<std::string, std::string>;

// A counter that has no row is 0: every port has every counter that one of them has.
void add_nics(const PortResults& results, MetricFamilies& out) {
  std::map<PortKey, std::map<std::string, std::uint64_t>> hardware, ethtool;
  std::set<std::string> ethtool_names, other_names;
  for (const PortCounter& each : results.counters) {
    if (each.group == "ethtool") {
      ethtool[{each.node, each.port}][each.name] = each.value;
      ethtool_names.insert(each.name);
    } else {
      hardware[{each.node, each.port}][each.name] = each.value;
      if (infiniband_metric(each.name).empty()) other_names.insert(each.name);
    }
  }
  for (const NicPort& nic : results.nic_ports) {
    const PortKey key{nic.node, nic.port};
    const std::string rdma = metric_labels({{"instance", nic.node}, {"device", nic.device}, {"port", "1"}});
    const std::string net = metric_labels({{"instance", nic.node}, {"device", nic.port}});
    for (std::size_t i = 0; !infiniband_counter(i).empty(); ++i) {
      const std::string_view counter = infiniband_counter(i);
      out.add(fmt::format("node_infiniband_{}", infiniband_metric(counter)), "counter", hw_help(counter), rdma,
              std::to_string(hardware[key][std::string(counter)]));
    }
    for (const std::string& name : other_names)
      out.add(fmt::format("weft_nic_{}_total", name), "counter", fmt::format("Counter {} of the NIC port.", name), rdma,
              std::to_string(hardware[key][name]));
    const auto of_port = [&](const char* metric, const char* help, const char* counter) {
      out.add(metric, "counter", help, rdma, std::to_string(ethtool[key][counter]));
    };
    of_port("node_infiniband_port_data_received_bytes_total", "Bytes received, headers included.",
            "rx_vport_rdma_unicast_bytes");
    of_port("node_infiniband_port_data_transmitted_bytes_total", "Bytes sent, headers included.",
            "tx_vport_rdma_unicast_bytes");
    of_port("node_infiniband_port_packets_received_total", "Packets received.", "rx_vport_rdma_unicast_packets");
    of_port("node_infiniband_port_packets_transmitted_total", "Packets sent.", "tx_vport_rdma_unicast_packets");
    out.add("node_infiniband_rate_bytes_per_second", "gauge", "Line rate.", rdma, std::to_string(nic.rate_bps / 8));
    for (const std::string& name : ethtool_names)
      out.add(ethtool_metric(name), "untyped", fmt::format("Network interface {}", name), net,
              std::to_string(ethtool[key][name]));
  }
}

std::string cell_text(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return "";
}

// The number columns of a table as metrics, the text columns and those named in `keys` as labels. `node` becomes
// instance.
void add_table(const RunStore& store, const std::string& name, const std::string& prefix,
               const std::vector<std::string>& keys, MetricFamilies& out) {
  if (!store.has_table(name)) return;
  const auto table = store.table(name);
  std::vector<bool> is_label;
  for (const Column& column : table->columns())
    is_label.push_back(column.type == CellType::kText ||
                       std::find(keys.begin(), keys.end(), column.name) != keys.end());
  for (std::vector<Cell> row; table->next(row);) {
    std::string labels;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!is_label[i] || std::holds_alternative<std::monostate>(row[i])) continue;
      const std::string& label = table->columns()[i].name;
      labels += fmt::format("{}{}={}", labels.empty() ? "" : ",", label == "node" ? "instance" : label,
                            label_value(cell_text(row[i])));
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (is_label[i] || std::holds_alternative<std::monostate>(row[i])) continue;
      const std::string& column = table->columns()[i].name;
      const OwnMetric metric = own_metric(column);
      const auto* integer = std::get_if<std::int64_t>(&row[i]);
      const auto* real = std::get_if<double>(&row[i]);
      const bool counts = !metric.is_gauge && prefix != "weft_flow_" && integer != nullptr;
      out.add(fmt::format("{}{}{}", prefix, metric.name, counts ? "_total" : ""), counts ? "counter" : "gauge",
              fmt::format("Column {} of the table {}.", column, name), labels,
              integer != nullptr ? metric_value(*integer, metric.scale)
                                 : metric_value(real == nullptr ? 0 : *real, metric.scale));
    }
  }
}

void add_lost(const PortResults& results, MetricFamilies& out) {
  for (const LostPackets& each : results.lost)
    out.add("weft_lost_packets_total", "counter", "Packets that a switch lost, by reason.",
            metric_labels({{"instance", each.node}, {"port", each.port}, {"reason", each.reason}}),
            std::to_string(each.packets));
}

// Classes of a world, which has no tables: the same names as those of the table port_class.
void add_classes(const PortResults& results, MetricFamilies& out) {
  for (const ClassCounter& each : results.classes) {
    const OwnMetric metric = own_metric(each.name);
    out.add(fmt::format("weft_port_{}{}", metric.name, metric.is_gauge ? "" : "_total"),
            metric.is_gauge ? "gauge" : "counter", fmt::format("Counter {} of a port and class.", each.name),
            metric_labels({{"instance", each.node}, {"port", each.port}, {"class", std::to_string(each.class_)}}),
            metric_value(static_cast<std::int64_t>(each.value), metric.scale));
  }
}

}  // namespace

tl::expected<MetricsText, std::string> metrics_text(const RunStore& store) {
  MetricFamilies out;
  const std::string lab = store.run_text("lab"), seed = store.run_text("seed");
  out.add("weft_run_info", "gauge", "The run that this is of.", metric_labels({{"lab", lab}, {"seed", seed}}), "1");
  out.add("weft_run_end_seconds", "gauge", "Simulated time of the last event.", metric_labels({{"lab", lab}}),
          seconds_text(store.run_number("end_ps", 0)));
  add_nics(store.port_results(), out);
  add_table(store, "port_class", "weft_port_", {"class"}, out);
  add_table(store, "forwarder_port", "weft_forwarder_", {}, out);
  add_lost(store.port_results(), out);
  add_table(store, "flow", "weft_flow_", {"number", "id"}, out);
  if (!store.error().empty()) return tl::make_unexpected(store.error());
  return MetricsText{out.text(), out.samples()};
}

std::string world_metrics_text(const PortResults& results, const std::string& world, std::int64_t now_ps) {
  MetricFamilies out;
  out.add("weft_world_info", "gauge", "The world that this is of.",
          metric_labels({{"world", world}, {"lab", results.lab}}), "1");
  out.add("weft_world_now_seconds", "gauge", "Simulated time of the world.", metric_labels({{"world", world}}),
          seconds_text(now_ps));
  add_nics(results, out);
  add_classes(results, out);
  add_lost(results, out);
  return out.text();
}

tl::expected<std::uint64_t, std::string> write_metrics(const RunStore& store, const std::string& path) {
  auto metrics = metrics_text(store);
  if (!metrics) return tl::make_unexpected(metrics.error());
  if (auto written = write_file(path, metrics->text); !written) return tl::make_unexpected(written.error());
  return metrics->samples;
}

tl::expected<std::uint64_t, std::string> write_openmetrics(const RunStore& store,
                                                           const std::vector<std::string>& patterns,
                                                           const std::string& path) {
  std::map<std::string, std::vector<SeriesInfo>> by_metric;
  for (SeriesInfo& each : store.series()) {
    if (is_wanted(each, patterns)) by_metric[each.metric].push_back(std::move(each));
  }
  OutputFile file(path);
  std::uint64_t samples = 0;
  for (const auto& [name, list] : by_metric) {
    const OwnMetric metric = own_metric(name);
    const std::string family = "weft_series_" + metric.name;
    file.write(fmt::format("# HELP {0} Series {1}: one second here is one interval of {3} s.\n# TYPE {0} {2}\n", family,
                           name, metric.is_gauge ? "gauge" : "counter", seconds_text(list.front().interval_ps)));
    for (const SeriesInfo& each : list) {
      auto values = store.read(each);
      if (!values) return tl::make_unexpected(values.error());
      const std::string klass = each.class_ < 0 ? "" : std::to_string(each.class_);
      const std::string start =
          fmt::format("{}{}{{{}}} ", family, metric.is_gauge ? "" : "_total",
                      metric_labels({{"instance", each.node}, {"port", each.port}, {"class", klass}}));
      std::string text;
      for (std::size_t k = 0; k < values->size(); ++k)
        text += fmt::format("{}{} {}\n", start, metric_value((*values)[k], metric.scale),
                            kEpoch_s + static_cast<std::int64_t>(k));
      file.write(text);
      samples += values->size();
    }
  }
  file.write("# EOF\n");
  if (!store.error().empty()) return tl::make_unexpected(store.error());
  if (auto closed = file.close(); !closed) return tl::make_unexpected(closed.error());
  return samples;
}

}  // namespace weft::exports
