// The figures in docs/labs.md and at the head of the fabric labs are those of the golden tables: when a table changes,
// the prose has to follow.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

std::string slurp(const std::string& path) {
  std::ifstream in(std::string(WEFT_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Words words_of(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// One column of the golden table whose header begins with `table` ("workload", "port", "nic", "switch") and has it.
std::vector<double> column(const std::string& lab, const std::string& table, const std::string& name) {
  std::istringstream in(slurp("tests/labs/fabric/" + lab + ".txt"));
  std::vector<double> values;
  std::size_t at = 0;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const Words words = words_of(line);
    if (words.empty()) {
      inside = false;
    } else if (inside) {
      values.push_back(std::stod(words.at(at)));
    } else if (words[0] == table) {
      const auto found = std::find(words.begin(), words.end(), name);
      inside = found != words.end();
      at = static_cast<std::size_t>(found - words.begin());
    }
  }
  EXPECT_FALSE(values.empty()) << lab << " has no " << name;
  return values;
}
double total(const std::string& lab, const std::string& table, const std::string& name) {
  const auto values = column(lab, table, name);
  return std::accumulate(values.begin(), values.end(), 0.0);
}
double most(const std::string& lab, const std::string& table, const std::string& name) {
  const auto values = column(lab, table, name);
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}
double rate(const std::string& lab, std::size_t flow) {
  return column(lab, "workload", "Gb/s").at(flow);
}

// 270531 is 270,531.
std::string count(double value) {
  std::string text = fmt::format("{:.0f}", value);
  for (auto at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

// The row of a lab in docs/labs.md, and its header as one line.
std::string row(const std::string& lab) {
  const std::string page = slurp("docs/labs.md");
  const std::size_t begin = page.find("\n| `" + lab + "` |");
  EXPECT_NE(begin, std::string::npos) << lab;
  return page.substr(begin + 1, page.find('\n', begin + 1) - begin - 1);
}
std::string header(const std::string& lab) {
  std::istringstream in(slurp("labs/fabric/" + lab + ".yaml"));
  std::string text;
  for (std::string line; std::getline(in, line) && line.starts_with("#");) text += line.substr(1);
  return text;
}

void says(const std::string& text, const std::string& figure) {
  EXPECT_NE(text.find(figure), std::string::npos) << "\"" << figure << "\" is not in\n" << text;
}

TEST(LabsProse, Deadlock) {
  const std::string lab = "deadlock-watchdog";
  says(row(lab), count(total(lab, "port", "watchdog_lost")) + " packets dropped by it");
  EXPECT_EQ(most(lab, "port", "storms"), 1);
  for (const std::string& text : {row(lab), header(lab)}) says(text, "1 storm ");
  says(row(lab), fmt::format("{:.1f} Gb/s each", rate(lab, 0)));
  says(header(lab), fmt::format("finish with {:.1f} Gb/s", rate(lab, 0)));
  says(header(lab), count(total(lab, "port", "watchdog_lost")) + " packets");
}

TEST(LabsProse, Loss) {
  const std::string storm = "nic-pause-storm", map = "wrong-dscp-map", cut = "link-cut";
  says(row(storm), count(total(storm, "switch", "packets")) + " packets dropped at the sick port");
  says(header(storm), "(" + count(total(storm, "switch", "packets")) + " packets)");
  const std::string done_ms = fmt::format("{:.1f} ms", column(storm, "workload", "fct_us").at(1) / 1000);
  says(row(storm), "healthy neighbour " + done_ms);
  says(header(storm), "done after " + done_ms);
  says(row(map), count(total(map, "switch", "packets")) + " tail drops");
  says(header(map), count(total(map, "switch", "packets")) + " tail drops");
  says(row(map), count(total(map, "workload", "resent")) + " packets retransmitted");
  says(row(cut), count(total(cut, "switch", "packets")) + " packets lost");
  says(row(cut), fmt::format("all flows finish in {:.1f} ms", most(cut, "workload", "fct_us") / 1000));
}

TEST(LabsProse, LossAlone) {
  const std::string lab = "lossy-incast";
  says(row(lab), count(total(lab, "switch", "packets")) + " packets lost");
  says(row(lab), count(total(lab, "workload", "resent")) + " retransmitted");
  const std::string random = "loss-rate", windows = "selective-repeat-incast";
  says(row(random), fmt::format("{:.1f}, {:.1f} and {:.1f} Gb/s", rate(random, 0), rate(random, 1), rate(random, 2)));
  says(row(random), count(column(random, "workload", "resent").at(0)) + " and " +
                        count(column(random, "workload", "resent").at(1)) + " packets retransmitted");
  says(row(windows), fmt::format("{:.1f} Gb/s", 16 * 20e6 * 8 / 1e3 / most(windows, "workload", "fct_us")));
  says(row("spray"), count(total("spray", "workload", "resent")) + " packets sent for nothing");
  says(row("cnp-scope"), fmt::format("queue {:.1f} MB", most("cnp-scope", "port", "queue_kB") / 1000));
}

TEST(LabsProse, Congestion) {
  const std::string marks = "ce-marks-direct-cable", ecn = "incast-ecn", pfc = "incast-pfc";
  for (const std::string& text : {row(marks), header(marks)}) {
    says(text, count(total(marks, "nic", "ce")) + " mark");
    says(text, count(total(marks, "nic", "cnp_tx")) + " CNPs");
    says(text, fmt::format("{:.1f} Gb/s", rate(marks, 0)));
  }
  says(row(ecn), count(total(ecn, "nic", "cnp_tx")) + " CNPs");
  says(row(ecn), fmt::format("queue {:.1f} MB", most(ecn, "port", "queue_kB") / 1000));
  says(row(ecn), fmt::format("FCT {:.0f} us", most(ecn, "workload", "fct_us")));
  says(row(pfc), fmt::format("FCT {:.0f} us", most(pfc, "workload", "fct_us")));
  says(row(pfc), fmt::format("queue {:.1f} MB", most(pfc, "port", "queue_kB") / 1000));
  says(header(pfc), fmt::format("done after {:.0f} us", most(pfc, "workload", "fct_us")));
  says(row("small-buffer-sn3700c"),
       fmt::format("queue {:.1f} MB", most("small-buffer-sn3700c", "port", "queue_kB") / 1000));
}

TEST(LabsProse, Shares) {
  says(row("ecmp-collision"), fmt::format("{:.1f} Gb/s each", rate("ecmp-collision", 0)));
  says(header("ecmp-collision"), fmt::format("{:.1f} Gb/s", rate("ecmp-collision", 0)));
  says(row("victim-flow"), fmt::format("{:.1f} Gb/s in place of", rate("victim-flow", 4)));
  says(row("slow-receiver"), fmt::format("slow flow {:.1f} Gb/s", rate("slow-receiver", 0)));
  says(row("slow-receiver"), fmt::format("the flow beside it {:.1f}", rate("slow-receiver", 1)));
  says(header("slow-receiver"), fmt::format("gets {:.1f} Gb/s", rate("slow-receiver", 1)));
  says(row("pfc-unfairness"),
       fmt::format("{:.1f} against {:.1f} Gb/s", rate("pfc-unfairness", 0), rate("pfc-unfairness", 1)));
}

}  // namespace
