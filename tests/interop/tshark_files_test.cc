// The files for Wireshark as a whole: hostile frames, the profile's filters and columns, the names in
// docs/wireshark.md, and what `weft wireshark` says of folders and files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "interop/interop_support.h"
#include "pcap/pcapng.h"

namespace weft::interop {
namespace {

const std::string kSource = WEFT_SOURCE_DIR;
const std::string kWeft = shell_quoted(WEFT_BINARY);

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

class TsharkFiles : public testing::Test {
 protected:
  TsharkFiles() {
    const CommandResult installed =
        run_command(kWeft + " wireshark install --dir " + shell_quoted(dir_.file("config")) + " 2>&1");
    EXPECT_EQ(installed.status, 0) << installed.output;
  }
  // With the plugin; stderr without the line that root gets.
  CommandResult tshark(const std::string& arguments) const {
    return run_command("WIRESHARK_CONFIG_DIR=" + shell_quoted(dir_.file("config")) + " tshark " + arguments +
                       " 2>&1 | grep -av 'Running as user'");
  }
  std::string any_capture() {
    const std::string out = dir_.file("run");
    if (!std::filesystem::exists(out)) {
      run_command(kWeft + " run " + shell_quoted(kSource + "/labs/faults/corrupt.yaml") + " --capture all --out " +
                  shell_quoted(out) + " 2>&1");
    }
    return out + "/capture.pcapng";
  }

  TempDir dir_;
};

std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state >> 33;
}

// Frames cut at every length up to the headers' end, and frames with bytes changed, of RoCE, INT and IFA.
TEST_F(TsharkFiles, HostileFramesGiveNoLuaError) {
  std::vector<std::vector<std::uint8_t>> frames;
  for (const char* telemetry : {"none", "int", "ifa"}) {
    const auto run =
        run_lab_file(kSource + "/labs/fabric/telemetry-and-mirrors.yaml",
                     {std::string("workloads[incast].telemetry=") + telemetry, "workloads[incast].size=9 kB"});
    const auto& packets = run->capture->capture.packets;
    for (std::size_t i = 0; i < packets.size(); i += packets.size() / 5 + 1)
      frames.emplace_back(packets[i].bytes.begin(), packets[i].bytes.end());
  }
  const std::string uet =
      "02000000000202000000000108004500004c000140004011269e0a0000010a000002beef12b90038000042200002000003e8000900070008"
      "000"
      "1000000000000000500648300004d00010101002a0300004d00002000ee592fe8";
  frames.emplace_back();
  for (std::size_t i = 0; i < uet.size(); i += 2)
    frames.back().push_back(static_cast<std::uint8_t>(std::stoul(uet.substr(i, 2), nullptr, 16)));
  ASSERT_GT(frames.size(), 10U);
  const std::string path = dir_.file("hostile.pcapng");
  {
    auto writer = pcap::PcapngWriter::create(path);
    ASSERT_TRUE(writer);
    const std::uint32_t port = writer->add_interface("p0", 0);
    std::int64_t time_ns = 0;
    std::uint64_t state = 1;
    for (const auto& frame : frames) {
      for (std::size_t cut = 14; cut < std::min<std::size_t>(frame.size(), 190); ++cut)
        writer->write(port, ++time_ns, true, std::span(frame).first(cut), "weft: cut;; weft: ", frame.size());
      for (int i = 0; i < 40; ++i) {
        std::vector<std::uint8_t> changed = frame;
        const std::size_t range = std::min<std::size_t>(changed.size(), 150);
        for (std::uint64_t n = next_random(state) % 6 + 1; n > 0; --n) {
          const std::uint64_t at = next_random(state) % (range - 14) + 14;
          changed[at] = static_cast<std::uint8_t>(next_random(state));
        }
        if (i % 3 == 0) changed.resize(next_random(state) % range + 14);
        writer->write(port, ++time_ns, true, changed);
      }
    }
    ASSERT_TRUE(writer->close());
  }
  for (const char* how : {"-V", "", "-Y 'weft.icrc.status == 0 || weft.int || weft.ifa || uet'", "-C Weft"}) {
    const std::string shown = tshark("-r " + shell_quoted(path) + " " + how).output;
    EXPECT_GT(shown.size(), 1000U) << how;
    const std::size_t at = std::min(shown.find("Lua"), shown.find("lua"));
    EXPECT_EQ(at, shown.npos) << how << ": " << shown.substr(at, 200);
  }
}

// A string in a file of tables: \xHH stands for a byte.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "\\x") == 0 && i + 3 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> quoted_columns(const std::string& line) {
  static const std::regex kColumn("\"([^\"]*)\"(,|$)");
  std::vector<std::string> columns;
  for (std::sregex_iterator it(line.begin(), line.end(), kColumn), end; it != end; ++it)
    columns.push_back(unescaped((*it)[1].str()));
  return columns;
}

