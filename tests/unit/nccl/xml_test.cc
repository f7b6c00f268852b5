#include "nccl/text/xml.h"

#include <gtest/gtest.h>

#include "nccl/text/graph_xml.h"
#include "nccl/text/topology_xml.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

std::string xml_error(std::string_view text) {
  const auto parsed = parse_xml(text);
  if (parsed) return "none";
  return std::to_string(parsed.error().line) + ":" + std::to_string(parsed.error().column) + ": " +
         parsed.error().message;
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Xml, ReadsWhatItWrites) {
  const auto parsed =
      parse_xml("<?xml version='1.0'?>\n<!-- x --><a k=\"1 &lt;&amp;&quot;\" l='2'>\n <b/><c>\n</c></a>\n");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->attributes[0].second, "1 <&\"");
  EXPECT_EQ(parsed->children.size(), 2U);
  EXPECT_EQ(parsed->children[0].line, 3U);
  const std::string written = write_xml(*parsed);
  EXPECT_EQ(written, "<a k=\"1 &lt;&amp;&quot;\" l=\"2\">\n  <b/>\n  <c/>\n</a>\n");
  EXPECT_EQ(write_xml(*parse_xml(written)), written);
}

TEST(Xml, MistakesHaveTheirPlace) {
  EXPECT_EQ(xml_error(""), "1:1: an element is missing");
  EXPECT_EQ(xml_error("<a>\n <b></a>"), "2:8: </a> where </b> was expected");
  EXPECT_EQ(xml_error("<a k=1/>"), "1:6: a value needs quotes");
  EXPECT_EQ(xml_error("<a k='1"), "1:8: a value without an end");
  EXPECT_EQ(xml_error("<a k='1' k='2'/>"), "1:11: k is there twice");
  EXPECT_EQ(xml_error("<a>"), "1:4: </a> is missing");
  EXPECT_EQ(xml_error("<a/><b/>"), "1:5: there is more after the end of the first element");
  EXPECT_EQ(xml_error("<a k='&bomb;'/>"), "1:7: an entity that XML does not have");
  EXPECT_EQ(xml_error("<!DOCTYPE a><a/>"), "1:2: a name is missing");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  EXPECT_NE(xml_error(deep).find("too many elements within each other"), std::string::npos);
}

struct Dumped {
  Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 8, 8, 400));
  Communicator communicator{cluster, ranks_on(cluster, 8)};
  std::string topology = topology_xml(cluster, communicator, 0);
};

Communicator with_file(const Dumped& dumped, const std::string& text) {
  Environment environment;
  environment.topo_file = "topo.xml";
  environment.topo_text = text;
  return Communicator(dumped.cluster, ranks_on(dumped.cluster, 8), environment);
}

TEST(TopologyXml, DumpReadBackGivesSameRings) {
  const Dumped dumped;
  EXPECT_NE(dumped.topology.find("<gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\">"), std::string::npos);
  EXPECT_NE(dumped.topology.find("count=\"18\" tclass=\"0x068000\""), std::string::npos);
  const Communicator again = with_file(dumped, dumped.topology);
  ASSERT_EQ(again.error(), "");
  EXPECT_EQ(again.channels()[0].ring, dumped.communicator.channels()[0].ring);
  EXPECT_EQ(graph_xml(again, 0), graph_xml(dumped.communicator, 0));
}

TEST(TopologyXml, FileDecidesPaths) {
  const Dumped dumped;
  // The same devices, all switches at half the width: 24 GB/s below them.
  std::string slow = dumped.topology;
  std::size_t at = 0;
  while ((at = slow.find("link_width=\"16\"", at)) != std::string::npos) slow.replace(at, 15, "link_width=\"8\"");
  const Communicator communicator = with_file(dumped, slow);
  ASSERT_EQ(communicator.error(), "");
  EXPECT_EQ(communicator.graphs().ring.inter_GBps, 24);
}

