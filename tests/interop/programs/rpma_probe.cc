// librpma between two nodes: a region's descriptor comes with the connection; WRITE, flush (which librpma makes of a
// READ), READ and a message with immediate data, every byte compared. A connection for each of three rounds.
//   rpma_probe serve ADDRESS | rpma_probe ask ADDRESS
#include <librpma.h>

#include <vector>

#include "interop/programs/probe.h"

namespace {

constexpr std::size_t kRegion_B = 100'000, kMessage_B = 64;
constexpr int kRounds = 3;
constexpr char kPort[] = "7400";
constexpr std::uint32_t kImmediate = 0x12345678;

void need(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "rpma_probe: %s (%s): %s\n", what, probe::current, rpma_err_2str(result));
  _exit(1);
}
#define NEED(call) need(call, #call)

std::uint8_t byte_of(std::size_t index, int round) {
  return static_cast<std::uint8_t>(index * 2654435761U >> 11 ^ static_cast<std::size_t>(round));
}

rpma_peer* peer_at(const char* address, rpma_util_ibv_context_type type) {
  ibv_context* device = nullptr;
  NEED(rpma_utils_get_ibv_context(address, type, &device));
  rpma_peer* peer = nullptr;
  NEED(rpma_peer_new(device, &peer));
  return peer;
}

rpma_mr_local* registered(rpma_peer* peer, std::vector<std::uint8_t>& bytes) {
  rpma_mr_local* region = nullptr;
  NEED(rpma_mr_reg(peer, bytes.data(), bytes.size(),
                   RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST |
                       RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
                   &region));
  return region;
}

void expect(rpma_conn* connection, rpma_conn_event wanted) {
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  NEED(rpma_conn_next_event(connection, &event));
  if (event == wanted) return;
  fprintf(stderr, "rpma_probe: %s instead of %s\n", rpma_utils_conn_event_2str(event),
          rpma_utils_conn_event_2str(wanted));
  _exit(1);
}

ibv_wc completion_of(rpma_conn* connection) {
  rpma_cq* queue = nullptr;
  NEED(rpma_conn_get_cq(connection, &queue));
  ibv_wc completion{};
  for (int got = 0; got == 0;) {
    NEED(rpma_cq_wait(queue));
    const int result = rpma_cq_get_wc(queue, 1, &completion, &got);
    if (result != RPMA_E_NO_COMPLETION) need(result, "rpma_cq_get_wc");
  }
  REQUIRE(completion.status == IBV_WC_SUCCESS);
  return completion;
}

void serve(const char* address) {
  rpma_peer* peer = peer_at(address, RPMA_UTIL_IBV_CONTEXT_LOCAL);
  rpma_ep* listener = nullptr;
  NEED(rpma_ep_listen(peer, address, kPort, &listener));
  std::vector<std::uint8_t> bytes(kRegion_B);
  rpma_mr_local* region = registered(peer, bytes);
  std::size_t described_B = 0;
  NEED(rpma_mr_get_descriptor_size(region, &described_B));
  std::vector<std::uint8_t> described(described_B);
  NEED(rpma_mr_get_descriptor(region, described.data()));
  for (int round = 0; round < kRounds; ++round) {
    rpma_conn_req* request = nullptr;
    NEED(rpma_ep_next_conn_req(listener, nullptr, &request));
    NEED(rpma_conn_req_recv(request, region, 0, kMessage_B, nullptr));
    rpma_conn_private_data own{described.data(), static_cast<std::uint8_t>(described.size())};
    rpma_conn* connection = nullptr;
    NEED(rpma_conn_req_connect(&request, &own, &connection));
    expect(connection, RPMA_CONN_ESTABLISHED);
    const ibv_wc message = completion_of(connection);
    REQUIRE(message.opcode == IBV_WC_RECV && message.byte_len == kMessage_B && ntohl(message.imm_data) == kImmediate);
    for (std::size_t i = 0; i < kMessage_B; ++i) REQUIRE(bytes[i] == byte_of(i + 1, round));
    for (std::size_t i = kMessage_B; i < kRegion_B; ++i) REQUIRE(bytes[i] == byte_of(i, round));
    expect(connection, RPMA_CONN_CLOSED);
    NEED(rpma_conn_disconnect(connection));
    NEED(rpma_conn_delete(&connection));
  }
  NEED(rpma_ep_shutdown(&listener));
  NEED(rpma_mr_dereg(&region));
  NEED(rpma_peer_delete(&peer));
}

void ask(const char* address) {
  rpma_peer* peer = peer_at(address, RPMA_UTIL_IBV_CONTEXT_REMOTE);
  std::vector<std::uint8_t> bytes(kRegion_B), back(kRegion_B);
  rpma_mr_local *source = registered(peer, bytes), *destination = registered(peer, back);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kRegion_B; ++i) bytes[i] = byte_of(i, round);
    rpma_conn_req* request = nullptr;
    NEED(rpma_conn_req_new(peer, address, kPort, nullptr, &request));
    rpma_conn* connection = nullptr;
    NEED(rpma_conn_req_connect(&request, nullptr, &connection));
    expect(connection, RPMA_CONN_ESTABLISHED);
    rpma_conn_private_data given{};
    NEED(rpma_conn_get_private_data(connection, &given));
    rpma_mr_remote* remote = nullptr;
    NEED(rpma_mr_remote_from_descriptor(given.ptr, given.len, &remote));
    std::size_t remote_B = 0;
    NEED(rpma_mr_remote_get_size(remote, &remote_B));
    REQUIRE(remote_B == kRegion_B);
    NEED(rpma_write(connection, remote, 0, source, 0, kRegion_B, RPMA_F_COMPLETION_ON_ERROR, nullptr));
    NEED(rpma_flush(connection, remote, 0, kRegion_B, RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS, &remote));
    REQUIRE(completion_of(connection).wr_id == reinterpret_cast<std::uintptr_t>(&remote));
    NEED(rpma_read(connection, destination, 0, remote, 0, kRegion_B, RPMA_F_COMPLETION_ALWAYS, nullptr));
    REQUIRE(completion_of(connection).opcode == IBV_WC_RDMA_READ);
    REQUIRE(back == bytes);
    for (std::size_t i = 0; i < kMessage_B; ++i) bytes[i] = byte_of(i + 1, round);
    NEED(rpma_send_with_imm(connection, source, 0, kMessage_B, RPMA_F_COMPLETION_ALWAYS, kImmediate, nullptr));
    completion_of(connection);
    NEED(rpma_conn_disconnect(connection));
    expect(connection, RPMA_CONN_CLOSED);
    NEED(rpma_mr_remote_delete(&remote));
    NEED(rpma_conn_delete(&connection));
  }
  NEED(rpma_mr_dereg(&source));
  NEED(rpma_mr_dereg(&destination));
  NEED(rpma_peer_delete(&peer));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (strcmp(argv[1], "serve") == 0) {
    serve(argv[2]);
  } else {
    ask(argv[2]);
  }
  printf("well\n");
  return 0;
}
