// Sockets over RDMA (rsocket(7)): a byte stream over one RC queue pair, or datagrams over a UD one (rs_datagram.cc).
// Streams have version 1 of the protocol of rdma-core's rsockets, so that a peer with that library understands them:
// - Each side has a receive ring of two halves. The first is named in the private data of REQ and REP (ConnectData); a
// half
//   that has been read is granted again by a WRITE of a RemoteBuffer into the peer's list of grants.
// - Bytes are WRITEs with immediate data into what was granted last. Immediate data says what it is (Message) and how
// much.
// - Sequence numbers limit messages under way to the receives that the peer has; grants carry new limits.
// docs/mechanisms/rdma-cm.md, "rsockets".
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "verbs/rdmacm/objects.h"

#pragma GCC visibility push(default)
#include <rdma/rsocket.h>
#pragma GCC visibility pop

namespace weft::verbs::cm::rs {

// Memory of the peer. In grants in the byte order of who reads them, in ConnectData in network order.
struct RemoteBuffer {
  std::uint64_t address;
  std::uint32_t key, length_B;
};
// Memory that the peer may write with riowrite: bytes from `offset` on.
struct IoMapping {
  std::uint64_t offset;
  RemoteBuffer buffer;
};
static_assert(sizeof(IoMapping) == 24);

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint8_t kBigEndian = 1, kHasMappings = 2;  // flags
struct ConnectData {
  std::uint8_t version, flags;
  std::uint16_t credits;  // receives that it has posted
  std::uint8_t unused[3], mappings;
  RemoteBuffer grants, data;
};
static_assert(sizeof(ConnectData) == 40);

// The upper three bits of immediate data; the others are bytes, a sequence number, an index or a Control.
enum class Message : std::uint32_t { kData = 0, kWrite = 2, kGrant = 4, kMapping = 6, kControl = 7 };
enum Control : std::uint32_t { kDisconnect, kKeepalive, kShutdown };
inline constexpr std::uint32_t kDataBits = 29;
constexpr std::uint32_t message(Message kind, std::uint32_t data) {
  return static_cast<std::uint32_t>(kind) << kDataBits | data;
}
constexpr Message kind_of(std::uint32_t word) {
  return static_cast<Message>(word >> kDataBits);
}
constexpr std::uint32_t data_of(std::uint32_t word) {
  return word & ((1u << kDataBits) - 1);
}

inline constexpr std::uint32_t kGrants = 2;         // entries of a list of grants
inline constexpr std::uint32_t kControls = 4;       // control messages under way at most, beside the data
inline constexpr std::uint32_t kLowWater_B = 2048;  // a stream is writable with so much room
inline constexpr std::uint32_t kMaxTransfer_B = 65536;
inline constexpr std::uint64_t kReceiveMark = std::uint64_t{1} << 63;  // of wr_id; else the message that was sent

// The defaults of rsocket(7).
struct Sizes {
  std::uint32_t send_B = 1 << 17, receive_B = 1 << 17;
  std::uint32_t sends = 384, receives = 384, inline_B = 64;
  std::uint32_t mappings = 0;
};
inline constexpr std::uint32_t kFewestWr = 16, kMostWr = 0xfffe;

enum class State : std::uint8_t {
  kInit,
  kBound,
  kListening,
  kConnecting,
  kAccepting,
  kConnected,
  kDisconnected,
  kFailed
};

struct Mapping;    // rs_mapping.cc
struct Datagrams;  // rs_datagram.cc

struct Socket {
  int fd;  // of its event channel: the number that the program knows
  int type, family;
  rdma_cm_id* id;
  State state;
  bool can_read, can_write;                                 // neither side has shut that direction down
  int error;                                                // SO_ERROR
  int flags;                                                // of fcntl
  std::uint64_t socket_options, tcp_options, ipv6_options;  // bits that were set
  int keep_idle_s;
  Sizes sizes;

  pthread_mutex_t mutex;  // of all that follows; not held while a thread waits for an event
  pthread_cond_t changed;
  bool waiting;  // one thread waits for an event; others for it
  bool armed;
  std::uint32_t unacknowledged;  // events of the queue
  ibv_comp_channel* channel;
  ibv_cq* cq;

  // Send side.
  std::uint8_t* send_buffer;  // a ring, and behind it room for control messages
  ibv_mr* send_mr;
  std::uint32_t send_at, send_free_B, free_sends;
  std::uint32_t controls_sent, controls_done;
  std::uint16_t sequence, sequence_limit;
  std::uint8_t* lists;  // grants of the peer, then its mappings: it writes them
  ibv_mr* lists_mr;
  std::uint32_t grant;       // the one in use
  RemoteBuffer peer_grants;  // the peer's list, and the next entry there
  std::uint32_t peer_grant;
  std::uint32_t peer_mappings;
  bool swaps;  // the peer has the other byte order

