// Rows of workloads, by kind.
#include "labfile/lab_fields.h"
#include "labfile/shapes.h"
#include "spec/job_options.h"
#include "spec/nccl_options.h"
#include "spec/program_options.h"

namespace weft::lab {
namespace {

using workload::FlowOp;
using workload::FlowOptions;
using workload::JobOptions;
using workload::Misuse;
using workload::NcclOptions;
using workload::ProgramCommand;
using workload::Recompute;
using workload::TrainingModel;
using workload::TrainingOptions;
using workload::TrainingParallel;
using workload::TransferOp;
using workload::TransferOptions;
using TelemetryFormat = engine::TelemetryFormat;

constexpr fields::Sizes kFlowSizes{1, std::int64_t{1} << 40}, kPeriods{1, 3600 * kSecond_ps};
constexpr std::string_view kText = R"("type": "string")";
constexpr std::string_view kHostList =
    R"("anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}])";
constexpr std::string_view kEnv = R"("type": "object", "propertyNames": {"pattern": "^NCCL_"}, )"
                                  R"("additionalProperties": {"type": ["string", "integer", "boolean"]})";
constexpr std::string_view kEndPairs =
    R"("type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string"}})";
constexpr std::string_view kCpusOfEnds =
    R"("anyOf": [{"type": "integer", "minimum": 0, "maximum": 4096}, {"type": "array", "minItems": 2, )"
    R"("maxItems": 2, "items": {"type": "integer", "minimum": 0, "maximum": 4096}}])";
constexpr std::string_view kCommand =
    R"("anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": ["string", )"
    R"("number", "boolean"]}}])";
constexpr std::string_view kNames =
    R"("anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}])";
constexpr std::string_view kVersionShape =
    R"("type": ["string", "number"], "pattern": "^2\\.[0-9]{2}(\\.[0-9]{1,2})?$")";
constexpr std::string_view kRankGroups =
    R"("type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer", "minimum": 0}})";

constexpr Value<void> flags_value() {
  return shaped(kText, "flags");
}
constexpr Value<void> gpu_value() {
  return number_value({0, 1023});
}

std::vector<std::string_view> perftest_names() {
  std::vector<std::string_view> names(std::begin(kPerftestWords), std::end(kPerftestWords));
  names.insert(names.end(), {"ib_write_bw", "ib_write_lat", "ib_send_bw", "ib_send_lat", "ib_read_bw", "ib_read_lat",
                             "ib_atomic_bw", "ib_atomic_lat"});
  return names;
}

// Of kinds with two ends.
constexpr Field<void> kEndFields[] = {
    {"client",
     end_value(),
     "",
     "who begins: `vm00`, or `vm00:p0` where there are several paths",
     {.required = "client: vm00"}},
    {"server",
     end_value(),
     "",
     "the other end; `vm00:p0/1` is the second PCIe function of a port (DGX Spark)",
     {.required = "server: vm01"}},
};
constexpr Field<WorkloadConfig> kClassFields[] = {
    {"dscp", number_at<&WorkloadConfig::dscp>({0, 63}), "the lab's qos", "of its packets, in both directions"},
    {"priority", number_at<&WorkloadConfig::priority>({0, 7}), "the lab's qos",
     "of its packets: a DSCP that maps to it, RoCE's own if that does; with `trust: pcp` the priority in the tag"},
};
constexpr Field<void> kPlaceFields[] = {
    {"numactl", section_value(kNumactlKeys), "the hosts'", "of both ends"},
    {"client_numactl", section_value(kNumactlKeys), "as `numactl`", "of the client"},
    {"server_numactl", section_value(kNumactlKeys), "as `numactl`", "of the server"},
};
constexpr Field<void> kCpuUseFields[] = {
    {"cpus", shaped(kCpusOfEnds, "number, or `[client, server]`"), "a CPU of its own each",
     "CPU that the programs of both ends run on, as the node numbers them; short for `physcpubind` of both. The NUMA "
     "node follows from it"},
    {"cpu", section_value(kLoadKeys), "as the hosts",
     "what else runs on the machines of both ends meanwhile: `{stress: 64, isolated: \"2-29,34-61\"}`. Not with "
     "`start`"},
};
constexpr Field<void> kLoadFields[] = {
    {"stress", number_value({0, 4096}), "the hosts'", "threads that always want to run"},
    {"isolated", cpu_list_value(), "the hosts'", "CPUs without stress threads; `\"\"`: none"},
};

