#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "spec/job_options.h"
#include "support/chakra_writer.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kJobLab = R"(version: 1
name: job
fabric: {template: single-switch, hosts: 2, switch: sn5600, rate: 400 Gbps, host: {nic: cx7-400g, host: dgx-h100, gpus: h100-sxm}}
workloads:
  - name: step
    job:
      kind: training
      model: {layers: 4, hidden: 1024, sequence: 1024}
      parallel: {tensor: 8}
)";

std::string job_lab_with(std::string_view old_text, std::string_view new_text) {
  std::string text(kJobLab);
  text.replace(text.find(old_text), old_text.size(), new_text);
  return text;
}
std::vector<std::string> job_problems(std::string_view old_text, std::string_view new_text) {
  return problems_of(job_lab_with(old_text, new_text));
}
const workload::JobOptions& job_of(const Lab& lab) {
  return *lab.workloads.at(0).as<workload::JobOptions>();
}

TEST(Jobs, RanksAreGpusHostAfterHost) {
  const auto lab = read_lab(kJobLab, "lab.yaml");
  ASSERT_TRUE(lab);
  const workload::JobOptions& job = job_of(*lab);
  ASSERT_EQ(job.ranks.size(), 16u);
  EXPECT_EQ(job.ranks[9].machine, 1u);
  EXPECT_EQ(job.ranks[9].gpu, 1u);
  EXPECT_EQ(job.summary, "training of 4 layers, hidden 1024: tensor 8 data 2");
  EXPECT_EQ(job.graph->groups.size(), 2u + 8);
  EXPECT_EQ(lab->hosts[0].places.gpus.size(), 8u);
  EXPECT_EQ(lab->hosts[0].nics[0].slot, lab->hosts[0].model.layout->slot("nic0"));
}

TEST(Jobs, ComputeIsFlopsOverCatalogRateTimesEfficiency) {
  const auto full = read_lab(job_lab_with("kind: training", "kind: training\n      efficiency: 100 %"), "lab.yaml");
  const auto half = read_lab(job_lab_with("kind: training", "kind: training\n      efficiency: 50 %"), "lab.yaml");
  const auto given = read_lab(job_lab_with("kind: training", "kind: training\n      tflops: 989"), "lab.yaml");
  ASSERT_TRUE(full && half && given);
  const auto first_ps = [](const Lab& lab) { return job_of(lab).graph->programs[0].nodes[0].duration_ps; };
  // 1024 tokens x (8 h^2 + 4 s h) / 8 FLOPs at 989 TFLOPS.
  EXPECT_NEAR(static_cast<double>(first_ps(*full)), 1024.0 * 12 * 1024 * 1024 / 8 / 989, 1);
  EXPECT_NEAR(static_cast<double>(first_ps(*half)), 2.0 * static_cast<double>(first_ps(*full)), 2);
  EXPECT_EQ(first_ps(*given), first_ps(*full));
}

TEST(Jobs, SlowRanksHaveTheirFactor) {
  const auto lab =
      read_lab(job_lab_with("kind: training", "kind: training\n      slow: [{rank: 3, by: 20 %}]"), "lab.yaml");
  ASSERT_TRUE(lab);
  EXPECT_DOUBLE_EQ(job_of(*lab).graph->ranks[3].compute_factor, 1.2);
  EXPECT_DOUBLE_EQ(job_of(*lab).graph->ranks[4].compute_factor, 1);
}

