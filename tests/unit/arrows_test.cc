// The mechanical rules of the house, checked on the text of src/ so that people need not: which module
// may include which, where third-party headers may appear, how a header begins. Sizes are in shape_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

// What a module may include besides itself. What is allowed to one is not inherited: each names all that it sees.
struct Module {
  std::string_view name;
  std::vector<std::string_view> sees;
};
const std::vector<Module>& modules() {
  static const std::vector<Module> all = {
      {"base", {}},
      {"wire", {"base"}},
      {"pcap", {"base", "wire"}},
      // Captures, from the packets alone: nothing of NIC or host.
      {"analyze", {"base", "wire", "pcap"}},
      // Plain data that describes: models, configurations, options, what a run leaves.
      {"spec", {"base", "wire"}},
      {"engine", {"base", "wire", "spec"}},
      {"fabric", {"base", "wire", "spec", "engine"}},
      {"nic", {"base", "wire", "spec", "engine", "fabric"}},
      {"host", {"base", "wire", "spec", "engine", "fabric", "nic"}},
      {"observe", {"base", "wire", "spec", "pcap", "engine", "fabric", "nic", "host"}},
      // What real programs decide and print: NCCL, perftest, iperf3.
      {"nccl", {"base", "wire", "spec"}},
      {"tools", {"base", "wire", "spec"}},
      {"workload", {"base", "wire", "spec", "engine", "fabric", "nic", "host", "nccl", "tools", "observe"}},
      // A lab: text, devices, the checked model, what a run leaves, the reader, the running world.
      {"text", {"base"}},
      {"catalog", {"base", "spec", "text"}},
      {"model", {"base", "wire", "spec", "nccl", "tools", "text", "catalog"}},
      // Row tables: SQLite, JSON and time series, from one declaration of a row.
      {"store", {"base"}},
      {"results", {"base", "wire", "spec", "nccl", "tools", "text", "catalog", "model", "store"}},
      // A run that is over: why it took as long as it did.
      {"explain", {"base", "wire", "spec", "pcap", "nccl", "tools", "text", "catalog", "model", "store", "results"}},
      {"labfile", {"base", "wire", "spec", "nccl", "tools", "text", "catalog", "model"}},
      {"world",
       {"base", "wire", "spec", "engine", "fabric", "nic", "host", "observe", "nccl", "tools", "workload", "text",
        "catalog", "model", "store", "results"}},
      // Unmodified programs: the libraries that they load, and the world's side.
      {"verbs", {"base"}},
      {"preload", {"base", "verbs"}},
      {"node_tool", {"verbs"}},
      {"live",
       {"base", "verbs", "wire", "spec", "engine", "fabric", "nic", "host", "observe", "nccl", "tools", "workload",
        "text", "model", "store", "results", "labfile", "world"}},
      // The real world: hosts and switches that are read, configured, planned and chosen.
      {"gear", {"base", "wire", "spec", "nccl", "tools", "text", "catalog", "model", "results", "labfile", "analyze"}},
      {"export", {"base", "store", "results"}},
      // Runs compared with each other, and grids of runs.
      {"study", {"base", "text"}},
      {"wireshark", {"base"}},
      // The page: what the verbs do, over HTTP.
      {"serve", {"base",    "spec",    "tools", "verbs",    "wire",    "pcap",    "engine", "fabric",  "nic",
                 "host",    "observe", "nccl",  "workload", "text",    "catalog", "model",  "results", "explain",
                 "labfile", "world",   "live",  "gear",     "analyze", "export",  "study",  "store"}},
      {"cli", {"base",    "spec",    "tools", "verbs",    "wire",    "pcap",    "engine",    "fabric",  "nic",
               "host",    "observe", "nccl",  "workload", "text",    "catalog", "model",     "results", "explain",
               "labfile", "world",   "live",  "gear",     "analyze", "export",  "wireshark", "serve",   "study"}},
  };
  return all;
}
// The rooms of a module that has any, likewise; the module's own name stands for what lies in its folder itself, which
// sees all of its rooms. A module without an entry here has no rooms, or rooms that are parts of one program.
const std::vector<Module>& rooms() {
  static const std::vector<Module> all = {
      {"analyze/frames", {"analyze/findings"}},
      {"analyze/findings", {"analyze/frames"}},
      {"analyze/streams", {"analyze/findings", "analyze/frames", "analyze/classes"}},
      {"analyze/classes", {"analyze/findings", "analyze/frames", "analyze/streams", "analyze/pauses"}},
      {"analyze/pauses", {"analyze/findings", "analyze/frames", "analyze/streams", "analyze/classes"}},
      {"analyze/paths", {"analyze/findings", "analyze/frames", "analyze/streams", "analyze/classes", "analyze/pauses"}},
      {"analyze/congestion",
       {"analyze/findings", "analyze/streams", "analyze/classes", "analyze/pauses", "analyze/paths"}},
      {"analyze/rc", {"analyze/findings", "analyze/frames", "analyze/streams", "analyze/classes", "analyze/paths"}},
      {"analyze/cm", {"analyze/findings", "analyze/frames", "analyze/streams", "analyze/rc"}},
      {"analyze/show", {"analyze/findings", "analyze/frames"}},
      {"labfile/network", {"labfile"}},
      {"labfile/nodes", {"labfile", "labfile/network", "labfile/workloads"}},
      {"labfile/workloads", {"labfile"}},
      {"nccl/decide", {"nccl/text"}},
      {"nccl/schedule", {"nccl/decide"}},
      {"nccl/text", {"nccl/decide", "nccl/schedule"}},
      {"results/counters", {"results"}},
      {"results/kinds", {"results"}},
      {"results/qos", {"results"}},
      {"workload/perftest", {"workload"}},
      {"workload/transfer", {"workload"}},
      {"workload/program", {"workload"}},
      {"workload/tcp", {"workload"}},
      {"workload/flow", {"workload", "workload/perftest"}},
      {"workload/collective", {"workload", "workload/perftest", "workload/tcp"}},
      {"workload/job", {"workload", "workload/collective", "workload/flow"}},
      {"world/workloads", {"world"}},
      {"live/protocol", {}},
      {"live/os", {"live/protocol"}},
      {"live/verbs", {"live/protocol", "live/os"}},
      {"live/cm", {"live/protocol", "live/os", "live/verbs"}},
      {"live/view", {"live/protocol", "live/os", "live/verbs", "live/cm"}},
      {"live/control", {"live/protocol", "live/os"}},
      {"serve/http", {}},
      {"serve/api", {}},
      {"serve/runs", {"serve/http", "serve/api"}},
      {"serve/packets", {"serve/http", "serve/runs"}},
      {"serve/jobs", {"serve/http", "serve/api", "serve/runs"}},
      {"serve/tasks", {"serve/http", "serve/runs"}},
      {"serve/worlds", {"serve/http"}}};
  return all;
}
const Module* find_module(std::string_view name) {
  const auto it = std::find_if(modules().begin(), modules().end(), [&](const Module& m) { return m.name == name; });
  return it == modules().end() ? nullptr : &*it;
}
const Module* find_room(std::string_view name) {
  const auto it = std::find_if(rooms().begin(), rooms().end(), [&](const Module& m) { return m.name == name; });
  return it == rooms().end() ? nullptr : &*it;
}
// "live/os" of "live/os/node.h", "live" of "live/server.h".
std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

