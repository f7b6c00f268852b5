// The rarer verbs, as the world answers them: windows, device memory, changed regions and queues, XRC, imports.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>

#include "support/live_program.h"
#include "verbs/extended_protocol.h"

namespace weft {
namespace {

using verbs::Op;

// A queue pair of host a that is connected to itself.
class Extended : public testing::Test {
 protected:
  void SetUp() override {
    keys = reg(0xf).as<verbs::MrKeys>();
    ASSERT_TRUE(program.connect(qp, qp.number, "\x0a\0\0\x01"));
  }
  std::uint64_t at(std::size_t offset_B) const { return reinterpret_cast<std::uint64_t>(buffer.data()) + offset_B; }
  Answer reg(std::uint32_t access) {
    return program.ask(Op::kRegMr, verbs::RegMr{pd, access, at(0), buffer.size(), at(0)});
  }
  verbs::SendEntry entry(std::uint32_t opcode) {
    verbs::SendEntry e{};
    e.opcode = opcode;
    e.flags = IBV_SEND_SIGNALED;
    return e;
  }
  std::uint32_t run(const verbs::SendEntry& e, std::span<const verbs::Sge> list = {}) {
    program.post(qp.send, e, list);
    auto done = program.take(cq);
    return done ? done->status : 999;
  }
  // 8 bytes from `from` to `to`.
  std::uint32_t write(std::uint64_t from, std::uint32_t lkey, std::uint64_t to, std::uint32_t rkey) {
    verbs::SendEntry e = entry(IBV_WR_RDMA_WRITE);
    e.sges = 1;
    e.remote_va = to;
    e.rkey = rkey;
    const verbs::Sge sge{from, 8, lkey};
    return run(e, {&sge, 1});
  }
  int destroy(verbs::Kind kind, std::uint32_t handle) {
    return program.ask(Op::kDestroy, verbs::Destroy{kind, handle}).error;
  }

