#include <gtest/gtest.h>

#include "gear/bundle/files.h"
#include "gear/bundle/text.h"
#include "support/doctor_bundles.h"

namespace weft::gear {
namespace {

std::string bundle_error(const std::string& text) {
  const auto bundle = parse_bundle(text, "a.txt");
  return bundle ? "" : std::to_string(bundle.error().line) + ": " + bundle.error().message;
}

TEST(Bundle, ReadsSections) {
  const auto bundle =
      parse_bundle("# weft bundle 1\n# host: a\n=== lsmod\nModule\n === x\r\n=== dmesg\n=== end\n", "a.txt");
  ASSERT_TRUE(bundle);
  EXPECT_EQ(bundle->host, "a");
  ASSERT_EQ(bundle->sections.size(), 2u);
  EXPECT_EQ(bundle->sections[0].command, "lsmod");
  EXPECT_EQ(bundle->sections[0].lines, (std::vector<std::string>{"Module", " === x"}));
  const Evidence evidence = bundle->at(bundle->sections[0], 1);
  EXPECT_EQ(evidence.line, 5);
  EXPECT_EQ(evidence.text, "=== x");
}

TEST(Bundle, BrokenBundlesAreErrors) {
  const std::string head = "# weft bundle 1\n# host: a\n";
  EXPECT_EQ(bundle_error(""), "1: this is not a bundle of weft inspect");
  EXPECT_EQ(bundle_error("hello\n"), "1: this is not a bundle of weft inspect");
  EXPECT_EQ(bundle_error("# weft bundle 2\n=== end\n"), "1: bundle format \"2\"; this weft reads format 1");
  EXPECT_EQ(bundle_error(head + "=== lsmod\n"), "3: the bundle is cut short: it has no end");
  EXPECT_EQ(bundle_error(head + "=== end\n"), "3: the bundle is empty");
  EXPECT_EQ(bundle_error(head + "=== a\n=== a\n=== end\n"), "4: the section \"a\" is in line 3 too");
  EXPECT_EQ(bundle_error(head + "=== a\n=== end\nmore\n"), "5: text behind the end of the bundle");
  EXPECT_EQ(bundle_error(head + "text\n=== a\n=== end\n"), "3: text before the first section");
  EXPECT_EQ(bundle_error(head + "===  \n=== end\n"), "3: a section without a command");
  EXPECT_EQ(bundle_error("# weft bundle 1\n=== a\n=== end\n"), "1: the bundle names no host");
  EXPECT_EQ(bundle_error(head + "=== a\n" + std::string("\0", 1) + "\n=== end\n"), "4: a byte 0: this is not text");
  EXPECT_EQ(bundle_error(head + "=== a\n" + std::string(200'000, 'x') + "\n=== end\n"), "4: a line of 200000 B");
}

TEST(Bundle, HostileFilesAreErrors) {
  const auto problem = [](const std::string& text) {
    SiteFiles files;
    add_to_site(text, "f", files);
    return files.problems.empty()
               ? ""
               : std::to_string(files.problems[0].problem.line) + ": " + files.problems[0].problem.message;
  };
  EXPECT_EQ(problem(""), "0: the file is empty");
  EXPECT_EQ(problem("\x1f\x8b\x08"), "0: a compressed file");
  EXPECT_EQ(problem("{\n\"PORT\": {\n"), "3: this is not the JSON of a config_db.json");
  EXPECT_EQ(problem("{\"results\": {}}"),
            "1: JSON, but no config_db.json: it has none of PORT, PORT_QOS_MAP, DEVICE_METADATA");
  EXPECT_EQ(problem("{\"PORT\": [1, {\"a\": null}], \"PORT_QOS_MAP\": 7, \"QUEUE\": {\"x\": 1, \"|\": {}}}"), "");
  EXPECT_EQ(problem(std::string(100'000, '[')), "1: this is not a bundle of weft inspect");
  EXPECT_EQ(problem("{\"PORT\":" + std::string(100'000, '{')), "1: this is not the JSON of a config_db.json");
  EXPECT_EQ(problem("# weft bundle 1\n# host: s\n=== cat /etc/sonic/config_db.json\n{\"PORT\": \n=== end\n"),
            "5: this is not the JSON of a config_db.json");
}

TEST(Bundle, HostCannotBeGivenTwice) {
  SiteFiles files;
  const std::string text = support::slurp(support::DoctorCase::data() / "gpu01.txt");
  add_to_site(text, "a", files);
  add_to_site(text, "b", files);
  ASSERT_EQ(files.problems.size(), 1u);
  EXPECT_EQ(files.problems[0].problem.message, "gpu01 is there twice");
}

TEST(Bundle, ReadsUnpackedTechsupport) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "weft-doctor-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path root = pattern;
  fs::create_directories(root / "sonic_dump_leaf1" / "etc" / "sonic");
  fs::create_directories(root / "sonic_dump_leaf1" / "dump");
  fs::copy(support::DoctorCase::data() / "config_db.json",
           root / "sonic_dump_leaf1" / "etc" / "sonic" / "config_db.json");
  std::ofstream(root / "sonic_dump_leaf1" / "dump" / "interface.counters_1")
      << "    IFACE    STATE    RX_OK    RX_ERR\n---------  -------  -------  --------\nEthernet0        U        8    "
         "    10\n";
  std::ofstream(root / "notes") << "not a bundle\n";
  const SiteFiles files = read_site({root.string()});
  EXPECT_TRUE(files.problems.empty());
  EXPECT_EQ(files.ignored.size(), 1u);
  ASSERT_EQ(files.site.switches.size(), 1u);
  EXPECT_EQ(files.site.switches[0].name, "leaf1");
  ASSERT_TRUE(files.site.switches[0].ports.at("Ethernet0").rx_errors);
  EXPECT_EQ(files.site.switches[0].ports.at("Ethernet0").rx_errors->value, 10u);
  EXPECT_EQ(read_site({(root / "none").string()}).problems.size(), 1u);
  fs::remove_all(root);
  fs::create_directories(root);
  EXPECT_EQ(read_site({root.string()}).problems.size(), 1u);  // nothing in it
  fs::remove_all(root);
}

TEST(Bundle, ReadsSubdirectories) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "weft-doctor-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path root = pattern;
  fs::create_directories(root / "row1" / "rack2" / "hosts");
  fs::create_directories(root / "row1" / "switches");
  fs::copy(support::DoctorCase::data() / "gpu01.txt", root / "row1" / "rack2" / "hosts" / "gpu01.txt");
  fs::copy(support::DoctorCase::data() / "eos1.txt", root / "row1" / "switches" / "eos1.txt");
  std::ofstream(root / "row1" / "result.json") << "{\"results\": []}\n";  // other JSON lies beside
  fs::create_directory_symlink(root, root / "row1" / "again");
  const SiteFiles files = read_site({root.string()});
  fs::remove_all(root);
  EXPECT_TRUE(files.problems.empty());
  EXPECT_EQ(files.site.hosts.size(), 1u);
  EXPECT_EQ(files.site.switches.size(), 1u);
  EXPECT_EQ(files.ignored.size(), 1u);
}

TEST(BundleText, Pieces) {
  EXPECT_EQ(leading_number("1,200 x"), 1200u);
  EXPECT_EQ(leading_number("07,06"), 7u);
  EXPECT_EQ(leading_number("99999999999999999999"), std::nullopt);
  EXPECT_EQ(leading_number("-1"), std::nullopt);
  EXPECT_EQ(leading_hex("0xb83f"), 0xb83fu);
  EXPECT_EQ(leading_hex("0x11112222333344445"), std::nullopt);
  EXPECT_DOUBLE_EQ(*leading_decimal("2.5GT/s"), 2.5);
  EXPECT_EQ(leading_decimal("GT/s"), std::nullopt);
  EXPECT_EQ(number_list("0-2,5"), (std::vector<std::uint32_t>{0, 1, 2, 5}));
  EXPECT_TRUE(number_list("5-2").empty());
  EXPECT_TRUE(number_list("0-99999999").empty());
  EXPECT_EQ(value_after("\tSpeed: 25000Mb/s ", "Speed:"), "25000Mb/s");
  EXPECT_TRUE(words_of("").empty());
}

}  // namespace
}  // namespace weft::gear