TEST_F(TsharkFiles, FiltersOfProfileAreValid) {
  std::set<std::string> filters;
  const std::string profile = kSource + "/share/wireshark/profile/";
  for (const std::string& line : split(file_text(profile + "colorfilters"), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = split(line, '@');
    ASSERT_EQ(parts.size(), 4U) << line;
    EXPECT_TRUE(std::regex_match(parts[3], std::regex(R"((\[\d{1,5},\d{1,5},\d{1,5}\]){2})"))) << line;
    filters.insert(parts[2]);
  }
  for (const auto& [name, columns, at] : {std::tuple("io_graphs", 9U, 2U), std::tuple("dfilter_buttons", 4U, 2U)}) {
    for (const std::string& line : split(file_text(profile + name), '\n')) {
      if (line.empty() || line[0] == '#') continue;
      const std::vector<std::string> cells = quoted_columns(line);
      ASSERT_EQ(cells.size(), columns) << line;
      filters.insert(cells[at]);
    }
  }
  ASSERT_GE(filters.size(), 15U);
  const auto complaint = [&](const std::string& filter) {
    const std::string said = tshark("-c 1 -r " + shell_quoted(any_capture()) + " -Y " + shell_quoted(filter)).output;
    return said.find("tshark: ") == said.npos ? "" : said;
  };
  std::string any;
  for (const std::string& filter : filters) any += (any.empty() ? "(" : " || (") + filter + ")";
  if (complaint(any).empty()) return;
  for (const std::string& filter : filters) EXPECT_EQ(complaint(filter), "") << filter;
}

TEST_F(TsharkFiles, ProfileHasItsColumns) {
  const CommandResult result = tshark("-C Weft -c 40 -r " + shell_quoted(any_capture()));
  EXPECT_NE(result.output.find("RC WRITE First 0x"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find(" 48 2 CNP 0x"), std::string::npos) << "DSCP, ECN, opcode, QP\n" << result.output;
  EXPECT_NE(result.output.find(" NAK "), std::string::npos);
}

// docs/wireshark.md has each field that tshark has through the plugin, and no other.
TEST_F(TsharkFiles, DocumentationNamesAllFields) {
  std::set<std::string> registered, documented;
  for (const std::string& line : split(tshark("-G fields").output, '\n')) {
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() > 2 && columns[0] == "F" && (columns[2].starts_with("weft.") || columns[2].starts_with("uet.")))
      registered.insert(columns[2]);
  }
  const std::string text = file_text(kSource + "/docs/wireshark.md");
  const std::regex name("`((?:weft|uet)\\.[A-Za-z0-9_.]+)`");
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) documented.insert((*it)[1].str());
  EXPECT_GT(registered.size(), 100U);
  EXPECT_EQ(registered, documented);
}

// In a home of its own: tshark finds everything without being given a directory.
TEST_F(TsharkFiles, PersonalInstallIsFound) {
  const std::string home = dir_.file("home");
  std::filesystem::create_directories(home);
  const std::string env = "env -u WIRESHARK_CONFIG_DIR -u XDG_CONFIG_HOME HOME=" + shell_quoted(home) + " ";
  const auto weft = [&](const std::string& words) {
    return run_command(env + kWeft + " wireshark " + words + " 2>/dev/null");
  };
  const auto planned = nlohmann::json::parse(weft("install --dry-run --json").output, nullptr, false);
  ASSERT_TRUE(planned.is_object());
  EXPECT_EQ(planned.at("configuration"), home + "/.config/wireshark");
  EXPECT_FALSE(std::filesystem::exists(home + "/.config/wireshark/profiles/Weft"));
  ASSERT_EQ(weft("install").status, 0);
  const std::string show = env + "tshark -n -C Weft -r " + shell_quoted(any_capture()) + " -Y weft.cnp 2>&1";
  EXPECT_NE(run_command(show).output.find(" CNP QP=0x"), std::string::npos) << run_command(show).output;

  const std::string colours = home + "/.config/wireshark/profiles/Weft/colorfilters";
  std::ofstream(colours, std::ios::app) << "# mine\n";
  EXPECT_EQ(weft("install").status, 0) << "kept";
  EXPECT_NE(file_text(colours).find("# mine"), std::string::npos);
  EXPECT_EQ(weft("uninstall").status, 0);
  EXPECT_TRUE(std::filesystem::exists(colours));
  EXPECT_EQ(weft("install").status, 1) << "now it is a user's own file";
  EXPECT_EQ(weft("install --force").status, 0);
  EXPECT_NE(file_text(colours + ".before-weft").find("# mine"), std::string::npos);
  EXPECT_EQ(weft("uninstall").status, 0);
  EXPECT_FALSE(std::filesystem::exists(home + "/.local/lib/wireshark/plugins/weft"));
}

TEST_F(TsharkFiles, UnwritableDirectoryIsError) {
  std::ofstream(dir_.file("occupied")) << "a file";
  const CommandResult result =
      run_command(kWeft + " wireshark install --dir " + shell_quoted(dir_.file("occupied/x")) + " 2>&1");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.output.find("occupied"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace weft::interop
