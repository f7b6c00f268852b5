// `weft serve` as a command: what it answers to Prometheus and Grafana, and how it opens the browser.
#include <gtest/gtest.h>

#include <fstream>

#include "interop/interop_support.h"

namespace weft::interop {
namespace {

const std::string kWeft = shell_quoted(WEFT_BINARY);
const std::string kSource = WEFT_SOURCE_DIR;

class ServeCommand : public testing::Test {
 protected:
  // Runs `script` beside a server of this directory: $url is its address (with the token, where there is one), $server
  // its process, $dir the directory of the test.
  CommandResult beside_server(const std::string& options, const std::string& script,
                              const std::string& before = "") const {
    const std::string path = dir_.file("script.sh");
    std::ofstream(path) << "dir=" << shell_quoted(dir_.file(".")) << "\ncd \"$dir\"\n"
                        << before << "\n"
                        << ": > address\n"  // the server's shell may open it later than grep does
                        << kWeft << " serve runs --port 0 " << options << " > address 2> errors &\nserver=$!\n"
                        << "for i in $(seq 200); do grep -q http address && break; sleep 0.05; done\n"
                        << "url=$(head -1 address)\n"
                        << script << "\nkill -INT $server; wait $server; echo \"ended with $?\"\n";
    return run_command("sh " + shell_quoted(path) + " 2>&1");
  }
  // A browser that writes down how it was called, and stays.
  std::string fake_browser() const {
    return "mkdir -p bin runs\nprintf '#!/bin/sh\\necho \"$#|$1\" >> \"'$dir'/calls\"\\nsleep ${BROWSER_STAYS:-0}\\n' "
           "> "
           "bin/xdg-open\nchmod +x bin/xdg-open\nPATH=\"$dir/bin:$PATH\"; export PATH";
  }
  TempDir dir_;
};

// promtool parses each expression; each metric is one that a run or the server has.
TEST_F(ServeCommand, DashboardIsWhatGrafanaImports) {
  const std::string labs = kSource + "/labs/fabric/";
  const CommandResult result =
      beside_server("",
                    "for run in pfc lossy slow; do curl -s \"${url}metrics?run=$run\" > $run.prom; done\n"
                    "python3 " +
                        shell_quoted(kSource + "/tests/interop/dashboard.py") + " " +
                        shell_quoted(kSource + "/share/grafana/weft.json") +
                        " rules.yml pfc.prom lossy.prom slow.prom && promtool check rules rules.yml",
                    kWeft + " run " + shell_quoted(labs + "incast-pfc.yaml") + " --out runs/pfc > log 2>&1\n" + kWeft +
                        " run " + shell_quoted(labs + "lossy-incast.yaml") + " --out runs/lossy > log 2>&1\n" + kWeft +
                        " run " + shell_quoted(labs + "slow-receiver.yaml") + " --out runs/slow > log 2>&1");
  EXPECT_NE(result.output.find("19 panels, 19 expressions, 19 metrics"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("SUCCESS: 19 rules found"), std::string::npos) << result.output;
}

TEST_F(ServeCommand, OpensBrowserOnceWithoutZombie) {
  const CommandResult result =
      beside_server("--open",
                    "for i in $(seq 200); do test -s calls && break; sleep 0.05; done\n"
                    "test \"$(cat calls)\" = \"1|$url\" && echo called\n"
                    "for i in $(seq 200); do test -z \"$(ps -o stat= --ppid $server)\" && break; sleep 0.05; done\n"
                    "ps -o stat=,comm= --ppid $server\n"
                    "curl -s ${url}api/status | grep -o '\"opens\":null'",
                    fake_browser());
  EXPECT_EQ(result.output, "called\n\"opens\":null\nended with 0\n");
}

// A browser that stays does not hold up the server, at its end neither; it goes on without it.
TEST_F(ServeCommand, PassesTokenToBrowserThatStays) {
  const CommandResult result = beside_server("--open --listen 0.0.0.0",
                                             "for i in $(seq 200); do test -s calls && break; sleep 0.05; done\n"
                                             "page=$(cut -d'|' -f2 calls)\n"
                                             "stat -c %a \"$page\"; grep -cF \"url=$url\" \"$page\"\n"
                                             "echo \"$url\" | grep -c 'token=[0-9a-f]\\{32\\}$'\n"
                                             "ps -o comm= --ppid $server",
                                             fake_browser() + "\nBROWSER_STAYS=5; export BROWSER_STAYS");
  // The address with the token is in a file of the user, not in the arguments of a process.
  EXPECT_EQ(result.output, "600\n1\n1\nxdg-open\nended with 0\n");
}

TEST_F(ServeCommand, ServesWithoutBrowser) {
  const CommandResult result = beside_server(
      "--open", "curl -s ${url}api/status | grep -o '\"opens\":null'\ncat errors",
      "mkdir -p bin runs\nfor i in curl grep cat head seq sleep; do ln -s \"$(command -v $i)\" bin/; done\n"
      "PATH=\"$dir/bin\"");
  EXPECT_NE(result.output.find("\"opens\":null"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("no browser could be started: xdg-open: No such file"), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("ended with 0"), std::string::npos) << result.output;
}

TEST_F(ServeCommand, OpensWhatItWasGiven) {
  const CommandResult result =
      beside_server("",
                    "curl -s ${url}api/status | grep -o '\"opens\":null'\n: > lab\n" + kWeft + " serve " +
                        shell_quoted(kSource + "/labs/first-light.yaml") +
                        " --port 0 > lab 2>&1 & lab=$!\n"
                        "for i in $(seq 200); do grep -q http lab && break; sleep 0.05; done\n"
                        "grep -c '/lab$' lab; curl -s $(sed 's|lab$|api/status|' lab) | grep -o '\"view\":\"lab\"'\n"
                        "kill -INT $lab; wait $lab\n",
                    "mkdir -p runs");
  EXPECT_EQ(result.output, "\"opens\":null\n1\n\"view\":\"lab\"\nended with 0\n");
}

TEST_F(ServeCommand, SurvivesHostileClients) {
  const CommandResult result = beside_server(
      "", "python3 " + shell_quoted(kSource + "/tests/interop/hostile_clients.py") + " $url",
      "mkdir -p runs outside/inner\necho '{\"secret\": 1}' | tee outside/results.json > outside/inner/results.json\n"
      "for name in one 'with space' 'per%cent' 'quo\"te' 'new\nline' 'caf\303\251' '<b>'; do\n"
      "name=\"$(printf '%b' \"$name\")\"; mkdir -p \"runs/$name\"; echo '{}' > \"runs/$name/results.json\"; done\n"
      "ln -s ../outside runs/link; ln -s ../../outside/results.json runs/one/secret.json");
  EXPECT_EQ(result.output, "still there\nended with 0\n");
}

TEST_F(ServeCommand, SaysWhatIsWrong) {
  const CommandResult result = beside_server(
      "",
      "port=$(echo $url | grep -o '[0-9]*/$' | tr -d /)\n"
      "check() { " +
          kWeft +
          " serve \"$@\" 2>&1; echo \"= $?\"; }\n"
          "check --port $port; check --port 99999; check --port x; check --listen 192.0.2.1 --port 0\n"
          "check nowhere; check file; check runs/results.sqlite",
      "mkdir -p runs\nprintf 'a\\0b' > file\necho '{}' > runs/results.json\necho x > runs/results.sqlite");
  for (const char* text : {"another program uses this port", "99999 is not a whole number from 0 to 65535",
                           "x is not a whole number from 0 to 65535", "not an address of this machine",
                           "there is no nowhere", "file is not a lab file", "name the run: weft serve runs\n"})
    EXPECT_NE(result.output.find(text), std::string::npos) << text << "\n" << result.output;
  EXPECT_EQ(result.output.find("= 0"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace weft::interop
