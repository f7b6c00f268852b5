// Any bytes are a frame or an error, and a frame that parses is rebuilt byte for byte once the
// fields that RoceFrame reports apart (checksums, pad, ICRC) are put back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "fuzz/targets.h"
#include "wire/bytes.h"
#include "wire/erspan.h"
#include "wire/ethernet.h"
#include "wire/ifa.h"
#include "wire/int_md.h"
#include "wire/mtu.h"
#include "wire/pfc.h"
#include "wire/roce_frame.h"

namespace weft::wire {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// Restores in `out` what the builder writes its own way. The BTH begins at `bth_at`.
void put_back(const RoceFrame& frame, std::size_t bth_at, MutableBytes out) {
  const std::size_t icrc_at = out.size() - kIcrc_B;
  put_le32(out, icrc_at, frame.icrc);
  const std::size_t pad_at = icrc_at - frame.pad_B;
  std::copy_n(frame.pad.begin(), frame.pad_B, out.begin() + static_cast<std::ptrdiff_t>(pad_at));
  if (!frame.headers.becn) out[bth_at + 4] &= 0xbf;  // a CNP that came without BECN
}

void check_v2(Bytes bytes) {
  const auto frame = parse_roce_frame(bytes);
  if (!frame) return;
  require(is_rocev2(bytes));
  std::vector<std::uint8_t> out(roce_frame_size_B(frame->headers, frame->payload.size()));
  require(build_roce_frame(frame->headers, frame->payload, out) == out.size());
  require(out.size() + frame->trailer.size() == bytes.size());
  const std::size_t ip_at = kEthernetSize_B + (frame->headers.vlan_tci ? kVlanTagSize_B : 0);
  const std::size_t udp_at = ip_at + (frame->headers.v4 ? 20 : 40);
  require(frame->icrc_ok == (le32(out, out.size() - kIcrc_B) == frame->icrc) || frame->pad_B != 0);
  if (frame->headers.v4) {
    require(frame->ipv4_checksum_ok == (be16(out, ip_at + 10) == frame->ipv4_checksum) ||
            frame->ipv4_checksum == 0xffff || frame->ipv4_checksum == 0);
    put_be16(out, ip_at + 10, frame->ipv4_checksum);
  }
  put_be16(out, udp_at + 6, frame->udp_checksum);
  put_back(*frame, udp_at + 8, out);
  require(std::equal(out.begin(), out.end(), bytes.begin()));
}

void check_v1(Bytes bytes) {
  const auto frame = parse_rocev1_frame(bytes);
  if (!frame) return;
  std::vector<std::uint8_t> out(rocev1_frame_size_B(frame->headers, frame->payload.size()));
  require(build_rocev1_frame(frame->headers, frame->payload, out) == out.size());
  const std::size_t grh_at = kEthernetSize_B + (frame->headers.vlan_tci ? kVlanTagSize_B : 0);
  put_back(*frame, grh_at + 40, out);
  require(out.size() + frame->trailer.size() == bytes.size());
  require(std::equal(out.begin(), out.end(), bytes.begin()));
}

void check_pause(Bytes bytes) {
  if (const auto pfc = PfcView::parse(bytes)) {
    const auto frame = build_pfc_frame(pfc->header());
    require(PfcView::parse(frame)->header() == pfc->header());
  }
  if (const auto pause = PauseView::parse(bytes)) {
    const auto frame = build_pause_frame(pause->header());
    require(PauseView::parse(frame)->header() == pause->header());
  }
}

// Reserved bits are not kept: what was read is written and read again the same.
void check_telemetry(Bytes bytes) {
  if (const auto view = IntMdView::parse(bytes)) {
    const IntMd md = view->header();
    require(md.hops.size() == view->hop_count());
    if ((md.instructions & ~kIntReadable) == 0) require(IntMdView::parse(build_int_md(md))->header() == md);
  }
  if (const auto view = IfaMetadataView::parse(bytes)) {
    require(IfaMetadataView::parse(build_ifa_metadata(view->header()))->header() == view->header());
  }
  if (const auto view = ErspanView::parse(bytes)) {
    const auto frame =
        build_erspan_frame({}, view->header(), view->frame().first(std::min<std::size_t>(view->frame().size(), 9000)));
    const Bytes gre = Bytes(frame).subspan(kEthernetSize_B + kIpv4Size_B);
    require(ErspanView::parse(gre)->header() == view->header());
  }
}

}  // namespace
}  // namespace weft::wire

int weft::fuzz::frame_fuzz(const std::uint8_t* data, std::size_t size) {
  const weft::wire::Bytes bytes(data, size);
  weft::wire::check_v2(bytes);
  weft::wire::check_v1(bytes);
  weft::wire::check_pause(bytes);
  weft::wire::check_telemetry(bytes);
  return 0;
}
