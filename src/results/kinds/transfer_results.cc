// What a verified transfer leaves in the report and in results.json.
#include <fmt/format.h>

#include "base/figures.h"
#include "results/kinds/workload_kind.h"
#include "results/report_text.h"
#include "spec/work.h"
#include "store/rows/workload_rows.h"

namespace weft::lab {

namespace {

using workload::TransferOptions;
using workload::TransferResult;

store::TransferObject transfer_object(const TransferResult& t) {
  return {t.posted,
          t.completed,
          t.failed,
          t.verified,
          t.bytes_ok,
          t.received,
          t.out_of_order,
          t.wc_status,
          t.vendor_error,
          t.stalled,
          (t.finished_ps - t.started_ps) / kNanosecond_ps};
}

}  // namespace

std::string report_section(const TransferOptions& options, const TransferResult& t, const Lab& lab,
                           const WorkloadConfig& config) {
  std::string out = heading(fmt::format("{}: {} x {} {}, {}", config.name, options.count, transfer_name(options.op),
                                        message_size_text(options.size_B), ends_text(lab, config)));
  out += fmt::format("  posted {}, completed {}, failed {}; {} verified byte by byte ({})\n", t.posted, t.completed,
                     t.failed, t.verified, message_size_text(t.bytes_ok));
  if (t.failed > 0) {
    out += fmt::format("  first error: status {} ({}), vendor syndrome 0x{:02x}\n", t.wc_status,
                       nic::name(static_cast<nic::WcStatus>(t.wc_status)), t.vendor_error);
  }
  if (t.stalled) out += "  stalled: nothing is in flight and nothing more will happen\n";
  if (t.out_of_order > 0) out += fmt::format("  {} completions out of order\n", t.out_of_order);
  out += fmt::format("  {} from the first post to the last completion\n", time_text(t.finished_ps - t.started_ps));
  return out;
}

void write_json(const TransferOptions&, const TransferResult& result, const Lab& lab, const WorkloadConfig& config,
                store::JsonStream& out) {
  store::JsonText text;
  text.open('{');
  text.add("name", config.name);
  text.add("client", port_name(lab, config.client));
  text.add("server", port_name(lab, config.server));
  text.open("transfer", '{');
  store::add_members(text, transfer_object(result));
  text.close('}');
  text.close('}');
  out.item(text.text());
}

void write_tables(std::type_identity<TransferOptions>, const RunResult&, store::SqliteFile&) {}

std::string failure_text(const TransferOptions& options, const TransferResult& transfer, const RunResult&,
                         const Judged& judged) {
  if (judged({"completed", "failed", "bytes_ok", "wc_status"})) return "";
  if (transfer.failed > 0)
    return fmt::format("{} failed, the first with status {}", count_text(transfer.failed, transfer.posted, "operation"),
                       transfer.wc_status);
  if (transfer.stalled)
    return count_text(transfer.posted - transfer.completed, transfer.posted, "operation") + " did not complete";
  // A datagram may be lost without anybody's fault.
  if (!options.ud && transfer.verified < transfer.completed)
    return count_text(transfer.completed - transfer.verified, transfer.completed, "operation") +
           " left wrong bytes at the far end";
  return "";
}

void add_evidence(const workload::TransferOptions&, const workload::TransferResult&, const Lab& lab,
                  const WorkloadConfig& config, Evidence& evidence) {
  add_ends(lab, config, "transfer", evidence);
}

}  // namespace weft::lab
