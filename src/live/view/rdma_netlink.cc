#include "live/view/rdma_netlink.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <cerrno>

#include "results/counters/driver_counters.h"

namespace weft::live {

namespace {

constexpr std::uint8_t kSharedNamespace = 1;
// IB_DEVICE_* of mlx5 that have a name in every version of `rdma`: BAD_PKEY_CNTR, RC_RNR_NAK_GEN, ...
constexpr std::uint64_t kPortCapabilities = 0x00010000;  // CM

void put_device(NetlinkReply& reply, std::uint16_t type, const NodePort& port) {
  reply.begin(type);
  reply.put(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{port.device});
  reply.put_text(RDMA_NLDEV_ATTR_DEV_NAME, port.rdma);
}

void answer_device(const NodePort& port, const NetlinkQuestion& question, NetlinkReply& reply) {
  put_device(reply, question.head.nlmsg_type, port);
  reply.put(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1});
  reply.put(RDMA_NLDEV_ATTR_CAP_FLAGS, std::uint64_t{0});
  reply.put_text(RDMA_NLDEV_ATTR_FW_VERSION, port.info.firmware);
  reply.put(RDMA_NLDEV_ATTR_NODE_GUID, port.info.node_guid);
  reply.put(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, port.info.system_guid);
  reply.put(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, std::uint8_t{IBV_NODE_CA});
  reply.put_text(RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
}

void answer_port(const NetlinkNode& node, const NodePort& port, const NetlinkQuestion& question, NetlinkReply& reply) {
  const bool up = is_link_up(node.world, port.port, node.now_ps);
  put_device(reply, question.head.nlmsg_type, port);
  reply.put(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1});
  reply.put(RDMA_NLDEV_ATTR_CAP_FLAGS, kPortCapabilities);
  reply.put(RDMA_NLDEV_ATTR_PORT_STATE, static_cast<std::uint8_t>(up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN));
  reply.put(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, static_cast<std::uint8_t>(up ? 5 : 3));
  reply.put(RDMA_NLDEV_ATTR_NDEV_INDEX, static_cast<std::uint32_t>(port.index));
  reply.put_text(RDMA_NLDEV_ATTR_NDEV_NAME, port.netdev);
}

void answer_statistics(const NetlinkNode& node, const NodePort& port, const NetlinkQuestion& question,
                       NetlinkReply& reply) {
  put_device(reply, question.head.nlmsg_type, port);
  reply.put(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1});
  reply.begin_nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
  const lab::PortOutcome counted = count(node.world, port, node.now_ps);
  for (const lab::DriverCounter& each : driver_counters(counted, port.model->driver, port.config->address.is_v4)) {
    if (each.group != nic::CounterGroup::kHardware) continue;
    reply.begin_nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
    reply.put_text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, each.name);
    reply.put(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, each.value);
    reply.end_nest();
  }
  reply.end_nest();
}

std::string port_statistic(const NetlinkNode& node) {
  return fmt::format("rdma statistic show link {}/1 prints the port's",
                     node.ports.empty() ? "DEVICE" : node.ports.front().rdma);
}

bool changes_rdma(std::uint16_t command) {
  return command == RDMA_NLDEV_CMD_SET || command == RDMA_NLDEV_CMD_NEWLINK || command == RDMA_NLDEV_CMD_DELLINK ||
         command == RDMA_NLDEV_CMD_SYS_SET || command == RDMA_NLDEV_CMD_STAT_SET || command == RDMA_NLDEV_CMD_STAT_DEL;
}

// False: the node does not have it.
bool answer_one(const NetlinkNode& node, Node& programs, const NodePort& port, const NetlinkQuestion& question,
                NetlinkReply& reply) {
  const auto command = static_cast<std::uint16_t>(RDMA_NL_GET_OP(question.head.nlmsg_type));
  switch (command) {
    case RDMA_NLDEV_CMD_GET:
      answer_device(port, question, reply);
      return true;
    case RDMA_NLDEV_CMD_PORT_GET:
      answer_port(node, port, question, reply);
      return true;
    case RDMA_NLDEV_CMD_STAT_GET:
      answer_statistics(node, port, question, reply);
      return true;
    case RDMA_NLDEV_CMD_RES_GET:
    case RDMA_NLDEV_CMD_RES_QP_GET:
    case RDMA_NLDEV_CMD_RES_CM_ID_GET:
    case RDMA_NLDEV_CMD_RES_CQ_GET:
    case RDMA_NLDEV_CMD_RES_MR_GET:
    case RDMA_NLDEV_CMD_RES_PD_GET:
    case RDMA_NLDEV_CMD_RES_CTX_GET:
    case RDMA_NLDEV_CMD_RES_SRQ_GET:
      answer_resources(programs, port, command, question, reply);
      return true;
    default:
      return false;
  }
}

}  // namespace

void answer_rdma(const NetlinkNode& node, Node& programs, const NetlinkQuestion& question, NetlinkReply& reply) {
  const auto command = static_cast<std::uint16_t>(RDMA_NL_GET_OP(question.head.nlmsg_type));
  if (RDMA_NL_GET_CLIENT(question.head.nlmsg_type) != RDMA_NL_NLDEV) return reply.error(EINVAL);
  if (changes_rdma(command)) {
    const bool counters = command == RDMA_NLDEV_CMD_STAT_SET || command == RDMA_NLDEV_CMD_STAT_DEL;
    return reply.error(node.changes.refuse(
        counters ? "counters are kept for ports and queue pairs as they are" : "RDMA devices are the lab's",
        counters ? port_statistic(node)
                 : std::string("add a NIC to the node in the lab, then weft down; weft up LAB")));
  }
  // With RDMA_NLDEV_ATTR_STAT_RES: of single queue pairs. NICs here count for ports alone; an empty list would look as
  // if no queue pair were there.
  if (command == RDMA_NLDEV_CMD_STAT_GET && number_of(question.attributes(0), RDMA_NLDEV_ATTR_STAT_RES))
    return reply.error(node.changes.refuse("no queue pair is bound to a counter of its own", port_statistic(node)));
  if (command == RDMA_NLDEV_CMD_SYS_GET) {
    reply.begin(question.head.nlmsg_type);
    reply.put(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, kSharedNamespace);
    return;
  }
  const auto wanted = number_of(question.attributes(0), RDMA_NLDEV_ATTR_DEV_INDEX);
  bool known = true, found = false;
  for (const NodePort& port : node.ports) {
    if (wanted && *wanted != port.device) continue;
    found = true;
    known = answer_one(node, programs, port, question, reply) && known;
  }
  if (question.is_dump()) return reply.end_dump();
  if (!found || !known) reply.error(found ? EOPNOTSUPP : EINVAL);
}

}  // namespace weft::live
