// libfabric beyond messages: tags, RMA and atomics between two nodes, with every byte compared. An endpoint for each
// case, of type FI_EP_RDM. FABRIC_PROBE_PROVIDER names the provider, verbs;ofi_rxm unless it is set.
//   fabric_probe serve | fabric_probe ask HOST
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <vector>

#include "interop/programs/probe.h"

namespace {

using probe::accept_one;
using probe::connect_to;
using probe::get;
using probe::listen_at;
using probe::put;

constexpr std::size_t kBuffer_B = 1 << 20;

void need(ssize_t result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "fabric_probe: %s (%s): %s\n", what, probe::current, fi_strerror(static_cast<int>(-result)));
  _exit(1);
}
#define NEED(call) need(call, #call)

std::uint8_t byte_of(std::size_t index, std::uint8_t seed) {
  return static_cast<std::uint8_t>(index * 2654435761U >> 13 ^ seed);
}

// An endpoint with a registered buffer, and its peer, found by a TCP connection.
class End {
 public:
  explicit End(int control) : control_(control) {
    const char* provider = getenv("FABRIC_PROBE_PROVIDER");
    fi_info* hints = fi_allocinfo();
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(provider == nullptr ? "verbs;ofi_rxm" : provider);
    NEED(fi_getinfo(FI_VERSION(1, 14), nullptr, nullptr, 0, hints, &info_));
    fi_freeinfo(hints);
    NEED(fi_fabric(info_->fabric_attr, &fabric_, nullptr));
    NEED(fi_domain(fabric_, info_, &domain_, nullptr));
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_TAGGED;
    NEED(fi_cq_open(domain_, &cq, &cq_, nullptr));
    fi_av_attr av{};
    av.type = FI_AV_TABLE;
    NEED(fi_av_open(domain_, &av, &av_, nullptr));
    NEED(fi_endpoint(domain_, info_, &endpoint_, nullptr));
    NEED(fi_ep_bind(endpoint_, &cq_->fid, FI_SEND | FI_RECV));
    NEED(fi_ep_bind(endpoint_, &av_->fid, 0));
    NEED(fi_enable(endpoint_));
    buffer.assign(kBuffer_B, 0);
    NEED(fi_mr_reg(domain_, buffer.data(), buffer.size(),
                   FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &region_,
                   nullptr));
    exchange();
  }
  ~End() {
    fi_close(&endpoint_->fid);
    fi_close(&region_->fid);
    fi_close(&av_->fid);
    fi_close(&cq_->fid);
    fi_close(&domain_->fid);
    fi_close(&fabric_->fid);
    fi_freeinfo(info_);
    close(control_);
  }

  fid_ep* endpoint() const { return endpoint_; }
  void* descriptor() const { return fi_mr_desc(region_); }
  fi_addr_t peer() const { return peer_; }
  std::uint64_t peer_key() const { return peer_key_; }
  // Of the peer's buffer, as RMA names it.
  std::uint64_t at(std::size_t offset) const { return peer_base_ + offset; }
  void fill(std::size_t offset, std::size_t size, std::uint8_t seed) {
    for (std::size_t i = 0; i < size; ++i) buffer[offset + i] = byte_of(i, seed);
  }
  bool holds(std::size_t offset, std::size_t size, std::uint8_t seed) const {
    for (std::size_t i = 0; i < size; ++i)
      if (buffer[offset + i] != byte_of(i, seed)) return false;
    return true;
  }
  std::uint64_t& word(std::size_t offset) { return *reinterpret_cast<std::uint64_t*>(&buffer[offset]); }

  // Calls that say FI_EAGAIN have to be made again, after a look at the completion queue.
  template <typename Call>
  void post(Call call) {
    for (ssize_t result; (result = call()) != 0;) {
      if (result != -FI_EAGAIN) need(result, "post");
      look();
    }
  }
  fi_cq_tagged_entry wait() {
    while (done_.empty()) look();
    const fi_cq_tagged_entry entry = done_.front();
    done_.erase(done_.begin());
    return entry;
  }
  void tell() { put(control_, "x"); }
  // Until the peer tells: what is software in the provider needs this side's attention meanwhile.
  void serve_until_told() {
    for (pollfd told{control_, POLLIN, 0}; poll(&told, 1, 0) == 0;) look();
    get(control_, 1);
  }

  std::vector<std::uint8_t> buffer;

