#include "live/view/netlink_message.h"

#include <algorithm>

namespace weft::live {

namespace {

// libmnl receives into a page.
constexpr std::size_t kDatagram_B = 4096;

std::size_t padded(std::size_t size_B) {
  return (size_B + 3) & ~std::size_t{3};
}

}  // namespace

std::vector<NetlinkQuestion> split_netlink(std::span<const std::byte> bytes) {
  std::vector<NetlinkQuestion> questions;
  while (bytes.size() >= sizeof(nlmsghdr)) {
    NetlinkQuestion question;
    std::memcpy(&question.head, bytes.data(), sizeof(nlmsghdr));
    const std::size_t size_B = question.head.nlmsg_len;
    if (size_B < sizeof(nlmsghdr) || size_B > bytes.size()) break;
    question.body = bytes.subspan(sizeof(nlmsghdr), size_B - sizeof(nlmsghdr));
    questions.push_back(question);
    bytes = bytes.subspan(std::min(padded(size_B), bytes.size()));
  }
  return questions;
}

std::vector<std::pair<std::uint16_t, std::span<const std::byte>>> NetlinkQuestion::all_attributes(
    std::size_t fixed_B) const {
  std::vector<std::pair<std::uint16_t, std::span<const std::byte>>> found;
  std::span<const std::byte> rest = body.subspan(std::min(padded(fixed_B), body.size()));
  while (rest.size() >= sizeof(nlattr)) {
    nlattr attribute;
    std::memcpy(&attribute, rest.data(), sizeof(attribute));
    if (attribute.nla_len < sizeof(nlattr) || attribute.nla_len > rest.size()) break;
    found.emplace_back(attribute.nla_type & NLA_TYPE_MASK,
                       rest.subspan(sizeof(nlattr), attribute.nla_len - sizeof(nlattr)));
    rest = rest.subspan(std::min(padded(attribute.nla_len), rest.size()));
  }
  return found;
}

std::map<std::uint16_t, std::span<const std::byte>> NetlinkQuestion::attributes(std::size_t fixed_B) const {
  std::map<std::uint16_t, std::span<const std::byte>> found;
  for (const auto& [type, bytes] : all_attributes(fixed_B)) found[type] = bytes;
  return found;
}

std::optional<std::uint32_t> number_of(const std::map<std::uint16_t, std::span<const std::byte>>& attributes,
                                       std::uint16_t type) {
  auto found = attributes.find(type);
  if (found == attributes.end() || found->second.empty()) return std::nullopt;
  std::uint32_t number = 0;
  std::memcpy(&number, found->second.data(), std::min(found->second.size(), sizeof(number)));
  return number;
}

std::string text_of(const std::map<std::uint16_t, std::span<const std::byte>>& attributes, std::uint16_t type) {
  auto found = attributes.find(type);
  if (found == attributes.end()) return "";
  std::string text(reinterpret_cast<const char*>(found->second.data()), found->second.size());
  return text.substr(0, text.find('\0'));
}

void NetlinkReply::append(const void* bytes, std::size_t size_B) {
  const std::size_t at = message_.size();
  message_.resize(at + padded(size_B));
  if (size_B > 0) std::memcpy(message_.data() + at, bytes, size_B);
}

void NetlinkReply::begin(std::uint16_t type) {
  close();
  nlmsghdr head{};
  head.nlmsg_type = type;
  head.nlmsg_flags = question_.is_dump() ? NLM_F_MULTI : 0;
  head.nlmsg_seq = question_.head.nlmsg_seq;
  head.nlmsg_pid = port_id_;
  append(&head, sizeof(head));
}

void NetlinkReply::put_bytes(std::uint16_t type, const void* bytes, std::size_t size_B) {
  nlattr attribute{static_cast<std::uint16_t>(sizeof(nlattr) + size_B), type};
  append(&attribute, sizeof(attribute));
  append(bytes, size_B);
}

void NetlinkReply::begin_nest(std::uint16_t type) {
  nests_.push_back(message_.size());
  nlattr attribute{sizeof(nlattr), type};
  append(&attribute, sizeof(attribute));
}

void NetlinkReply::end_nest() {
  const std::size_t at = nests_.back();
  nests_.pop_back();
  const auto size_B = static_cast<std::uint16_t>(message_.size() - at);
  std::memcpy(message_.data() + at, &size_B, sizeof(size_B));
}

void NetlinkReply::close() {
  if (message_.empty()) return;
  const auto size_B = static_cast<std::uint32_t>(message_.size());
  std::memcpy(message_.data(), &size_B, sizeof(size_B));
  // Messages of a dump share datagrams.
  if (datagrams_.empty() || !question_.is_dump() || datagrams_.back().size() + message_.size() > kDatagram_B)
    datagrams_.emplace_back();
  datagrams_.back().insert(datagrams_.back().end(), message_.begin(), message_.end());
  message_.clear();
}

void NetlinkReply::end_dump() {
  begin(NLMSG_DONE);
  fixed(std::int32_t{0});
  close();
}

void NetlinkReply::error(int error) {
  has_error_ = true;
  begin(NLMSG_ERROR);
  nlmsgerr body{};
  body.error = -error;
  body.msg = question_.head;
  fixed(body);
  close();
}

void NetlinkReply::take(NetlinkBytes& out) {
  close();
  for (const NetlinkBytes& each : datagrams_) {
    const std::size_t at = out.size();
    const auto size_B = static_cast<std::uint32_t>(each.size());
    out.resize(at + sizeof(size_B) + padded(each.size()));
    std::memcpy(out.data() + at, &size_B, sizeof(size_B));
    std::memcpy(out.data() + at + sizeof(size_B), each.data(), each.size());
  }
}

}  // namespace weft::live
