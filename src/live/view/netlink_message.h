// Messages of netlink (RFC 3549) as they are made up: header, a fixed part, attributes, nested ones. And the request
// that they answer, whose every length is checked before it is believed.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::live {

using NetlinkBytes = std::vector<std::byte>;

// One request out of what the program sent.
struct NetlinkQuestion {
  nlmsghdr head{};
  std::span<const std::byte> body;  // behind the header

  bool is_dump() const { return (head.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP; }
  // The fixed part; zeros where the request is shorter.
  template <typename T>
  T fixed() const {
    T value{};
    std::memcpy(&value, body.data(), body.size() < sizeof(T) ? body.size() : sizeof(T));
    return value;
  }
  // Attributes behind a fixed part of that size, in order.
  std::vector<std::pair<std::uint16_t, std::span<const std::byte>>> all_attributes(std::size_t fixed_B) const;
  // Attributes by type; the last of each counts.
  std::map<std::uint16_t, std::span<const std::byte>> attributes(std::size_t fixed_B) const;
};
std::vector<NetlinkQuestion> split_netlink(std::span<const std::byte> bytes);
std::optional<std::uint32_t> number_of(const std::map<std::uint16_t, std::span<const std::byte>>& attributes,
                                       std::uint16_t type);
std::string text_of(const std::map<std::uint16_t, std::span<const std::byte>>& attributes, std::uint16_t type);

// The datagrams of a reply.
class NetlinkReply {
 public:
  NetlinkReply(const NetlinkQuestion& question, std::uint32_t port_id) : question_(question), port_id_(port_id) {}

  // A message; what put() and the others add goes to its end. Closes the one before.
  void begin(std::uint16_t type);
  template <typename T>
  void fixed(const T& value) {
    append(&value, sizeof(value));
  }
  template <typename T>
  void put(std::uint16_t type, const T& value) {
    put_bytes(type, &value, sizeof(value));
  }
  void put_text(std::uint16_t type, const std::string& text) { put_bytes(type, text.c_str(), text.size() + 1); }
  void put_bytes(std::uint16_t type, const void* bytes, std::size_t size_B);
  void begin_nest(std::uint16_t type);
  void end_nest();

  void end_dump();
  // An errno, or 0 for an acknowledgement.
  void error(int error);
  bool has_error() const { return has_error_; }
  // All datagrams, each behind its size and padded.
  void take(NetlinkBytes& out);

 private:
  void append(const void* bytes, std::size_t size_B);
  void close();

  const NetlinkQuestion& question_;
  std::uint32_t port_id_;
  std::vector<NetlinkBytes> datagrams_;
  NetlinkBytes message_;
  std::vector<std::size_t> nests_;
  bool has_error_ = false;
};

}  // namespace weft::live