 private:
  void look() {
    fi_cq_tagged_entry entry{};
    const ssize_t got = fi_cq_read(cq_, &entry, 1);
    if (got == 1) {
      done_.push_back(entry);
    } else if (got == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      fi_cq_readerr(cq_, &error, 0);
      need(-error.err, "completion");
    } else if (got != -FI_EAGAIN) {
      need(got, "fi_cq_read");
    }
  }
  void exchange() {
    std::string name(256, 0);
    std::size_t size = name.size();
    NEED(fi_getname(&endpoint_->fid, name.data(), &size));
    const std::uint64_t base =
        (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<std::uintptr_t>(buffer.data()) : 0;
    const std::uint64_t key = fi_mr_key(region_);
    put(control_, name);
    put(control_, std::string(reinterpret_cast<const char*>(&base), sizeof base));
    put(control_, std::string(reinterpret_cast<const char*>(&key), sizeof key));
    name = get(control_, name.size());
    memcpy(&peer_base_, get(control_, sizeof peer_base_).data(), sizeof peer_base_);
    memcpy(&peer_key_, get(control_, sizeof peer_key_).data(), sizeof peer_key_);
    REQUIRE(fi_av_insert(av_, name.data(), 1, &peer_, 0, nullptr) == 1);
  }

  int control_;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_cq* cq_ = nullptr;
  fid_av* av_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  fid_mr* region_ = nullptr;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  std::uint64_t peer_base_ = 0, peer_key_ = 0;
  std::vector<fi_cq_tagged_entry> done_;
};

// In the order of their sending; the receiver posts them the other way round. The last is longer than what a provider
// copies, and goes by rendezvous.
struct Message {
  std::uint64_t tag;
  std::size_t offset, size;
};
constexpr Message kMessages[] = {{0x100, 0, 16}, {0x200, 4096, 9'001}, {0x300, 65'536, 700'000}};

void serve_tags(int port) {
  const int listener = listen_at(port);
  End end(accept_one(listener));
  for (std::size_t i = std::size(kMessages); i-- > 0;) {
    const Message& each = kMessages[i];
    end.post([&] {
      return fi_trecv(end.endpoint(), &end.buffer[each.offset], each.size, end.descriptor(), end.peer(), each.tag, 0xff,
                      nullptr);
    });
  }
  end.tell();
  for (std::size_t i = 0; i < std::size(kMessages); ++i) {
    const fi_cq_tagged_entry entry = end.wait();
    const Message& each = kMessages[(entry.tag >> 8) - 1];
    REQUIRE(entry.len == each.size && entry.tag == (each.tag | 7));
    REQUIRE(end.holds(each.offset, each.size, static_cast<std::uint8_t>(each.tag >> 8)));
  }
  end.serve_until_told();
  close(listener);
}

void ask_tags(const char* host, int port) {
  End end(connect_to(host, port));
  end.serve_until_told();
  for (const Message& each : kMessages) {
    end.fill(each.offset, each.size, static_cast<std::uint8_t>(each.tag >> 8));
    end.post([&] {
      return fi_tsend(end.endpoint(), &end.buffer[each.offset], each.size, end.descriptor(), end.peer(), each.tag | 7,
                      nullptr);
    });
  }
  for (std::size_t i = 0; i < std::size(kMessages); ++i) REQUIRE((end.wait().flags & FI_SEND) != 0);
  end.tell();
}

constexpr std::size_t kSizes[] = {1, 8, 4'097, 300'000};

void serve_rma(int port) {
  const int listener = listen_at(port);
  End end(accept_one(listener));
  end.fill(kBuffer_B / 2, kBuffer_B / 2, 99);
  end.tell();
  end.serve_until_told();
  REQUIRE(end.holds(0, kSizes[std::size(kSizes) - 1], std::size(kSizes) - 1));
  close(listener);
}

void ask_rma(const char* host, int port) {
  End end(connect_to(host, port));
  end.serve_until_told();
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    const std::size_t size = kSizes[i];
    end.fill(0, size, static_cast<std::uint8_t>(i));
    end.post([&] {
      return fi_write(end.endpoint(), end.buffer.data(), size, end.descriptor(), end.peer(), end.at(0), end.peer_key(),
                      nullptr);
    });
    REQUIRE((end.wait().flags & FI_WRITE) != 0);
    std::fill(end.buffer.begin(), end.buffer.end(), 0);
    end.post([&] {
      return fi_read(end.endpoint(), end.buffer.data(), size, end.descriptor(), end.peer(), end.at(0), end.peer_key(),
                     nullptr);
    });
    REQUIRE((end.wait().flags & FI_READ) != 0);
    REQUIRE(end.holds(0, size, static_cast<std::uint8_t>(i)));
  }
  // What the other side has written itself.
  end.post([&] {
    return fi_read(end.endpoint(), end.buffer.data(), kBuffer_B / 2, end.descriptor(), end.peer(),
                   end.at(kBuffer_B / 2), end.peer_key(), nullptr);
  });
  end.wait();
  REQUIRE(end.holds(0, kBuffer_B / 2, 99));
  end.tell();
}

void serve_atomics(int port) {
  const int listener = listen_at(port);
  End end(accept_one(listener));
  end.word(0) = 40;
  end.word(8) = 7;
  end.tell();
  end.serve_until_told();
  REQUIRE(end.word(0) == 45 && end.word(8) == 1000);
  close(listener);
}

void ask_atomics(const char* host, int port) {
  End end(connect_to(host, port));
  end.serve_until_told();
  constexpr std::size_t kOperand = 0, kCompare = 8, kResult = 16;
  auto fetch_sum = [&](std::uint64_t addend) {
    end.word(kOperand) = addend;
    end.post([&] {
      return fi_fetch_atomic(end.endpoint(), &end.word(kOperand), 1, end.descriptor(), &end.word(kResult),
                             end.descriptor(), end.peer(), end.at(0), end.peer_key(), FI_UINT64, FI_SUM, nullptr);
    });
    end.wait();
    return end.word(kResult);
  };
  auto compare_swap = [&](std::uint64_t expected, std::uint64_t desired) {
    end.word(kOperand) = desired;
    end.word(kCompare) = expected;
    end.post([&] {
      return fi_compare_atomic(end.endpoint(), &end.word(kOperand), 1, end.descriptor(), &end.word(kCompare),
                               end.descriptor(), &end.word(kResult), end.descriptor(), end.peer(), end.at(8),
                               end.peer_key(), FI_UINT64, FI_CSWAP, nullptr);
    });
    end.wait();
    return end.word(kResult);
  };
  REQUIRE(fetch_sum(2) == 40 && fetch_sum(3) == 42 && fetch_sum(0) == 45);
  REQUIRE(compare_swap(8, 500) == 7 && compare_swap(7, 1000) == 7 && compare_swap(7, 2000) == 1000);
  end.tell();
}

constexpr probe::Case kCases[] = {
    {"tags", serve_tags, ask_tags}, {"rma", serve_rma, ask_rma}, {"atomics", serve_atomics, ask_atomics}};

}  // namespace

int main(int argc, char** argv) {
  return probe::run(kCases, argc, argv);
}
