#include "serve/packets/packet_routes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "observe/capture.h"
#include "pcap/pcapng.h"
#include "serve/packets/packet_filter.h"
#include "wire/aeth_syndrome.h"
#include "wire/pfc.h"
#include "wire/roce_frame.h"

namespace weft::serve {
namespace {

using Json = nlohmann::json;

class PacketRoutesTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("weft-packets-" + std::to_string(getpid()));
    std::filesystem::create_directories(root_ / "run1");
    std::filesystem::create_directories(root_ / "bare");
    for (const char* name : {"run1", "bare"}) std::ofstream(root_ / name / "results.json") << "{}";
    auto writer = pcap::PcapngWriter::create((root_ / "run1/capture.pcapng").string());
    writer->add_interface("leaf0:swp1", 100'000'000'000);
    writer_ = &*writer;
    add(wire::Opcode::kWriteFirst, 10);
    add(wire::Opcode::kWriteMiddle, 11, 3);
    add(wire::Opcode::kAck, 10, 2, wire::nak_syndrome(wire::NakCode::kPsnSequenceError));
    add(wire::Opcode::kWriteMiddle, 11);
    add(wire::Opcode::kWriteLast, 12);
    add(wire::Opcode::kCnp, 0);
    wire::Pfc pfc;
    pfc.class_enable = 8;
    pfc.quanta[3] = 100;
    writer->write(0, observe::Capture::kEpoch_ns + ++count_ * 100, true, wire::build_pfc_frame(pfc));
    EXPECT_TRUE(writer->close());
    place_.emplace(root_.string());
    add_packet_routes(router_, *place_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void add(wire::Opcode opcode, std::uint32_t psn, std::uint8_t ecn = 2, std::uint8_t syndrome = 0) {
    wire::RoceHeaders headers;
    const bool back = opcode == wire::Opcode::kAck || opcode == wire::Opcode::kCnp;
    headers.src_ip = wire::ipv4_mapped(10, 0, 0, back ? 2 : 1);
    headers.dst_ip = wire::ipv4_mapped(10, 0, 0, back ? 1 : 2);
    headers.v4 = true;
    headers.tos = static_cast<std::uint8_t>(26 << 2 | ecn);
    headers.opcode = opcode;
    headers.dest_qp = back ? 7 : 17;
    headers.psn = psn;
    headers.aeth_syndrome = syndrome;
    const std::vector<std::uint8_t> payload(wire::has_payload(opcode) ? 64 : 0, 1);
    std::vector<std::uint8_t> frame(wire::roce_frame_size_B(headers, payload.size()));
    wire::build_roce_frame(headers, payload, frame);
    writer_->write(0, observe::Capture::kEpoch_ns + ++count_ * 100, true, frame,
                   opcode == wire::Opcode::kWriteLast ? "weft: \xff" : "");
  }
  Json get(const std::string& path, std::map<std::string, std::string> query = {}, int status = 200) {
    Request request;
    request.method = "GET";
    request.path = "/api/runs/" + path;
    request.query = std::move(query);
    const Response response = router_.answer(request);
    EXPECT_EQ(response.status, status) << response.body;
    return Json::parse(response.body);
  }
  std::vector<int> numbers(const std::string& filter) {
    std::vector<int> out;
    const Json answer = get("run1/packets", {{"filter", filter}});
    for (const Json& each : answer.at("packets")) out.push_back(each.at("number"));
    return out;
  }

  std::filesystem::path root_;
  std::optional<RunPlace> place_;
  Router router_;
  pcap::PcapngWriter* writer_ = nullptr;
  std::int64_t count_ = 0;
};

TEST_F(PacketRoutesTest, ListsFramesInPages) {
  const Json all = get("run1/packets");
  EXPECT_EQ(all.at("total"), 7);
  EXPECT_TRUE(all.at("next").is_null());
  ASSERT_EQ(all.at("packets").size(), 7u);
  const Json& first = all.at("packets")[0];
  EXPECT_EQ(first.at("time_ps"), 100'000);
  EXPECT_EQ(first.at("port"), "leaf0:swp1");
  EXPECT_EQ(first.at("source"), "10.0.0.1");
  EXPECT_EQ(first.at("protocol"), "RC");
  EXPECT_EQ(first.at("psn"), 10);
  EXPECT_EQ(first.at("qp"), 17);
  const Json page = get("run1/packets", {{"offset", "2"}, {"limit", "3"}});
  EXPECT_EQ(page.at("packets")[0].at("number"), 3);
  EXPECT_EQ(page.at("next"), 5);
  EXPECT_EQ(get("run1/packets", {{"from_ps", "350000"}}).at("packets")[0].at("number"), 4);
  get("run1/packets", {{"from_ps", "350000"}, {"offset", "3"}}, 400);
}

TEST_F(PacketRoutesTest, FiltersByWords) {
  EXPECT_EQ(numbers("ce"), (std::vector<int>{2}));
  EXPECT_EQ(numbers("nak"), (std::vector<int>{3}));
  EXPECT_EQ(numbers("cnp"), (std::vector<int>{6}));
  EXPECT_EQ(numbers("rnr"), (std::vector<int>{}));
  EXPECT_EQ(numbers("psn==0"), (std::vector<int>{}));
  EXPECT_EQ(numbers("infiniband.bth.psn == 0"), (std::vector<int>{6}));  // Wireshark has the PSN of CNPs
  EXPECT_EQ(numbers("pause"), (std::vector<int>{7}));
  EXPECT_EQ(numbers("retransmitted"), (std::vector<int>{4}));
  EXPECT_EQ(numbers("psn>=11 qp==17"), (std::vector<int>{2, 4, 5}));
  EXPECT_EQ(numbers("qp==0x11 not psn==11"), (std::vector<int>{1, 5}));
  EXPECT_EQ(numbers("opcode==WRITE psn==12"), (std::vector<int>{5}));
  EXPECT_EQ(numbers("from==10.0.0.2"), (std::vector<int>{3, 6}));
  EXPECT_EQ(numbers("port==leaf0 !ip==10.0.0.1"), (std::vector<int>{7}));
  EXPECT_EQ(numbers("\"sequence error\""), (std::vector<int>{3}));
  EXPECT_EQ(numbers("nothing-has-this"), (std::vector<int>{}));
  get("run1/packets", {{"filter", "psn==x"}}, 400);
  get("run1/packets", {{"filter", "ip>10.0.0.1"}}, 400);
  get("run1/packets", {{"limit", "0"}}, 400);
}

TEST_F(PacketRoutesTest, JoinsWordsByAndOrNotAndParentheses) {
  EXPECT_EQ(numbers("ce or cnp"), (std::vector<int>{2, 6}));
  EXPECT_EQ(numbers("ce || cnp && pause"), (std::vector<int>{2}));
  EXPECT_EQ(numbers("(ce || cnp) && from==10.0.0.2"), (std::vector<int>{6}));
  EXPECT_EQ(numbers("!(ce or cnp or pause)"), (std::vector<int>{1, 3, 4, 5}));
  EXPECT_EQ(numbers("not not ce"), (std::vector<int>{2}));
}

TEST_F(PacketRoutesTest, TakesWiresharkNames) {
  EXPECT_EQ(numbers("ip.src==10.0.0.2"), (std::vector<int>{3, 6}));
  EXPECT_EQ(numbers("ip.src == 10.0.0.2 && infiniband.bth.opcode == 0x81"), (std::vector<int>{6}));
  EXPECT_EQ(numbers("infiniband.bth.psn ge 11 and infiniband.bth.destqp eq 17"), (std::vector<int>{2, 4, 5}));
  EXPECT_EQ(numbers("ip.addr != 10.0.0.1"), (std::vector<int>{7}));
  EXPECT_EQ(numbers("ip.dsfield.ecn == 3"), (std::vector<int>{2}));
  EXPECT_EQ(numbers("udp.port == 4791 && frame.number < 3"), (std::vector<int>{1, 2}));
  EXPECT_EQ(numbers("!infiniband"), (std::vector<int>{7}));
  EXPECT_EQ(numbers("frame.interface_name == \"leaf0:swp1\" && frame.number == 7"), (std::vector<int>{7}));
  // The first frame is at 100 ns of the run.
  EXPECT_EQ(numbers("time <= 200ns"), (std::vector<int>{1, 2}));
  EXPECT_EQ(numbers("frame.time_relative <= 0.0000001"), (std::vector<int>{1, 2}));
}

TEST_F(PacketRoutesTest, RefusesWhatItDoesNotKnow) {
  const auto refused = [&](const std::string& filter) {
    return get("run1/packets", {{"filter", filter}}, 400).at("errors")[0].at("message").get<std::string>();
  };
  EXPECT_NE(refused("ce && ip.ttl == 3").find("'ip.ttl' (character 7): there is no field ip.ttl"), std::string::npos);
  EXPECT_NE(refused("opcod==write").find("there is no field opcod"), std::string::npos);
  EXPECT_NE(refused("ip.flags.df").find("there is no field ip.flags.df"), std::string::npos);
  EXPECT_NE(refused("ip.src").find("ip.src == VALUE"), std::string::npos);
  EXPECT_NE(refused("ce or").find("a word is missing"), std::string::npos);
  EXPECT_NE(refused("(ce").find("not closed"), std::string::npos);
  EXPECT_NE(refused("ce)").find("no matching ("), std::string::npos);
  EXPECT_NE(refused("psn=3").find("write =="), std::string::npos);
  EXPECT_NE(refused("\"open").find("the quote is not closed"), std::string::npos);
  EXPECT_NE(refused("psn==").find("the value is missing"), std::string::npos);
  EXPECT_NE(refused("flow==nobody/1").find("the run has no such flow"), std::string::npos);
  EXPECT_NE(refused("time>5").find("write 20us"), std::string::npos);
  EXPECT_NE(refused(std::string(100'000, '(')).find("too deep"), std::string::npos);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "ce ";
  EXPECT_NE(refused(many).find("more than 256 words"), std::string::npos);
}

TEST_F(PacketRoutesTest, ShowsOneWithItsMessage) {
  const Json one = get("run1/packets/4");
  EXPECT_EQ(one.at("number"), 4);
  EXPECT_EQ(one.at("layers")[0].at("name"), "Ethernet II");
  EXPECT_EQ(one.at("bytes").get<std::string>().size(), 2 * one.at("original_B").get<std::size_t>());
  EXPECT_EQ(one.at("message").at("first"), 1);
  EXPECT_EQ(one.at("message").at("last"), 5);
  EXPECT_TRUE(get("run1/packets/3").at("message").is_null());
  for (const char* number : {"0", "8", "x", "-1", "99999999999999999999"})
    get(std::string("run1/packets/") + number, {}, 404);
}

TEST_F(PacketRoutesTest, SaysHowToCapture) {
  const Json answer = get("bare/packets", {}, 404);
  EXPECT_NE(answer.at("errors")[0].at("remedy").get<std::string>().find("--capture"), std::string::npos);
  get("none/packets", {}, 404);
}

TEST_F(PacketRoutesTest, ReadsRingFilesInOrder) {
  std::filesystem::rename(root_ / "run1/capture.pcapng", root_ / "bare/capture_00002.pcapng");
  std::filesystem::copy(root_ / "bare/capture_00002.pcapng", root_ / "bare/capture_00010.pcapng");
  EXPECT_EQ(get("bare/packets").at("total"), 14);
  EXPECT_EQ(get("bare/packets/13").at("protocol"), "CNP");
}

}  // namespace
}  // namespace weft::serve