constexpr std::size_t kMaxColumns = 120;

// Third-party headers that only these modules may see, in their .cc files. A library that replaces another's (a folder
// in src/verbs) may see that one's header in its own headers too.
struct Confined {
  std::string_view prefix;
  std::vector<std::string_view> modules;
};
const std::vector<Confined>& confined_headers() {
  static const std::vector<Confined> all = {
      {"yaml-cpp/", {"text"}},
      {"nlohmann/", {"store", "results", "catalog", "gear", "analyze", "export", "serve", "study"}},
      {"httplib", {"serve"}},
      {"sqlite3", {"store"}},
      {"zlib", {"pcap", "serve"}},
      {"CLI/", {"cli"}},
      {"infiniband/", {"verbs", "live"}},
      {"rdma/", {"verbs", "live"}}};
  return all;
}

// fabric and nic meet only at a port and a packet.
bool is_meeting_point(std::string_view header) {
  return header == "fabric/packet.h" || header.starts_with("fabric/link") || header.starts_with("fabric/port");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The name between the quotes or brackets of an #include, with its opening character; empty otherwise.
std::string included(std::string_view line) {
  const std::size_t hash = line.find_first_not_of(' ');
  if (hash == line.npos || line[hash] != '#') return "";
  std::string_view rest = line.substr(hash + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (!rest.starts_with("include")) return "";
  const std::size_t open = rest.find_first_of("\"<");
  if (open == rest.npos) return "";
  const std::size_t close = rest.find_first_of("\">", open + 1);
  return std::string(rest.substr(open, close == rest.npos ? close : close - open));
}

class FileChecker {
 public:
  // `path` is relative to src/: "nic/transports/requester.cc".
  FileChecker(std::string path, const std::string& text)
      : path_(std::move(path)), module_(path_.substr(0, path_.find('/'))), lines_(lines_of(text)) {}

  std::vector<std::string> check() {
    if (find_module(module_) == nullptr) complain(1, "the module " + module_ + " is not in the list of modules");
    if (is_header()) check_header();
    for (std::size_t i = 0; i < lines_.size(); ++i) check_line(i + 1, lines_[i]);
    return std::move(complaints_);
  }

 private:
  bool is_header() const { return path_.ends_with(".h"); }
  bool is_inside_replacement() const { return module_ == "verbs" && std::count(path_.begin(), path_.end(), '/') > 1; }

  void complain(std::size_t line, const std::string& what) {
    complaints_.push_back("src/" + path_ + ":" + std::to_string(line) + ": " + what);
  }

  // Modules that still have such comments are not in the list; it grows until it is all of them.
  void check_comment(std::size_t number, const std::string& line) {
    static const std::vector<std::string_view> noun_first = {
        "base", "wire",  "pcap",    "nic",    "engine", "host",      "observe",   "nccl", "gear", "analyze",
        "live", "verbs", "preload", "export", "study",  "wireshark", "node_tool", "cli",  "serve"};
    if (std::find(noun_first.begin(), noun_first.end(), module_) == noun_first.end()) return;
    const std::size_t at = line.find("// ");
    if (at == line.npos) return;
    for (const std::string_view word : {"Of ", "What ", "By ", "Who "})
      if (line.compare(at + 3, word.size(), word) == 0)
        complain(number, "a comment begins with its noun: \"Port pace\"");
  }

  void check_header() {
    if (lines_.empty() || !lines_.front().starts_with("// ")) complain(1, "a header opens by saying what it is");
    if (std::find(lines_.begin(), lines_.end(), "#pragma once") == lines_.end()) complain(1, "no #pragma once");
  }

  void check_line(std::size_t number, const std::string& line) {
    if (line.find('\t') != line.npos) complain(number, "a tab");
    // Bytes that continue a UTF-8 character take no column.
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    if (static_cast<std::size_t>(columns) > kMaxColumns) complain(number, "longer than 120 columns");
    // Spelt in halves, so that this file does not contain them.
    for (const char* word : {"TO"
                             "DO",
                             "FIX"
                             "ME"}) {
      if (line.find(word) != line.npos) complain(number, std::string(word) + ": an issue is the place for it");
    }
    check_kinds(number, line);
    check_comment(number, line);
    if (module_ == "live" && (line.find("engine().run(") != line.npos || line.find("engine.run(") != line.npos))
      complain(number, "a world is driven through its session (world/session.h)");
    const std::string name = included(line);
    if (name.empty()) return;
    if (name[0] == '"') {
      check_own_include(number, name.substr(1));
    } else {
      check_foreign_include(number, name.substr(1));
    }
  }

  // A kind of workload is named in its own files and in the one list of kinds (workload/kinds.h).
  void check_kinds(std::size_t number, const std::string& line) {
    static const std::pair<std::string_view, std::vector<std::string_view>> kKinds[] = {
        {"perftest", {"PerftestOptions", "PerftestResult"}},
        {"transfer", {"TransferOptions", "TransferResult"}},
        {"flow", {"FlowOptions", "FlowsOutcome"}},
        {"program", {"ProgramOptions", "ProgramsOutcome"}}};
    static const std::vector<std::string_view> kModules = {"model", "labfile", "results", "world"};
    if (std::find(kModules.begin(), kModules.end(), module_) == kModules.end()) return;
    if (path_.starts_with("world/matrix_run")) return;  // many runs of one perftest
    if (path_.find("_fields.") != path_.npos) return;   // rows of settings, one table each
    for (const auto& [word, types] : kKinds) {
      if (path_.find(word) != path_.npos) continue;
      for (std::string_view type : types) {
        if (line.find(type) != line.npos)
          complain(number, std::string(type) + ": what a kind of workload does is in a file of its own");
      }
    }
  }

  bool may_see_room(const std::string& header) const {
    const Module* own = find_room(folder_of(path_));
    const std::string theirs = folder_of(header);
    if (own == nullptr || own->name == theirs || !header.starts_with(module_ + "/")) return true;
    return std::find(own->sees.begin(), own->sees.end(), theirs) != own->sees.end();
  }

  void check_own_include(std::size_t number, const std::string& header) {
    const std::string theirs = header.substr(0, header.find('/'));
    const Module* own = find_module(module_);
    if (header.find('/') == header.npos || find_module(theirs) == nullptr) {
      complain(number, "\"" + header + "\": our headers are included as \"module/file.h\", others in <>");
    } else if (own != nullptr && theirs != module_ &&
               std::find(own->sees.begin(), own->sees.end(), theirs) == own->sees.end()) {
      complain(number, "\"" + header + "\": " + module_ + " may not include " + theirs);
    } else if (!may_see_room(header)) {
      complain(number, "\"" + header + "\": a room of src/" + module_ + " that " + path_ + " may not include");
    } else if (header.starts_with("text/yaml_") && header != "text/yaml_edit.h" && module_ != "text" &&
               module_ != "catalog" && module_ != "labfile" && module_ != "gear" && module_ != "study" &&
               path_.find("_fields.") == path_.npos) {
      complain(number, "\"" + header + "\": only the catalog and the lab file are YAML");
    } else if (module_ == "nic" && header.starts_with("fabric/") && !is_meeting_point(header)) {
      complain(number, "\"" + header + "\": nic and fabric meet only at a port and a packet");
    }
  }

  void check_foreign_include(std::size_t number, const std::string& header) {
    for (const Confined& confined : confined_headers()) {
      const bool is_named =
          std::find(confined.modules.begin(), confined.modules.end(), module_) != confined.modules.end();
      const bool is_allowed = is_named && (!is_header() || is_inside_replacement());
      if (header.starts_with(confined.prefix) && !is_allowed)
        complain(number, "<" + header + ">: only in src/" + std::string(confined.modules.front()) + "/*.cc");
    }
    if (header == "iostream" && (module_ == "engine" || module_ == "fabric" || module_ == "nic")) {
      complain(number, "<iostream>: the packet path does not print");
    }
    if (find_module(header.substr(0, header.find('/'))) != nullptr && header.find('/') != header.npos) {
      complain(number, "<" + header + ">: our own headers are included with \"\"");
    }
  }

  std::string path_;
  std::string module_;
  std::vector<std::string> lines_;
  std::vector<std::string> complaints_;
};

std::vector<std::string> check(const std::string& path, const std::string& text) {
  return FileChecker(path, text).check();
}

TEST(Arrows, SourcesFollowRules) {
  const fs::path root = fs::path(WEFT_SOURCE_DIR) / "src";
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension().string();
    if (entry.is_regular_file() && (extension == ".h" || extension == ".cc")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    for (const std::string& complaint : check(fs::relative(file, root).generic_string(), text.str())) {
      ADD_FAILURE() << complaint;
    }
  }
}

// Words that engineers stumbled over (STYLE: write as the manuals of this field do). Names, comments and documentation.
TEST(Arrows, AvoidsListedWords) {
  const std::string kWords[] = {"wall's clock",      "in vain",        "in_vain",        "InVain",
                                "strangers",         "stranger's",     "look_around",    "look_outside",
                                "look_at_lent",      "newcomers",      "greet_",         "no business",
                                "is a lie",          "plays the",      "plays it",       "on_stage",
                                "is_hit_by_red",     "survives_red",   "why_not",        "by and by",
                                "is told once more", "cable's books",  "in life.",       "Other people",
                                "other people",      "says otherwise", "said otherwise", "for everybody else",
                                "as people say"};
  std::size_t files = 0;
  for (const char* folder : {"src", "tests", "docs", "bench"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(WEFT_SOURCE_DIR) / folder)) {
      const std::string extension = entry.path().extension().string();
      const bool is_text = extension == ".h" || extension == ".cc" || extension == ".md" || extension == ".sh";
      if (!entry.is_regular_file() || !is_text || entry.path().filename() == "arrows_test.cc") continue;
      ++files;
      std::ifstream in(entry.path(), std::ios::binary);
      std::size_t number = 0;
      for (std::string line; std::getline(in, line);) {
        ++number;
        for (const std::string& word : kWords) {
          if (line.find(word) != line.npos)
            ADD_FAILURE() << entry.path().string() << ":" << number << ": \"" << word << "\" is not what manuals say";
        }
      }
    }
  }
  EXPECT_GT(files, 400u);
}

// The name of the test that a line declares; empty otherwise. A name that stands on the next line is not seen.
std::string test_name(const std::string& line) {
  static const std::regex kTest(R"(^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\w+, (\w+)[,)])");
  std::smatch match;
  return std::regex_search(line, match, kTest) ? match[1].str() : "";
}
// A statement of behaviour in CamelCase; articles, pronouns and "nobody" make a sentence of it.
bool is_sentence(const std::string& name) {
  static const std::regex kOpening(
      "^(The|A|An|Its|It|They|Nobody|Nothing|Somebody|Everybody|Every|Each|That|Who)(?=[A-Z])");
  static const std::regex kInside("(The|Nobody|Somebody|Whatever|Whoever|Anybody)(?=[A-Z]|$)");
  static const std::regex kArticle("[a-z](A|An)(?=[A-Z][a-z])");
  return std::regex_search(name, kOpening) || std::regex_search(name, kInside) || std::regex_search(name, kArticle);
}

// What a user reads: the text of every string of src.
TEST(Arrows, MessagesAvoidListedWords) {
  const std::regex string_literal(R"re("((?:[^"\\]|\\.)*)")re");
  const std::regex word(
      "\\b([Nn]obody|[Ss]omebody|[Ee]verybody|[Ww]hoever|told|hears|speaks|plays|at rest|for ever)\\b");
  std::size_t strings = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(WEFT_SOURCE_DIR) / "src")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      if (line.find('"') == line.npos) continue;
      for (std::sregex_iterator it(line.begin(), line.end(), string_literal), end; it != end; ++it) {
        const std::string text = (*it)[1].str();
        ++strings;
        EXPECT_FALSE(std::regex_search(text, word)) << entry.path().string() << ": \"" << text << "\"";
      }
    }
  }
  EXPECT_GT(strings, 2000u);
}

TEST(Arrows, TestNamesAreNoSentences) {
  std::size_t names = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(WEFT_SOURCE_DIR) / "tests")) {
    if (!entry.is_regular_file() || entry.path().extension() != ".cc") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      const std::string name = test_name(line);
      if (name.empty()) continue;
      ++names;
      EXPECT_FALSE(is_sentence(name)) << entry.path().string() << ": " << name << " is a sentence";
    }
  }
  EXPECT_GT(names, 1000u);
  EXPECT_EQ(test_name("TEST_F(Suite, DropsFrames) {"), "DropsFrames");
  EXPECT_EQ(test_name("RC_GTEST_PROP(Suite, RoundTrip, (int value)) {"), "RoundTrip");
  for (const char* bad : {"TheProgramsOwnFaultHandlerGetsItsFaults", "AQueueThatMoves", "NobodyListens",
                          "EveryUnitIsAccepted", "DeliversOverABadCable", "StopsAtTheDeadline"}) {
    EXPECT_TRUE(is_sentence(bad)) << bad;
  }
  for (const char* good : {"ForwardsFaultsToProgramHandler", "AckBeyondReadIsImpliedNak", "AllPairs", "RunsUcx"}) {
    EXPECT_FALSE(is_sentence(good)) << good;
  }
}