TEST(TopologyXml, ContradictionsHaveTheirPlace) {
  const Dumped dumped;
  const auto error = [&](std::string_view from, std::string_view to) {
    return with_file(dumped, with(dumped.topology, from, to)).error();
  };
  EXPECT_EQ(error("sm=\"90\"", "sm=\"80\""), "topo.xml:5:1: sm is 80, and GPU 0 of the lab, h100-sxm, has 90");
  EXPECT_NE(error("dev=\"1\" sm", "dev=\"0\" sm").find("GPU 0 is there twice"), std::string::npos);
  EXPECT_NE(error("dev=\"1\" sm", "dev=\"17\" sm").find("node0 of the lab has no GPU 17"), std::string::npos);
  EXPECT_NE(error("name=\"mlx5_3\"", "name=\"mlx5_33\"").find("node0 of the lab has no NIC mlx5_33"),
            std::string::npos);
  EXPECT_NE(
      error("speed=\"400000\"", "speed=\"200000\"").find("speed is 200000, and mlx5_0 of the lab has 400000 Mb/s"),
      std::string::npos);
  EXPECT_NE(error("GenuineIntel", "AuthenticAMD").find("vendor is AuthenticAMD"), std::string::npos);
  EXPECT_NE(error("x86_64", "arm64").find("topo.xml:2:1: arch is arm64"), std::string::npos);
  EXPECT_NE(error("version=\"1\"", "version=\"2\"").find("version"), std::string::npos);
  EXPECT_EQ(with_file(dumped, "<graphs version=\"1\"/>").error(), "topo.xml:1:1: <system> was expected, not <graphs>");
  EXPECT_EQ(with_file(dumped, "<system version=\"1\"><cpu numaid=\"0\"/></system>").error(),
            "topo.xml:1:1: there are 0 GPUs, and node0 of the lab has 8");
  EXPECT_EQ(with_file(dumped, "no xml").error(), "topo.xml:1:1: an element is missing");
}

TEST(TopologyXml, FilesOfCloudsNameDevicesByOrder) {
  Machine machine = plain_machine(1, {});
  machine.cpu_kind = "amd";
  machine.places.gpus.push_back({gpu_model("a100-40g"), {}});
  machine.nics.push_back({"mlx5_0", "eth0", "10.0.0.1", 200'000'000'000, {}, 0, 0, "", true});
  const Cluster cluster = cluster_of(2, machine);
  EXPECT_FALSE(Communicator(cluster, ranks_on(cluster, 1)).route(0, 0, 1).send_gdr);  // through the host bridge
  Environment environment;
  environment.topo_file = "ndv4.xml";
  environment.topo_text =
      "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"ff\" arch=\"x86_64\" vendor=\"AuthenticAMD\" "
      "familyid=\"23\" "
      "modelid=\"49\">\n<pci busid=\"ffff:ff:01.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">\n"
      "<pci busid=\"0001:00:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"/>\n"
      "<pci busid=\"0101:00:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" "
      "link_width=\"16\"/>\n</pci></cpu></system>";
  const Communicator communicator(cluster, ranks_on(cluster, 1), environment);
  ASSERT_EQ(communicator.error(), "");
  EXPECT_TRUE(communicator.route(0, 0, 1).send_gdr);
  EXPECT_EQ(communicator.graphs().ring.inter_type, PathType::kPix);
}

TEST(GraphXml, FileReplacesSearch) {
  const Dumped dumped;
  const std::string text = graph_xml(dumped.communicator, 0);
  EXPECT_NE(
      text.find("<graph id=\"0\" pattern=\"4\" crossnic=\"2\" nchannels=\"8\" speedintra=\"48\" speedinter=\"48\" "
                "latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"0\">"),
      std::string::npos);
  const auto read = [&](const std::string& graphs) {
    Environment environment;
    environment.graph_file = "graph.xml";
    environment.graph_text = graphs;
    return Communicator(dumped.cluster, ranks_on(dumped.cluster, 8), environment);
  };
  EXPECT_EQ(read(text).channels()[3].ring, dumped.communicator.channels()[3].ring);
  const Communicator slower = read(with(text, "speedinter=\"48\"", "speedinter=\"24\""));
  EXPECT_EQ(slower.graphs().ring.inter_GBps, 24);
  EXPECT_NE(read(with(text, "pattern=\"4\"", "pattern=\"3\"")).error().find("graph.xml:2:1: pattern 3"),
            std::string::npos);
  EXPECT_NE(read(with(text, "<gpu dev=\"0x7\"", "<gpu dev=\"0x8\"")).error().find("GPU 8 has no rank here"),
            std::string::npos);
  EXPECT_NE(read(with(text, "<gpu dev=\"0x7\"", "<gpu dev=\"0x6\"")).error().find("twice"), std::string::npos);
  EXPECT_NE(read(with(text, "<net dev=\"0\"/>", "<net dev=\"9\"/>")).error().find("no network device 9"),
            std::string::npos);
  EXPECT_NE(read(with(text, "<net dev=\"0\"/>", "")).error().find("begins and ends"), std::string::npos);
  EXPECT_NE(read("<system/>").error().find("<graphs> was expected"), std::string::npos);
}

}  // namespace
}  // namespace weft::nccl