TEST(Jobs, NamesWhatIsWrong) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(job_problems("tensor: 8", "tensor: 8, data: 4"),
            Lines{"9:17 tensor 8 x context 1 x data 4 x pipeline 1 are 32 ranks, the hosts have 16 GPUs | lower one of "
                  "them, or name more hosts"});
  EXPECT_EQ(job_problems("tensor: 8", "tensor: 2, pipeline: 8"),
            Lines{"7:7 layers 4 cannot be split over pipeline 8 | layers is a multiple of pipeline"});
  EXPECT_EQ(job_problems("kind: training", "kind: training\n      gpus_per_host: 9"),
            Lines{"8:22 h0 has 8 GPUs, the job takes 9 | lower gpus_per_host, or add some to the node"});
  EXPECT_EQ(job_problems("kind: training", "kind: training\n      hosts: h0..h2"),
            Lines{"8:14 there is no node \"h2\" | did you mean h0, or h1?"});
  EXPECT_EQ(job_problems(", gpus: h100-sxm", ""),
            Lines{"7:7 a job in a lab without GPUs | add gpus to the nodes that it runs on"});
  EXPECT_EQ(job_problems("kind: training", "kind: chakra\n      file: traces/none"),
            (Lines{"9:14 model does not go with kind chakra | a trace has it inside",
                   "10:17 parallel does not go with kind chakra | a trace has it inside"}));
  EXPECT_EQ(job_problems("kind: training", "kind: training\n      env: {CUDA_VISIBLE_DEVICES: 0}"),
            Lines{"8:13 \"CUDA_VISIBLE_DEVICES\" is no variable of NCCL | write e.g. env: "
                  "{NCCL_IB_QPS_PER_CONNECTION: 4}"});
  EXPECT_EQ(
      job_problems("parallel: {tensor: 8}", "parallel: {tensor: 8}\nexpect: {step.busbw_GBps.pipeline: {min: 1}}"),
      Lines{"10:10 step has no collectives of \".pipeline\" | write e.g. busbw_GBps.tensor"});
}

// Traces in a directory of the test's own.
class JobTraces : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) / ("weft_job_traces" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const test::ChakraWriter::Bytes& bytes) {
    std::ofstream(directory_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::vector<std::string> problems(std::string_view text) {
    const std::string path = (directory_ / "lab.yaml").string();
    std::vector<std::string> lines;
    const auto lab = read_lab(text, path);
    if (lab) return lines;
    for (const Problem& problem : lab.error()) {
      std::string line = problem.message;
      for (std::size_t at; (at = line.find(directory_.string() + "/")) != std::string::npos;)
        line.erase(at, directory_.string().size() + 1);
      lines.push_back(line);
    }
    return lines;
  }
  static std::string chakra_lab() {
    std::string text = job_lab_with("kind: training", "kind: chakra\n      gpus_per_host: 1\n      file: step");
    return text.substr(0, text.find("      model:"));
  }

  std::filesystem::path directory_;
};

TEST_F(JobTraces, ReadsChakraFilesOfAllRanks) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(problems(chakra_lab()), Lines{"cannot find step.0.et, and the hosts have 2 GPUs"});
  const auto file = [](std::int64_t size_B) {
    return test::ChakraWriter()
        .node({.id = 1, .name = "AR", .type = 7})
        .integer("comm_type", 0)
        .integer("comm_size", size_B)
        .take();
  };
  write("step.0.et", file(1000));
  write("step.1.et", file(1000));
  EXPECT_EQ(problems(chakra_lab()), Lines{});
  write("step.1.et", file(2000));
  EXPECT_EQ(problems(chakra_lab()),
            Lines{"the ranks of all do not issue the same collectives: number 1 is rank 0: AR (all-reduce of 1000 B in "
                  "all), and rank 1: AR (all-reduce of 2000 B in all)"});
  write("step.1.et", {'n', 'o', '!'});
  EXPECT_EQ(problems(chakra_lab()),
            Lines{"step.1.et: offset 1: not a Chakra execution trace: a length of 110 B, and 2 B are left"});
  write("step.1.et", file(1000));
  write("step.2.et", file(1000));
  EXPECT_EQ(problems(chakra_lab()), Lines{"there are traces of more than 2 ranks, the hosts have 2 GPUs"});
}

TEST_F(JobTraces, ReadsSimaiFile) {
  const std::string text =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 2 "
      "checkpoints: 0 checkpoint_initiates: 0\n1\nlayer -1 1000 ALLREDUCE 4096 1000 NONE 0 1000 NONE 0 0\n";
  std::ofstream(directory_ / "step") << text;
  std::string lab = chakra_lab();
  lab.replace(lab.find("chakra"), 6, "simai");
  EXPECT_EQ(problems(lab), std::vector<std::string>{});
  std::ofstream(directory_ / "step") << text.substr(0, text.size() - 3);
  EXPECT_EQ(problems(lab), std::vector<std::string>{"step:3: 11 fields"});
}

}  // namespace
}  // namespace weft::lab