TEST(Arrows, GoodExamplesPass) {
  EXPECT_TRUE(check("nic/a.h", "// A thing.\n#pragma once\n\n#include <vector>\n\n#include \"base/time.h\"\n").empty());
  EXPECT_TRUE(check("nic/a.cc", "#include \"fabric/link.h\"\n#include \"fabric/port_queue.h\"\n").empty());
  EXPECT_TRUE(check("text/a.cc", "#include <yaml-cpp/yaml.h>\n#include \"base/time.h\"\n").empty());
  EXPECT_TRUE(check("cli/a.cc", "#include <CLI/CLI.hpp>\n#include <iostream>\n").empty());
  EXPECT_TRUE(check("verbs/ibverbs/a.h", "// A.\n#pragma once\n#include <infiniband/verbs.h>\n").empty());
  EXPECT_TRUE(check("base/a.cc", "// " + std::string(117, 'x') + "\n").empty());
  EXPECT_TRUE(check("base/a.cc", "//" + std::string(117, 'x') + "\xc2\xb5\n").empty());
}

TEST(Arrows, BadExamplesFail) {
  const struct {
    const char* path;
    std::string text;
    const char* complaint;
  } examples[] = {
      {"base/a.cc", "#include \"wire/bth.h\"\n", "base may not include wire"},
      {"fabric/a.cc", "#include \"nic/nic.h\"\n", "fabric may not include nic"},
      {"workload/a.cc", "  #  include \"model/lab.h\"\n", "workload may not include model"},
      {"nic/a.cc", "#include \"fabric/switch.h\"\n", "nic and fabric meet only at a port and a packet"},
      {"nic/a.cc", "#include \"nic.h\"\n", "our headers are included as"},
      {"nic/a.cc", "#include <nic/nic.h>\n", "our own headers are included with"},
      {"nic/a.cc", "#include <iostream>\n", "the packet path does not print"},
      {"text/a.h", "// A.\n#pragma once\n#include <yaml-cpp/yaml.h>\n", "only in src/text/*.cc"},
      {"labfile/a.cc", "#include <yaml-cpp/yaml.h>\n", "only in src/text/*.cc"},
      {"model/a.cc", "#include \"labfile/words.h\"\n", "model may not include labfile"},
      {"model/a.cc", "#include \"text/yaml_tree.h\"\n", "only the catalog and the lab file are YAML"},
      {"live/os/a.cc", "#include \"live/cm/cm.h\"\n", "may not include"},
      {"live/verbs/a.cc", "#include \"live/server.h\"\n", "may not include"},
      {"serve/http/a.cc", "#include \"serve/runs/open_run.h\"\n", "may not include"},
      {"pcap/a.cc", "#include \"engine/packet.h\"\n", "pcap may not include engine"},
      {"catalog/a.h", "// A.\n#pragma once\n#include \"model/lab.h\"\n", "catalog may not include model"},
      {"world/a.cc", "#include \"labfile/reader.h\"\n", "world may not include labfile"},
      {"results/a.cc", "#include \"world/world.h\"\n", "results may not include world"},
      {"workload/a.cc", "#include <nlohmann/json.hpp>\n", "only in src/store/*.cc"},
      {"verbs/a.h", "// A.\n#pragma once\n#include <infiniband/verbs.h>\n", "only in src/verbs/*.cc"},
      {"nic/a.cc", "#include <infiniband/verbs.h>\n", "only in src/verbs/*.cc"},
      {"observe/a.cc", "#include <sqlite3.h>\n", "only in src/store/*.cc"},
      {"world/a.cc", "#include <CLI/CLI.hpp>\n", "only in src/cli/*.cc"},
      {"labfile/a.cc", "#include \"results/run_result.h\"\n", "labfile may not include results"},
      {"world/session.cc", "if (config.as<workload::FlowOptions>()) {\n", "in a file of its own"},
      {"results/report.cc", "std::get<PerftestResult>(outcome.result)\n", "in a file of its own"},
      {"live/server.cc", "world_.engine().run(next_ps, 1);\n", "driven through its session"},
      {"attic/a.cc", "\n", "is not in the list of modules"},
      {"base/a.h", "#pragma once\n", "a header opens by saying what it is"},
      {"base/a.h", "// A.\n", "no #pragma once"},
      {"base/a.cc", "\tint x;\n", "a tab"},
      {"base/a.cc", std::string(121, 'x') + "\n", "longer than 120 columns"},
      {"base/a.cc",
       "// TO"
       "DO later\n",
       "an issue is the place for it"},
      {"base/a.cc",
       "// FIX"
       "ME\n",
       "an issue is the place for it"},
      {"base/a.cc", "int x;  // Of a port, in time per byte\n", "a comment begins with its noun"},
  };
  for (const auto& example : examples) {
    const std::vector<std::string> complaints = check(example.path, example.text);
    ASSERT_EQ(complaints.size(), 1u) << example.path << ": " << example.complaint;
    EXPECT_NE(complaints[0].find(example.complaint), std::string::npos) << complaints[0];
  }
}

}  // namespace
}  // namespace weft