  // Receive side.
  std::uint8_t* receive_buffer;
  ibv_mr* receive_mr;
  std::uint32_t* lengths;  // of messages, a ring of receives + 1
  std::uint32_t head, tail;
  std::uint32_t read_at, free_B, next_grant_at;
  std::uint16_t received, credit_at;

  Mapping* mappings;  // of riomap
  std::uint16_t next_mapping;
  bool has_new_mappings;

  Datagrams* datagrams;  // of SOCK_DGRAM; null: a stream
};

inline volatile RemoteBuffer* grants_of(Socket& socket) {
  return reinterpret_cast<volatile RemoteBuffer*>(socket.lists);
}
inline volatile IoMapping* mappings_of(Socket& socket) {
  return reinterpret_cast<volatile IoMapping*>(socket.lists + kGrants * sizeof(RemoteBuffer));
}

// rs_table.cc. Null and EBADF: no socket has this number.
Socket* find(int fd);
bool has_several_users();  // threads of the program that use sockets
Socket* make_socket(const Socket* listener, int type, int family);
int enter(Socket& socket, int fd);
void free_socket(Socket* socket);
std::uint8_t* allocate(std::size_t size_B);  // whole pages, zero

// rs_endpoint.cc: queue pair and buffers. 0, or -1 and errno.
// One for both directions, with its channel. 0, or -1 and errno.
int make_completion_queue(Socket& socket, ibv_context* verbs);
int make_endpoint(Socket& socket);
void free_endpoint(Socket& socket);
ConnectData connect_data(const Socket& socket);
void take_connect_data(Socket& socket, const ConnectData& data);

// rs_connect.cc. Brings a connection forward without waiting: 0, or -1 with EINPROGRESS or what has become of it.
int advance(Socket& socket);

// rs_stream.cc. All with the mutex held.
inline bool is_connected(const Socket& socket) {
  return socket.state == State::kConnected || socket.state == State::kAccepting;
}
inline bool has_data(const Socket& socket) {
  return socket.head != socket.tail;
}
bool can_send(Socket& socket);
inline bool may_write(Socket& socket) {
  return can_send(socket) || !socket.can_write;
}
inline bool has_event(int fd) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, 0) > 0;
}
// Takes completions and events, and grants what was read. `may_park`: a look that finds nothing twice lets time pass.
void process(Socket& socket, bool may_park);
// Until `test`. 0, or -1 and errno: EAGAIN for those who do not wait.
using Test = bool (*)(Socket& socket);
int wait_until(Socket& socket, bool waits, Test test);
void arm(Socket& socket);
void take_events(Socket& socket, bool queue, bool connection);
ssize_t receive_bytes(Socket& socket, const iovec* pieces, int count, int flags);
ssize_t send_bytes(Socket& socket, const iovec* pieces, int count, int flags);
int send_control(Socket& socket, Control control);
bool all_sent(Socket& socket);
// The bytes of a list of pieces, one after the other.
struct Gather {
  const iovec* piece;
  std::size_t offset_B;  // in it
  void copy(std::uint8_t* to, std::size_t size_B);
};
// One WRITE of `size_B` of them, by way of the send ring unless they fit into the request. `word` goes along as
// immediate data unless it is a kWrite. 0, or -1 and errno.
int post_write(Socket& socket, std::uint32_t word, const RemoteBuffer& to, std::uint32_t size_B, Gather& from);
inline bool waits(const Socket& socket, int flags) {
  return (socket.flags & O_NONBLOCK) == 0 && (flags & MSG_DONTWAIT) == 0;
}

// rs_mapping.cc
int send_mappings(Socket& socket, int flags);
void free_mappings(Socket& socket);

// rs_poll.cc
short ready_events(Socket& socket, short wanted, bool may_park);

// rs_datagram.cc. Sending, receiving and ready_datagrams with the mutex held.
int open_datagrams(Socket& socket);
void close_datagrams(Socket& socket);
int bind_datagrams(Socket& socket, const sockaddr* address);
int connect_datagrams(Socket& socket, const sockaddr* address);
ssize_t send_datagram(Socket& socket, const iovec* pieces, int count, int flags, const sockaddr* to);
ssize_t receive_datagram(Socket& socket, const iovec* pieces, int count, int flags, sockaddr* from, socklen_t* from_B);
short ready_datagrams(Socket& socket, short wanted, bool may_park);

}  // namespace weft::verbs::cm::rs
