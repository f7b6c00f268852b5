#include "results/result_tables.h"

#include "results/class_quantities.h"
#include "results/evidence_rows.h"
#include "store/rows/counter_rows.h"
#include "store/rows/fabric_rows.h"
#include "store/rows/flow_rows.h"
#include "store/rows/latency_rows.h"
#include "store/rows/run_rows.h"
#include "store/rows/workload_rows.h"

namespace weft::lab {

namespace {

template <class... Rows>
void add(std::vector<store::TableText>& tables) {
  (tables.push_back(store::table_text<Rows>()), ...);
}

// Its columns are the quantities of class_quantities.h.
store::TableText class_table() {
  store::TableText text{"port_class",
                        "counters of NIC and switch ports by class, by the names of `classes` in results.json, where "
                        "anything was counted; bytes of switches with FCS, of NICs without",
                        {{"node", "", "", false}, {"port", "", "", false}, {"class", "", "", false}}};
  for (const ClassQuantity& quantity : class_quantities())
    text.columns.push_back({std::string(quantity.name), "", "", false});
  return text;
}

}  // namespace

std::vector<store::TableText> result_tables() {
  using namespace store;
  std::vector<TableText> tables;
  add<RunRow, NodeRow, PortRow, CableRow, ExpectationRow>(tables);
  add<WorkloadEvidence, FlowRow, FlowNameRow, FlowAfterRow>(tables);
  add<FlowLatencyRow, WorkloadLatencyRow, LatencyBucketRow>(tables);
  add<JobStepRow, JobRankRow, JobCollectiveRow, JobStragglerRow, NcclRow>(tables);
  add<Iperf3StreamRow, Iperf3IntervalRow, ProgramRow, FoundRow>(tables);
  tables.push_back(class_table());
  add<CounterRow, PortDropRow, ForwarderPortRow, ForwarderCpuEvidence, RxRingEvidence>(tables);
  add<SenderEvidence, SenderHeldRow, SenderPathRow, EarlierPathRow, FlowSenderRow>(tables);
  add<EventEvidence, EventTotalRow, DropRow, PauseEventRow, FaultEvidence, FaultTime>(tables);
  add<LinkEvidence, LinkLostRow, ReceiveEvidence, LosslessLossRow, CircularWaitRow>(tables);
  add<QueueLimitRow, HeadroomRow, PoolEvidence, RouteGroupRow, LossyClassEvidence>(tables);
  add<SettingDifferenceRow, LabWarningRow, CollectiveEvidence, SeriesRow, BlockRow>(tables);
  return tables;
}

}  // namespace weft::lab