  LiveWorld world;
  LiveProgram program{world, "a"};
  alignas(4096) std::array<std::uint8_t, 4096> buffer{};
  std::uint32_t pd = program.make(Op::kAllocPd, verbs::OnDevice{0});
  LiveProgram::Mapped cq = program.make_cq(16);
  LiveProgram::Qp qp = program.make_qp(pd, cq.info.handle, 8);
  verbs::MrKeys keys{};
};

TEST_F(Extended, ChangedRegionKeepsItsKey) {
  verbs::ReregMr ask{keys.handle, IBV_REREG_MR_CHANGE_TRANSLATION, 0, 0, at(1024), 64};
  EXPECT_EQ(program.ask(Op::kReregMr, ask).as<verbs::MrKeys>().rkey, keys.rkey);
  EXPECT_EQ(write(at(1024), keys.lkey, at(1056), keys.rkey), std::uint32_t{IBV_WC_SUCCESS});
  ask = {keys.handle, IBV_REREG_MR_CHANGE_ACCESS, 0, IBV_ACCESS_REMOTE_WRITE, 0, 0};
  EXPECT_EQ(program.ask(Op::kReregMr, ask).error, EINVAL) << "remote write needs local write";
  ask = {keys.handle, IBV_REREG_MR_CHANGE_TRANSLATION, 0, 0, 0x1000, 64};
  EXPECT_EQ(program.ask(Op::kReregMr, ask).error, EFAULT) << "nothing is mapped there";
  ask = {keys.handle, IBV_REREG_MR_CHANGE_PD, pd + 100, 0, 0, 0};
  EXPECT_EQ(program.ask(Op::kReregMr, ask).error, EINVAL);
  EXPECT_EQ(write(at(0), keys.lkey, at(1056), keys.rkey), std::uint32_t{IBV_WC_LOC_PROT_ERR}) << "not there any more";
}

TEST_F(Extended, ResizedQueueTakesItsEntriesAlong) {
  for (int i = 0; i < 3; ++i) {
    verbs::SendEntry e = entry(IBV_WR_RDMA_WRITE);
    e.wr_id = static_cast<std::uint64_t>(i);
    program.post(qp.send, e, {});
  }
  // The command takes its time: what was posted before has completed by then.
  EXPECT_EQ(program.ask(Op::kResizeCq, verbs::ResizeCq{cq.info.handle, 2}).error, EINVAL);
  EXPECT_EQ(program.ask(Op::kResizeCq, verbs::ResizeCq{cq.info.handle, 0}).error, EINVAL);
  EXPECT_EQ(program.ask(Op::kResizeCq, verbs::ResizeCq{cq.info.handle + 50, 4}).error, EINVAL);
  Answer answer = program.ask(Op::kResizeCq, verbs::ResizeCq{cq.info.handle, 3});
  ASSERT_EQ(answer.error, 0);
  const verbs::QueueInfo info = answer.as<verbs::CqInfo>().ring;
  EXPECT_EQ(info.entries, 4U);
  void* memory = mmap(nullptr, info.mapping_B, PROT_READ | PROT_WRITE, MAP_SHARED, answer.fds[0], 0);
  close(answer.fds[0]);
  ASSERT_NE(memory, MAP_FAILED);
  cq = {static_cast<std::uint8_t*>(memory), info.mapping_B, info};
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(program.take(cq)->wr_id, i);
  EXPECT_EQ(run(entry(IBV_WR_RDMA_WRITE)), std::uint32_t{IBV_WC_SUCCESS});
  munmap(memory, info.mapping_B);
}

TEST_F(Extended, WindowsOpenAndClose) {
  const auto bindable = reg(0x1f).as<verbs::MrKeys>();
  const auto mw = program.ask(Op::kAllocMw, verbs::AllocMw{pd, IBV_MW_TYPE_2}).as<verbs::MrKeys>();
  ASSERT_NE(mw.rkey, 0U);
  const std::uint32_t key = (mw.rkey & ~0xffu) | ((mw.rkey + 1) & 0xff);
  verbs::SendEntry bind = entry(IBV_WR_BIND_MW);
  bind.rkey = key;
  bind.qkey = bindable.lkey;
  bind.remote_qpn = IBV_ACCESS_REMOTE_WRITE;
  bind.remote_va = at(64);
  bind.swap = 16;
  EXPECT_EQ(run(bind), std::uint32_t{IBV_WC_SUCCESS});
  EXPECT_EQ(write(at(0), keys.lkey, at(64), key), std::uint32_t{IBV_WC_SUCCESS});
  EXPECT_EQ(destroy(verbs::Kind::kMr, bindable.handle), EBUSY);
  EXPECT_EQ(destroy(verbs::Kind::kPd, pd), EBUSY);
  verbs::SendEntry end = entry(IBV_WR_LOCAL_INV);
  end.imm = key;
  EXPECT_EQ(run(end), std::uint32_t{IBV_WC_SUCCESS});
  EXPECT_EQ(destroy(verbs::Kind::kMr, bindable.handle), 0);
  EXPECT_EQ(destroy(verbs::Kind::kMw, mw.handle), 0);
  EXPECT_EQ(destroy(verbs::Kind::kMw, mw.handle), EINVAL);
}

// A window's key lets peers in; it is not the program's own way to memory.
TEST_F(Extended, WindowKeyIsNoLocalKey) {
  const auto bindable = reg(0x1f).as<verbs::MrKeys>();
  const auto mw = program.ask(Op::kAllocMw, verbs::AllocMw{pd, IBV_MW_TYPE_1}).as<verbs::MrKeys>();
  verbs::SendEntry bind = entry(IBV_WR_BIND_MW);
  bind.rkey = mw.rkey;
  bind.qkey = bindable.lkey;
  bind.remote_qpn = IBV_ACCESS_REMOTE_READ;
  bind.remote_va = at(0);
  bind.swap = 64;
  EXPECT_EQ(run(bind), std::uint32_t{IBV_WC_SUCCESS});
  EXPECT_EQ(write(at(0), mw.rkey, at(512), keys.rkey), std::uint32_t{IBV_WC_LOC_PROT_ERR});
}

TEST_F(Extended, DeviceMemoryIsReachedByCopiesAndPeers) {
  const std::uint64_t most_B = program.ask(Op::kListDevices, verbs::OnDevice{0}).as<verbs::DeviceInfo>().max_dm_B;
  ASSERT_GT(most_B, 4096U);
  EXPECT_EQ(program.ask(Op::kAllocDm, verbs::AllocDm{0, 0, most_B + 1}).error, ENOMEM);
  const std::uint32_t dm = program.make(Op::kAllocDm, verbs::AllocDm{0, 0, 1024});
  const std::uint32_t access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  EXPECT_EQ(program.ask(Op::kRegDmMr, verbs::RegDmMr{pd, dm, access, 0, 512, 513}).error, EINVAL);
  EXPECT_EQ(
      program.ask(Op::kRegDmMr, verbs::RegDmMr{pd, dm, access & ~std::uint32_t{IBV_ACCESS_ZERO_BASED}, 0, 0, 8}).error,
      EINVAL);
  const auto inside = program.ask(Op::kRegDmMr, verbs::RegDmMr{pd, dm, access, 0, 512, 512}).as<verbs::MrKeys>();
  std::fill_n(buffer.begin(), 8, std::uint8_t{0x5a});
  EXPECT_EQ(write(at(0), keys.lkey, 100, inside.rkey), std::uint32_t{IBV_WC_SUCCESS});
  Answer read = program.ask(Op::kCopyDm, verbs::CopyDm{dm, 0, 612, 8});
  ASSERT_EQ(read.body.size(), 8U);
  for (std::byte each : read.body) EXPECT_EQ(each, std::byte{0x5a});
  EXPECT_EQ(write(100, inside.lkey, at(2048), keys.rkey), std::uint32_t{IBV_WC_SUCCESS}) << "and it is sent from there";
  EXPECT_EQ(buffer[2048], 0x5a);
  EXPECT_EQ(program.ask(Op::kCopyDm, verbs::CopyDm{dm, 0, 1020, 8}).error, EFAULT);
  EXPECT_EQ(program.ask(Op::kCopyDm, verbs::CopyDm{dm, 0, 2, 4}).error, EFAULT);
  EXPECT_EQ(program.ask(Op::kCopyDm, verbs::CopyDm{dm, 1, 0, 8}).error, EINVAL) << "without the bytes";
  EXPECT_EQ(destroy(verbs::Kind::kDm, dm), EBUSY);
  EXPECT_EQ(destroy(verbs::Kind::kMr, inside.handle), 0);
  EXPECT_EQ(destroy(verbs::Kind::kDm, dm), 0);
}

TEST_F(Extended, NullRegionReadsAsZeros) {
  const auto null = program.ask(Op::kAllocNullMr, verbs::Handle{pd}).as<verbs::MrKeys>();
  buffer[64] = 0xff;
  EXPECT_EQ(write(0x123456789abc, null.lkey, at(64), keys.rkey), std::uint32_t{IBV_WC_SUCCESS});
  EXPECT_EQ(buffer[64], 0);
}

TEST_F(Extended, OnDemandRegionFaultsPagesInAndFailsWithoutThem) {
  auto* pages =
      static_cast<std::uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  const auto address = reinterpret_cast<std::uint64_t>(pages);
  const std::uint32_t access = 0xf | IBV_ACCESS_ON_DEMAND;
  // All of the address space.
  const auto all = program.ask(Op::kRegMr, verbs::RegMr{pd, access, 0, UINT64_MAX, 0}).as<verbs::MrKeys>();
  ASSERT_NE(all.rkey, 0U);
  buffer[0] = 0x77;
  EXPECT_EQ(write(at(0), keys.lkey, address + 4096, all.rkey), std::uint32_t{IBV_WC_SUCCESS});
  EXPECT_EQ(pages[4096], 0x77);
  struct {
    verbs::AdviseMr head;
    verbs::Sge sge;
  } advice{{pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, 1}, {address, 8192, all.lkey}};
  EXPECT_EQ(program.ask(Op::kAdviseMr, advice).error, 0);
  advice.sge.lkey = keys.lkey;
  EXPECT_EQ(program.ask(Op::kAdviseMr, advice).error, EINVAL) << "pinned: there is nothing to prefetch";
  munmap(pages, 8192);
  advice.sge.lkey = all.lkey;
  EXPECT_EQ(program.ask(Op::kAdviseMr, advice).error, EFAULT);
  EXPECT_NE(write(at(0), keys.lkey, address, all.rkey), std::uint32_t{IBV_WC_SUCCESS});
}

TEST_F(Extended, QueuePairDrainsAndResumes) {
  verbs::ModifyQp ask{qp.handle, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, {}};
  ask.attr.state = IBV_QPS_SQD;
  ask.attr.sqd_event = 1;
  EXPECT_EQ(program.ask(Op::kModifyQp, ask).error, 0);
  auto attr = program.ask(Op::kQueryQp, verbs::Handle{qp.handle}).as<verbs::QpAttr>();
  EXPECT_EQ(attr.state, std::uint32_t{IBV_QPS_SQD});
  EXPECT_EQ(attr.sq_draining, 0U);
  EXPECT_EQ(run(entry(IBV_WR_RDMA_WRITE)), 999U) << "it waits";
  ask = {qp.handle, IBV_QP_STATE, {}};
  ask.attr.state = IBV_QPS_RTS;
  EXPECT_EQ(program.ask(Op::kModifyQp, ask).error, 0);
  EXPECT_EQ(program.take(cq)->status, std::uint32_t{IBV_WC_SUCCESS});
}

TEST_F(Extended, XrcDomainIsSharedByFile) {
  verbs::OpenXrcd open{0, O_CREAT, 1, 2, 1, 0};
  const std::uint32_t first = program.make(Op::kOpenXrcd, open);
  ASSERT_NE(first, verbs::kNoHandle);
  open.oflags = O_CREAT | O_EXCL;
  EXPECT_EQ(program.ask(Op::kOpenXrcd, open).error, EINVAL);
  open = {0, 0, 1, 3, 1, 0};
  EXPECT_EQ(program.ask(Op::kOpenXrcd, open).error, EAGAIN) << "nobody has made it";
  const verbs::CreateSrq plain{pd, 4, 1, 0, 0};
  Answer made = program.ask(Op::kCreateXrcSrq, verbs::CreateXrcSrq{plain, first, cq.info.handle});
  ASSERT_EQ(made.error, 0);
  LiveProgram::close_fds(made);
  const auto srq = made.as<verbs::XrcSrqInfo>();
  EXPECT_EQ(destroy(verbs::Kind::kXrcd, first), EBUSY);
  EXPECT_EQ(program.ask(Op::kCreateXrcSrq, verbs::CreateXrcSrq{plain, first + 9, cq.info.handle}).error, EINVAL);
  const auto target = program.ask(Op::kCreateXrcTarget, verbs::CreateXrcTarget{first, 0, 0}).as<verbs::QpInfo>();
  EXPECT_NE(target.qpn, 0U);
  EXPECT_EQ(destroy(verbs::Kind::kSrq, srq.ring.handle), 0);
  EXPECT_EQ(destroy(verbs::Kind::kQp, target.send.handle), 0);
  EXPECT_EQ(destroy(verbs::Kind::kXrcd, first), 0);
}

TEST_F(Extended, ImportsNeedSecret) {
  Answer opened = program.ask(Op::kOpenEvents, verbs::OnDevice{0});
  LiveProgram::close_fds(opened);
  const auto token = opened.as<verbs::DeviceToken>();
  ASSERT_NE(token.secret, 0U);
  EXPECT_EQ(program.ask(Op::kImport, verbs::Import{0, verbs::Kind::kPd, pd}).error, EINVAL);
  EXPECT_EQ(program.ask(Op::kImport, verbs::Import{token.secret + 1, verbs::Kind::kPd, pd}).error, EINVAL);
  EXPECT_EQ(program.ask(Op::kImport, verbs::Import{token.secret, verbs::Kind::kPd, pd + 50}).error, EINVAL);
  EXPECT_EQ(program.ask(Op::kImport, verbs::Import{token.secret, verbs::Kind::kQp, qp.handle}).error, EINVAL);
  EXPECT_EQ(program.ask(Op::kImport, verbs::Import{token.secret, verbs::Kind::kPd, pd}).error, 0);
  const auto mr =
      program.ask(Op::kImport, verbs::Import{token.secret, verbs::Kind::kMr, keys.handle}).as<verbs::Imported>();
  EXPECT_EQ(mr.rkey, keys.rkey);
  EXPECT_EQ(mr.length_B, buffer.size());
}

}  // namespace
}  // namespace weft