constexpr Field<void> kPerftestFields[] = {
    {"perftest", one_of(perftest_names, "a test of perftest"), "",
     "`write_bw`, `write_lat`, `send_bw`, `send_lat`, `read_bw`, `read_lat`, `atomic_bw` or `atomic_lat`, with or "
     "without `ib_`"},
    {"args", flags_value(), "", "perftest's own: `-a --report_gbits`", {.title = "args"}},
    {"gpu", gpu_value(), "none", "the payload is in the memory of that GPU, at both ends"},
    {"client_gpu", gpu_value(), "as `gpu`", "of the client"},
    {"server_gpu", gpu_value(), "as `gpu`", "of the server"},
};

constexpr Field<void> kIperf3Fields[] = {
    {"iperf3", flags_value(), "", "of iperf3's client: `-t 1 -P 4 -C dctcp`", {.title = "iperf3"}},
};

constexpr Word<TransferOp> kTransferWords[] = {
    {"write", TransferOp::kWrite},        {"write-imm", TransferOp::kWriteImm},      {"send", TransferOp::kSend},
    {"send-imm", TransferOp::kSendImm},   {"send-inv", TransferOp::kSendInv},        {"read", TransferOp::kRead},
    {"fetch-add", TransferOp::kFetchAdd}, {"compare-swap", TransferOp::kCompareSwap}};
constexpr Word<Misuse> kMisuseWords[] = {{"wrong-rkey", Misuse::kWrongRkey},
                                         {"beyond-region", Misuse::kBeyondRegion},
                                         {"no-remote-write", Misuse::kNoRemoteWrite},
                                         {"no-receive", Misuse::kNoReceive},
                                         {"dead-peer", Misuse::kDeadPeer}};
constexpr Word<bool> kConnectionWords[] = {{"RC", false}, {"UD", true}};
constexpr std::int64_t kMaxMessage_B = std::int64_t{1} << 31;  // IBTA vol 1, 9.7.2
constexpr Field<TransferOptions> kTransferFields[] = {
    {"transfer", choice_at<choice_words<kTransferWords>, &TransferOptions::op>(), "", "the operation"},
    {"size",
     quantity_at<&TransferOptions::size_B>(Quantity::kSize, {0, kMaxMessage_B}),
     "64 KiB",
     "of one message, up to 2 GiB; atomics are always 8 B",
     {.title = "size"}},
    {"count", number_at<&TransferOptions::count>({1, 1'000'000'000}), "1", "messages in all", {.title = "count"}},
    {"depth", number_at<&TransferOptions::depth>({1, 32768}), "16", "messages outstanding at once"},
    {"connection", choice_at<choice_words<kConnectionWords>, &TransferOptions::ud>(), "`RC`",
     "UD: send only, one packet"},
    {"timeout", number_at<&TransferOptions::timeout>({0, 31}), "14", "as in `ibv_modify_qp`"},
    {"retry_cnt", number_at<&TransferOptions::retry_cnt>({0, 7}), "7", "as in `ibv_modify_qp`"},
    {"rnr_retry", number_at<&TransferOptions::rnr_retry>({0, 7}), "7", "as in `ibv_modify_qp`"},
    {"min_rnr_timer", number_at<&TransferOptions::min_rnr_timer>({0, 31}), "12", "as in `ibv_modify_qp`"},
    {"receives", number_at<&TransferOptions::receives>({1, 1'000'000'000}), "as many as needed",
     "receives that the server posts in all"},
    {"receive_delay", quantity_at<&TransferOptions::receive_delay_ps>(Quantity::kTime, {0, 60 * kSecond_ps}), "0",
     "how late the server posts each receive"},
    {"misuse", choice_at<choice_words<kMisuseWords>, &TransferOptions::misuse>(), "",
     "a classic mistake; the first two with write, read and atomics, `no-remote-write` with write, `no-receive` with "
     "send and write-imm, `dead-peer` with RC"},
};

constexpr Word<FlowOp> kFlowOpWords[] = {{"write", FlowOp::kWrite}, {"send", FlowOp::kSend}};
constexpr Word<TelemetryFormat> kTelemetryWords[] = {
    {"none", TelemetryFormat::kNone}, {"int", TelemetryFormat::kInt}, {"ifa", TelemetryFormat::kIfa}};
constexpr Field<FlowOptions> kFlowFields[] = {
    {"flows", choice_value<choice_words<kFlowPatternWords>>(), "", "the pattern"},
    {"hosts", shaped(kHostList, "`all`, a list or a range"), "",
     "who takes part: `h0..h15`. A host with several cabled ports takes part with each; `\"h0:p1\"` names one"},
    {"to", end_value(), "", "the receiver of an incast"},
    {"pairs", shaped(kEndPairs, "list of pairs"), "", "`[[h0, h1], [h2, h3]]`: the first one sends"},
    {"op", choice_at<choice_words<kFlowOpWords>, &FlowOptions::op>(), "`write`", "what flows are made of"},
    {"message", quantity_at<&FlowOptions::message_B>(Quantity::kSize, {1, std::int64_t{1} << 31}), "the whole flow",
     "a flow is posted as messages of this size"},
    {"telemetry", choice_at<choice_words<kTelemetryWords>, &FlowOptions::telemetry>(), "`none`",
     "every switch writes its queue, delay and time into the data packets, as INT-MD 2.1 or IFA 2.0: captures show it, "
     "and the report the worst of each hop (a warning says which switches could not do that in life)"},
    {"timeout", number_at<&FlowOptions::timeout>({0, 31}), "14", "as in `ibv_modify_qp`"},
    {"retry_cnt", number_at<&FlowOptions::retry_cnt>({0, 7}), "7", "as in `ibv_modify_qp`"},
    {"shape", shaped(R"("enum": ["websearch", "hadoop", "alistorage"])", "`websearch`, `hadoop` or `alistorage`"), "",
     "of a distribution: sizes of flows"},
    {"file", shaped(kText, "path"), "",
     "htsim's connection matrix (.cm), or a graph of flows (CSV), beside the lab file"},
    {"list", section_value(kGraphFlowKeys, Nesting::kSome), "",
     "of a graph: flows by name, each from its start or after others"},
    {"numactl", section_value(kNumactlKeys), "the hosts'", "of all hosts"},
    {"gpu", gpu_value(), "none",
     "of all hosts; where a GPU's memory cannot be registered it is copied to host memory and from there, piece by "
     "piece, as NCCL does it"},
};
constexpr Field<FlowNumbers> kFlowNumberFields[] = {
    {"size", quantity_at<&FlowNumbers::size_B>(Quantity::kSize, kFlowSizes), "", "of a flow", {.title = "size"}},
    {"rounds", number_at<&FlowNumbers::rounds>({1, 1'000'000'000}), "1", "bursts"},
    {"count",
     number_at<&FlowNumbers::count>({1, 50'000'000}),
     "",
     "of a distribution: flows in all",
     {.title = "count"}},
    {"period", quantity_at<&FlowNumbers::period_ps>(Quantity::kTime, kPeriods), "", "from burst to burst"},
    {"duration", quantity_at<&FlowNumbers::duration_ps>(Quantity::kTime, kPeriods), "the lab's",
     "of a distribution: flows arrive so long"},
    {"load",
     quantity_at<&FlowNumbers::load_ppb>(Quantity::kProbability, {1, 1'000'000'000}),
     "",
     "of a distribution: of each host's link",
     {.title = "load"}},
};
constexpr Field<workload::Flow> kGraphFlowFields[] = {
    {"name", value_of(FieldKind::kName), "", "of the flow, once in the list", {.required = "name: a"}},
    {"from", end_value(), "", "a host, or a port: `\"h0:p1\"`", {.required = "from: h0"}},
    {"to", end_value(), "", "likewise", {.required = "to: h1"}},
    {"size", quantity_at<&workload::Flow::size_B>(Quantity::kSize, kFlowSizes), "that of the workload", "of the flow"},
    {"start", quantity_at<&workload::Flow::start_ps>(Quantity::kTime, {0, 3600 * kSecond_ps}), "0",
     "from the start of the workload; not with `after`"},
    {"after", shaped(kNames, "name or list of names"), "", "the flows that it waits for"},
    {"delay", quantity_at<&workload::Flow::start_ps>(Quantity::kTime, {0, 3600 * kSecond_ps}), "0",
     "how long after the end of the last of them it starts"},
};

constexpr Word<bool> kAllReduceWords[] = {{"nccl", false}, {"halving-doubling", true}};
constexpr Field<NcclOptions> kNcclFields[] = {
    {"nccl",
     flags_value(),
     "",
     "a test of nccl-tests with its flags: `all_reduce_perf -b 8 -e 8G -f 2 -g 1`",
     {.title = "nccl"}},
    {"hosts", shaped(kHostList, "`all`, a name or a list"), "all that have GPUs",
     "those that take part, in the order of their ranks"},
    {"gpus_per_host", number_at<&NcclOptions::gpus_per_host>({1, 1024}), "all", "how many GPUs of each"},
    {"env", shaped(kEnv, "map"), "", "NCCL's variables: `{NCCL_DEBUG: INFO, NCCL_IB_QPS_PER_CONNECTION: 4}`"},
    {"algorithm", choice_at<choice_words<kAllReduceWords>, &NcclOptions::halving_doubling>(), "`nccl`",
     "of all_reduce_perf: as NCCL chooses, or recursive halving and doubling, as MPI libraries do"},
    {"nccl_version", shaped(kVersionShape, "version"), "the one modelled",
     "from 2.18 on, where its rules are known to differ: `2.21.5`"},
};

constexpr Field<ProgramCommand> kProgramFields[] = {
    {"node", value_of(FieldKind::kName), "", "the host that it runs on", {.required = "node: vm00"}},
    {"command", shaped(kCommand, "text or list of words"), "required, or `script`",
     "program and arguments: one text, split into words as a shell does (quotes, no variables, no pipes), or a list of "
     "words"},
    {"script", shaped(kText, "text"), "",
     "in place of `command`: a pipeline or a script for `bash -e -o pipefail`. It ends with the first command that "
     "fails, with its status; a pipeline fails when any of its commands does, with the status of the last of them that "
     "did. `a \\|\\| true` lets one fail. [`labs/live/pipeline.yaml`](../labs/live/pipeline.yaml) has some"},
    {"start", quantity_at<&ProgramCommand::start_ps>(Quantity::kTime, {0, 3600 * kSecond_ps}), "0",
     "virtual time, from the start of the workload"},
    {"timeout", quantity_at<&ProgramCommand::timeout_ps>(Quantity::kTime, {kMicrosecond_ps, 3600 * kSecond_ps}), "60 s",
     "virtual time, from its own start; then it is killed"},
    {"find", shaped(R"("type": "object", "additionalProperties": {"type": "string"})", "map"), "",
     "names and extended regular expressions (as for `grep -E`), held against each line of standard output and "
     "standard "
     "error. With one group the first match is the value, a number; without a group the value is how many lines match"},
};
constexpr Field<void> kProgramKindFields[] = {
    {"program", section_value(kProgramKeys, Nesting::kSome), "", "real programs on hosts"},
};

constexpr Word<std::uint32_t> kPrecisionWords[] = {{"fp32", 4}, {"tf32", 4}, {"bf16", 2}, {"fp16", 2}, {"fp8", 1}};
constexpr Word<Recompute> kRecomputeWords[] = {
    {"none", Recompute::kNone}, {"selective", Recompute::kSelective}, {"full", Recompute::kFull}};
template <auto... Path>
constexpr auto count_at(std::int64_t min = 1) {
  return number_at<Path...>({min, 100'000'000});
}
constexpr Field<JobOptions> kJobFields[] = {
    {"kind",
     choice_value<choice_words<kJobKindWords>>(),
     "",
     "a step of a transformer from model and parallelism; its forward for one token of each sequence; MLCommons Chakra "
     "execution traces; a workload of SimAI as AICB writes it",
     {.required = "kind: training"}},
    {"hosts", shaped(kHostList, "`all`, a name, a list or `h0..h15`"), "all with GPUs",
     "one rank for each GPU, host after host"},
    {"gpus_per_host", number_value({1, 64}), "all", "only the first so many of each host"},
    {"steps", number_at<&JobOptions::steps>({1, 1000}), "1", "each rank begins the next when it has ended one"},
    {"env", shaped(kEnv, "map"), "", "NCCL's environment variables, as in the `nccl` workload"},
    {"algorithm", choice_at<choice_words<kAllReduceWords>, &JobOptions::nccl, &nccl::Environment::halving_doubling>(),
     "`nccl`", "of all-reduces: as NCCL chooses, or MPI's recursive halving and doubling"},
    {"efficiency", quantity_value(Quantity::kProbability), "45 %",
     "share of the TFLOPS that the catalog has for the GPU"},
    {"tflops", value_of(FieldKind::kDecimal), "", "in its place: what a GPU reaches"},
    {"slow", section_value(kJobSlowKeys, Nesting::kList), "",
     "ranks whose compute takes longer: `[{rank: 5, by: 20 %}]`"},
};
constexpr Field<TrainingOptions> kJobTrainingFields[] = {
    {"model", section_value(kJobModelKeys), "required", "of training and inference"},
    {"parallel", section_value(kJobParallelKeys), "data", "how it is divided among ranks"},
    {"micro_batch", count_at<&TrainingOptions::micro_batch>(), "1", "sequences"},
    {"global_batch", count_at<&TrainingOptions::global_batch>(), "one micro-batch each", "sequences of a step"},
    {"precision", choice_at<choice_words<kPrecisionWords>, &TrainingOptions::value_B>(), "bf16",
     "of activations and parameters"},
    {"compute", quantity_at<&TrainingOptions::layer_ps>(Quantity::kTime, kPeriods), "",
     "in place of both: time of the forward of one layer for a micro-batch; backward takes twice as long"},
};
constexpr Field<TrainingOptions> kJobOnlyTrainingFields[] = {
    {"zero", count_at<&TrainingOptions::zero>(0), "0", "stage of ZeRO, 0 to 3; 3 is FSDP"},
    {"overlap", flag_at<&TrainingOptions::overlap>(), "true",
     "gradients are reduced beside backward, parameters gathered and receives posted ahead"},
    {"gradients", choice_at<choice_words<kPrecisionWords>, &TrainingOptions::gradient_B>(), "as `precision`",
     "of what is reduced"},
    {"bucket", quantity_at<&TrainingOptions::bucket_B>(Quantity::kSize, kFlowSizes), "25 MB",
     "of gradients: a collective has at least so much of them"},
    {"recompute", choice_at<choice_words<kRecomputeWords>, &TrainingOptions::recompute>(), "`none`",
     "the core of attention, or the whole forward, again in backward"},
};
constexpr Field<void> kJobTraceFields[] = {
    {"file", shaped(kText, "path"), "required",
     "of traces, from the lab file: the PREFIX of PREFIX.RANK.et, or SimAI's file"},
    {"groups", shaped(kRankGroups, "map"), "",
     "of Chakra: the ranks of each `pg_name`, `{tp0: [0, 1]}`. Without, a group has the ranks whose traces name it, "
     "and "
     "a collective without one has all"},
};
constexpr Field<TrainingModel> kJobModelFields[] = {
    {"layers", count_at<&TrainingModel::layers>(), "", "up to 65535", {.required = "layers: 2048"}},
    {"hidden", count_at<&TrainingModel::hidden>(), "", "hidden size", {.required = "hidden: 2048"}},
    {"sequence", count_at<&TrainingModel::sequence>(), "", "tokens of a sequence", {.required = "sequence: 2048"}},
    {"vocabulary", count_at<&TrainingModel::vocabulary>(), "0", "tokens that there are"},
    {"ffn", count_at<&TrainingModel::ffn>(), "4 x hidden", "inner size of the MLP"},
    {"gated", flag_at<&TrainingModel::gated>(), "false", "two matrices in the MLP, or three (SwiGLU)"},
    {"experts", count_at<&TrainingModel::experts>(), "dense", "of a layer"},
    {"top_k", count_at<&TrainingModel::top_k>(), "1", "experts of a token"},
    {"moe_every", count_at<&TrainingModel::moe_every>(), "1", "every n-th layer has experts"},
};
constexpr Field<TrainingParallel> kJobParallelFields[] = {
    {"tensor", count_at<&TrainingParallel::tensor>(), "1", "tensor parallelism"},
    {"context", count_at<&TrainingParallel::context>(), "1", "context parallelism"},
    {"data", count_at<&TrainingParallel::data>(), "what the GPUs leave for it", "data parallelism"},
    {"pipeline", count_at<&TrainingParallel::pipeline>(), "1", "pipeline stages"},
    {"expert", count_at<&TrainingParallel::expert>(), "1", "of the data-parallel ranks"},
    {"sequence", flag_at<&TrainingParallel::sequence>(), "false",
     "Megatron's sequence parallelism: all-gather and reduce-scatter in place of tensor all-reduces"},
};
constexpr Field<void> kJobSlowFields[] = {
    {"rank", number_value(), "", "which", {.required = "rank: 5"}},
    {"by", quantity_value(Quantity::kProbability), "", "how much longer", {.required = "by: 20 %"}},
};
constexpr Field<void> kJobKindFields[] = {
    {"job", section_value(kJobKeys), "", "a training step, inference, or a trace of a real job"},
};

constexpr Field<WorkloadConfig> kWorkloadFields[] = {
    {"name", value_of(FieldKind::kName), "", "of the workload, once in the lab", {.required = "name: bw"}},
    {"start",
     quantity_at<&WorkloadConfig::start_ps>(Quantity::kTime, {0, 3600 * kSecond_ps}),
     "alone, after the one before",
     "beside its neighbours that have a start, from the end of what stands before them",
     {.title = "start"}},
};

constexpr SectionOf<void> kEndKeys = section_of<kEndFields>("ends", "");
constexpr SectionOf<void> kPlaceKeys = section_of<kPlaceFields>("places", "");
constexpr SectionOf<void> kCpuUseKeys = section_of<kCpuUseFields>("cpu_use", "");
constexpr const Section* kPerftestParts[] = {&kEndKeys, &kClassKeys, &kPlaceKeys, &kCpuUseKeys};
constexpr const Section* kIperf3Parts[] = {&kEndKeys, &kCpuUseKeys, &kClassKeys};
constexpr const Section* kTransferParts[] = {&kEndKeys, &kClassKeys, &kPlaceKeys};
constexpr const Section* kFlowParts[] = {&kFlowNumberKeys, &kClassKeys};
constexpr const Section* kClassParts[] = {&kClassKeys};
constexpr const Section* kJobParts[] = {&kJobTrainingKeys, &kJobOnlyTrainingKeys, &kJobTraceKeys};
constexpr const Section* kKinds[] = {&kPerftestKeys, &kTransferKeys,    &kIperf3Keys, &kFlowKeys,
                                     &kNcclKeys,     &kProgramKindKeys, &kJobKindKeys};

}  // namespace

constinit const SectionOf<WorkloadConfig> kWorkloadKeys =
    section_of<kWorkloadFields>("workload", "who sends what; one kind", {kKinds, Parts::kByKey});
constinit const SectionOf<void> kPerftestKeys =
    section_of<kPerftestFields>("perftest", "a test of perftest", kPerftestParts);
constinit const SectionOf<void> kIperf3Keys =
    section_of<kIperf3Fields>("iperf3", "kernel TCP between two ports", kIperf3Parts);
constinit const SectionOf<TransferOptions> kTransferKeys =
    section_of<kTransferFields>("transfer", "one operation, repeated and verified", kTransferParts);
constinit const SectionOf<FlowOptions> kFlowKeys = section_of<kFlowFields>("flows", "many flows at once", kFlowParts);
constinit const SectionOf<FlowNumbers> kFlowNumberKeys = section_of<kFlowNumberFields>("flow_numbers", "");
constinit const SectionOf<workload::Flow> kGraphFlowKeys =
    section_of<kGraphFlowFields>("graph_flow", "a flow of a graph");
constinit const SectionOf<NcclOptions> kNcclKeys = section_of<kNcclFields>("nccl", "a test of nccl-tests", kClassParts);
constinit const SectionOf<void> kProgramKindKeys = section_of<kProgramKindFields>("programs", "real programs");
constinit const SectionOf<ProgramCommand> kProgramKeys = section_of<kProgramFields>(
    "program", "a program on a host", {}, R"("oneOf": [{"required": ["command"]}, {"required": ["script"]}])");
constinit const SectionOf<WorkloadConfig> kClassKeys = section_of<kClassFields>("traffic_class", "");
constinit const SectionOf<void> kLoadKeys = section_of<kLoadFields>("workload_cpu", "what else runs meanwhile");
constinit const SectionOf<void> kJobKindKeys = section_of<kJobKindFields>("jobs", "a training job", kClassParts);
constinit const SectionOf<JobOptions> kJobKeys = section_of<kJobFields>("job", "a training job", kJobParts);
constinit const SectionOf<TrainingOptions> kJobTrainingKeys = section_of<kJobTrainingFields>("job_training", "");
constinit const SectionOf<TrainingOptions> kJobOnlyTrainingKeys =
    section_of<kJobOnlyTrainingFields>("job_only_training", "");
constinit const SectionOf<void> kJobTraceKeys = section_of<kJobTraceFields>("job_trace", "");
constinit const SectionOf<TrainingModel> kJobModelKeys = section_of<kJobModelFields>("job_model", "a transformer");
constinit const SectionOf<TrainingParallel> kJobParallelKeys =
    section_of<kJobParallelFields>("job_parallel", "how a model is divided");
constinit const SectionOf<void> kJobSlowKeys = section_of<kJobSlowFields>("job_slow", "a rank that is slow");

}  // namespace weft::lab
