-- Ultra Ethernet Transport on UDP port 4793 and behind an entropy header (IP protocol 253): security header, packet
-- delivery sublayer (PDS) and, in uet_ses.lua, semantic sublayer (SES); and whether the CRC is right. Fields have the names
-- of Wireshark's own dissector, which came after 4.6: where that is, it dissects and only the CRC is added here.
_G.weft_wireshark = _G.weft_wireshark or {}
local weft = _G.weft_wireshark
if weft.has_uet then return end  -- installed in two places
weft.has_uet = true

local kTypes = { [1] = "TSS", [2] = "RUD_REQ", [3] = "ROD_REQ", [4] = "RUDI_REQ", [5] = "RUDI_RESP", [6] = "UUD_REQ",
                 [7] = "ACK", [8] = "ACK_CC", [9] = "ACK_CCX", [10] = "NACK", [11] = "CONTROL", [12] = "NACK_CCX",
                 [13] = "RUD_CC_REQ", [14] = "ROD_CC_REQ" }
local kNext = { [0] = "none", "small request", "medium request", "standard request", "response", "response with data",
                "response with data, small" }
local kControls = { [0] = "NOOP", "ACK request", "clear", "clear request", "close", "close request", "probe", "credit",
                    "credit request", "negotiation" }
local kNackCodes = {
  [0x01] = "trimmed", [0x02] = "trimmed at the last hop", [0x03] = "ACK trimmed", [0x04] = "no PDC", [0x05] = "no CCC",
  [0x06] = "no bitmap", [0x07] = "no packet buffer", [0x08] = "no guaranteed delivery", [0x09] = "no SES message",
  [0x0a] = "no resource", [0x0b] = "PSN out of window", [0x0d] = "ROD out of order", [0x0e] = "invalid DPDCID",
  [0x0f] = "PDC header mismatch", [0x10] = "closing", [0x11] = "closing in error", [0x12] = "packet not received",
  [0x13] = "guaranteed response unavailable", [0x14] = "ACK with data", [0x15] = "invalid SYN", [0x16] = "mode mismatch",
  [0x17] = "new start PSN", [0x18] = "received, SES still at work", [0x19] = "unexpected event",
  [0x1a] = "receiver inferred a loss" }

if weft.native_uet == nil then weft.native_uet = DissectorTable.get("udp.port"):get_dissector(4793) or false end
local own = weft.native_uet  -- Wireshark's, where it has one

-- The CRC is ours in any case.
local crc = Proto("weft.uet", "Weft: Ultra Ethernet")
local c = {
  crc = ProtoField.uint32("weft.uet.crc", "CRC", base.HEX),
  calculated = ProtoField.uint32("weft.uet.crc.calculated", "Calculated CRC", base.HEX),
  status = ProtoField.uint8("weft.uet.crc.status", "CRC status", base.DEC,
                            { [0] = "Bad", [1] = "Good", [2] = "Unverified" }),
}
crc.fields = c
local bad_crc = ProtoExpert.new("weft.uet.crc.bad", "Bad CRC", expert.group.CHECKSUM, expert.severity.ERROR)
crc.experts = { bad_crc }
crc.prefs.protocol = Pref.uint("IP protocol", 253, "IP protocol of UET without UDP; 0: none")

local uet = not own and Proto("uet", "Ultra Ethernet Transport") or nil
local f = {}
if uet then
  local function bit_of(name, text, mask)
    return ProtoField.bool("uet.pds.flags." .. name, text, 8, nil, mask)
  end
  f.entropy = ProtoField.uint16("uet.pds.entropy", "Entropy", base.DEC)
  f.type = ProtoField.uint16("uet.pds.type", "Type", base.DEC, kTypes, 0xf800)
  f.nh = ProtoField.uint16("uet.pds.nh", "Next header", base.DEC, kNext, 0x0780)
  f.ctl_type = ProtoField.uint16("uet.pds.ctl_type", "Control type", base.DEC, kControls, 0x0780)
  f.m = bit_of("m", "ECN marked (M)", 0x20)
  f.retx = bit_of("retx", "Retransmitted (RETX)", 0x10)
  f.ar = bit_of("ar", "ACK request (AR)", 0x08)
  f.p = bit_of("p", "Probe (P)", 0x08)
  f.nt = bit_of("nt", "NACK of RUDI (NT)", 0x08)
  f.syn = bit_of("syn", "New PDC (SYN)", 0x04)
  f.req = ProtoField.uint8("uet.pds.flags.req", "Request", base.DEC, { [0] = "none", "clear", "close" }, 0x06)
  f.clear_psn = ProtoField.uint32("uet.pds.clear_psn", "Clear PSN", base.DEC)
  f.psn = ProtoField.uint32("uet.pds.psn", "PSN", base.DEC)
  f.ack_psn = ProtoField.uint32("uet.pds.ack_psn", "ACK PSN", base.DEC)
  f.cack_psn = ProtoField.uint32("uet.pds.cack_psn", "Cumulative ACK PSN", base.DEC)
  f.spdcid = ProtoField.uint16("uet.pds.spdcid", "Source PDC", base.DEC)
  f.dpdcid = ProtoField.uint16("uet.pds.dpdcid", "Destination PDC", base.DEC)
  f.psn_offset = ProtoField.uint16("uet.pds.psn_offset", "PSN offset", base.DEC, nil, 0x0fff)
  f.start_psn = ProtoField.uint32("uet.pds.start_psn", "Start PSN", base.DEC)
  f.ccc = ProtoField.uint8("uet.pds.cc_state.ccc_id", "CCC", base.DEC)
  f.credit_target = ProtoField.uint24("uet.pds.cc_state.credit_target", "Credit target", base.DEC)
  f.nack_code = ProtoField.uint8("uet.pds.nack.code", "NACK code", base.HEX, kNackCodes)
  f.nack_vendor = ProtoField.uint8("uet.pds.nack.vendor_code", "Vendor code", base.DEC)
  f.nack_psn = ProtoField.uint32("uet.pds.nack.psn", "NACK PSN", base.DEC)
  f.nack_payload = ProtoField.uint32("uet.pds.nack.max_recv_psn_plus_1", "Payload", base.DEC)
  f.opaque = ProtoField.uint16("uet.pds.ctrl_probe_opaque", "Probe opaque", base.HEX)
  f.payload = ProtoField.uint32("uet.pds.ctrl_payload", "Control payload", base.HEX)
  f.cc_type = ProtoField.uint8("uet.pds.ack.cc_type", "CC type", base.DEC, { [0] = "NSCC", "credit" }, 0xf0)
  f.mpr = ProtoField.uint8("uet.pds.ack.mpr", "Maximum PSN range (128)", base.DEC)
  f.sack_offset = ProtoField.int16("uet.pds.ack.sack_offset", "SACK offset", base.DEC)
  f.sack_base = ProtoField.uint32("uet.pds.ack.sack_base", "SACK base PSN", base.DEC)
  f.sack = ProtoField.uint64("uet.pds.ack.sack_bitmap", "SACK bitmap", base.HEX)
  f.service_time = ProtoField.uint16("uet.pds.ack.cc_state.service_time", "Service time (128 ns)", base.DEC)
  f.rc = ProtoField.bool("uet.pds.ack.cc_state.rc", "Restore cwnd", 8, nil, 0x80)
  f.pend = ProtoField.uint8("uet.pds.ack.cc_state.rcv_cwnd_pend", "Receiver cwnd penalty", base.DEC, nil, 0x7f)
  f.credit = ProtoField.uint24("uet.pds.ack.cc_state.credit", "Credit", base.DEC)
  f.rcvd_bytes = ProtoField.uint24("uet.pds.ack.cc_state.rcvd_bytes", "Received (256 B)", base.DEC)
  f.ooo = ProtoField.uint16("uet.pds.ack.cc_state.ooo_count", "Out of order", base.DEC)
  f.ccx = ProtoField.bytes("uet.pds.ack.ccx_state", "CCX state")
  f.pkt_id = ProtoField.uint32("uet.pds.rudi.pkt_id", "RUDI packet", base.DEC)
  f.tss_type = ProtoField.uint32("uet.tss.type", "Type", base.DEC, nil, 0xf8000000)
  f.tss_sp = ProtoField.bool("uet.tss.sp", "SSI present (SP)", 32, nil, 0x04000000)
  f.tss_an = ProtoField.uint32("uet.tss.an", "Association (AN)", base.DEC, nil, 0x01000000)
  f.tss_sdi = ProtoField.uint32("uet.tss.sdi", "SDI", base.DEC, nil, 0x00ffffff)
  f.tss_ssi = ProtoField.uint32("uet.tss.ssi", "SSI", base.DEC)
  f.tss_tsc = ProtoField.uint64("uet.tss.tsc", "TSC", base.HEX)
  local all = {}
  for _, field in pairs(f) do all[#all + 1] = field end
  uet.fields = all
end

-- Sizes of PDS headers by type.
local kSizes = { [2] = 12, [3] = 12, [4] = 8, [5] = 8, [6] = 4, [7] = 12, [8] = 32, [9] = 40, [10] = 16, [11] = 16,
                 [12] = 32, [13] = 16, [14] = 16 }

local function psn_plus(tvb, psn_at, offset_at)
  return (tvb(psn_at, 4):uint() + tvb(offset_at, 2):int()) % 4294967296
end

-- DPDCID, or where the PDC is new: how far this PSN is from the first.
local function add_destination(tree, tvb, at, syn)
  if not syn then
    tree:add(f.dpdcid, tvb(at, 2))
    return
  end
  tree:add(f.psn_offset, tvb(at, 2))
  tree:add(f.start_psn, tvb(at, 2), (tvb(at - 6, 4):uint() - tvb(at, 2):uint() % 4096) % 4294967296):set_generated()
end

local function add_request(tree, tvb, at, type, flags)
  local syn = math.floor(flags / 4) % 2 == 1
  for _, field in ipairs({ f.retx, f.ar, f.syn }) do tree:add(field, tvb(at + 1, 1)) end
  tree:add(f.clear_psn, tvb(at + 2, 2), psn_plus(tvb, at + 4, at + 2))
  tree:add(f.psn, tvb(at + 4, 4))
  tree:add(f.spdcid, tvb(at + 8, 2))
  add_destination(tree, tvb, at + 10, syn)
  if type >= 13 then
    tree:add(f.ccc, tvb(at + 12, 1))
    tree:add(f.credit_target, tvb(at + 13, 3))
  end
end

local function add_ack(tree, tvb, at, type, flags)
  for _, field in ipairs({ f.m, f.retx, f.p, f.req }) do tree:add(field, tvb(at + 1, 1)) end
  if math.floor(flags / 8) % 2 == 1 then
    tree:add(f.opaque, tvb(at + 2, 2))
  else
    tree:add(f.ack_psn, tvb(at + 2, 2), psn_plus(tvb, at + 4, at + 2))
  end
  tree:add(f.cack_psn, tvb(at + 4, 4))
  tree:add(f.spdcid, tvb(at + 8, 2))
  tree:add(f.dpdcid, tvb(at + 10, 2))
  if type == 7 then return end
  tree:add(f.cc_type, tvb(at + 12, 1))
  tree:add(f.mpr, tvb(at + 13, 1))
  tree:add(f.sack_offset, tvb(at + 14, 2))
  tree:add(f.sack_base, tvb(at + 14, 2), psn_plus(tvb, at + 4, at + 14)):set_generated()
  tree:add(f.sack, tvb(at + 16, 8))
  if type == 9 then
    tree:add(f.ccx, tvb(at + 24, 16))
  elseif math.floor(tvb(at + 12, 1):uint() / 16) == 0 then
    tree:add(f.service_time, tvb(at + 24, 2))
    tree:add(f.rc, tvb(at + 26, 1))
    tree:add(f.pend, tvb(at + 26, 1))
    tree:add(f.rcvd_bytes, tvb(at + 27, 3))
    tree:add(f.ooo, tvb(at + 30, 2))
  else
    tree:add(f.credit, tvb(at + 24, 3))
    tree:add(f.ooo, tvb(at + 30, 2))
  end
end

local function add_nack(tree, tvb, at, flags)
  for _, field in ipairs({ f.m, f.retx, f.nt }) do tree:add(field, tvb(at + 1, 1)) end
  tree:add(f.nack_code, tvb(at + 2, 1))
  tree:add(f.nack_vendor, tvb(at + 3, 1))
  tree:add(math.floor(flags / 8) % 2 == 1 and f.pkt_id or f.nack_psn, tvb(at + 4, 4))
  tree:add(f.spdcid, tvb(at + 8, 2))
  tree:add(f.dpdcid, tvb(at + 10, 2))
  tree:add(f.nack_payload, tvb(at + 12, 4))
end

local function add_control(tree, tvb, at, flags)
  for _, field in ipairs({ f.retx, f.ar, f.syn }) do tree:add(field, tvb(at + 1, 1)) end
  tree:add(f.opaque, tvb(at + 2, 2))
  tree:add(f.psn, tvb(at + 4, 4))
  tree:add(f.spdcid, tvb(at + 8, 2))
  add_destination(tree, tvb, at + 10, math.floor(flags / 4) % 2 == 1)
  tree:add(f.payload, tvb(at + 12, 4))
end

-- Returns the bytes of the header, or nil when they are not there, and the next header.
local function add_pds(tree, tvb, at, info)
  if tvb:len() < at + 2 then return nil end
  local prologue = tvb(at, 2):uint()
  local type, next, flags = math.floor(prologue / 2048), math.floor(prologue / 128) % 16, prologue % 128
  info.name = kTypes[type] or "type " .. type
  local size = kSizes[type]
  if not size or tvb:len() < at + size then
    tree:add(f.type, tvb(at, 2))
    return nil
  end
  local branch = tree:add(tvb(at, size), "PDS: " .. info.name)
  branch:add(f.type, tvb(at, 2))
  branch:add(type == 11 and f.ctl_type or f.nh, tvb(at, 2))
  if type == 2 or type == 3 or type >= 13 then
    add_request(branch, tvb, at, type, flags)
    info.name = string.format("%s PSN=%d", info.name, tvb(at + 4, 4):uint())
  elseif type >= 7 and type <= 9 then
    add_ack(branch, tvb, at, type, flags)
    info.name = string.format("%s CACK=%d", info.name, tvb(at + 4, 4):uint())
  elseif type == 10 or type == 12 then
    add_nack(branch, tvb, at, flags)
    local code = tvb(at + 2, 1):uint()
    info.name = string.format("%s PSN=%d, %s", info.name, tvb(at + 4, 4):uint(), kNackCodes[code] or "code " .. code)
  elseif type == 11 then
    add_control(branch, tvb, at, flags)
    info.name = "CONTROL " .. (kControls[next] or tostring(next))
    next = 0
  elseif type == 4 or type == 5 then
    branch:add(f.retx, tvb(at + 1, 1))
    branch:add(f.pkt_id, tvb(at + 4, 4))
  end
  return size, next
end

-- Returns the bytes of the header, nil when they are not there.
local function add_tss(tree, tvb, at)
  if tvb:len() < at + 12 then return nil end
  local has_ssi = math.floor(tvb(at, 1):uint() / 4) % 2 == 1
  local size = has_ssi and 16 or 12
  if tvb:len() < at + size then return nil end
  local branch = tree:add(tvb(at, size), "TSS")
  for _, field in ipairs({ f.tss_type, f.tss_sp, f.tss_an, f.tss_sdi }) do branch:add(field, tvb(at, 4)) end
  if has_ssi then branch:add(f.tss_ssi, tvb(at + 4, 4)) end
  branch:add(f.tss_tsc, tvb(at + size - 8, 8))
  return size
end

local function is_secure(tvb, at)
  return tvb:len() > at and math.floor(tvb(at, 1):uint() / 8) == 1
end

local function add_crc(tvb, pinfo, tree, native)
  local size = tvb:len()
  if not (tree.visible or tree:referenced(c.status) or tree:referenced(c.calculated)) then return end
  if size < 8 or is_secure(tvb, native and 4 or 0) then return end  -- encrypted: an ICV in its place
  local branch = tree:add(crc, tvb(size - 4, 4))
  local calculated = size == tvb:reported_len() and weft.uet_crc(tvb, native) or nil
  branch:add(c.crc, tvb(size - 4, 4))
  if not calculated then
    branch:add(c.status, weft.kUnverified):set_generated()
    return
  end
  branch:add(c.calculated, tvb(size - 4, 4), calculated):set_generated()
  local good = calculated == tvb(size - 4, 4):uint()
  local item = branch:add(c.status, tvb(size - 4, 4), good and weft.kGood or weft.kBad)
  item:set_generated()
  if not good then
    item:add_proto_expert_info(bad_crc, string.format("Bad CRC, should be 0x%08x (a trimmed packet has none)", calculated))
  end
end

local function dissect_headers(tvb, pinfo, tree, at)
  local info = { name = "" }
  pinfo.cols.protocol:set("UET")
  local branch = tree:add(uet, tvb(0))
  if at == 4 and tvb:len() >= 2 then branch:add(f.entropy, tvb(0, 2)) end
  if is_secure(tvb, at) then
    pinfo.cols.info:set("TSS, encrypted")
    add_tss(branch, tvb, at)
    return
  end
  local size, next = add_pds(branch, tvb, at, info)
  if size and next ~= 0 then weft.add_uet_ses(branch, tvb, at + size, next, info) end
  pinfo.cols.info:set(info.name)
end

-- Over UDP; the CRC looks at the packet before what is inside is dissected.
function crc.dissector(tvb, pinfo, tree)
  add_crc(tvb, pinfo, tree, false)
  if own then weft.call(own, tvb, pinfo, tree) else dissect_headers(tvb, pinfo, tree, 0) end
  return tvb:len()
end
DissectorTable.get("udp.port"):add(4793, crc)

local native = Proto("weft.uet.ip", "Weft: Ultra Ethernet on IP")
local protocols = DissectorTable.get("ip.proto")
local before = protocols:get_dissector(253)
function native.dissector(tvb, pinfo, tree)
  local type = tvb:len() >= 6 and math.floor(tvb(4, 1):uint() / 8) or 0
  if not before and (not uet or not kTypes[type]) then return 0 end
  add_crc(tvb, pinfo, tree, true)
  if before then weft.call(before, tvb, pinfo, tree) else dissect_headers(tvb, pinfo, tree, 4) end
  return tvb:len()
end
local current = 0
local function use_protocol(number)
  if current ~= 0 then protocols:remove(current, native) end
  current = number
  if number ~= 0 then protocols:add(number, native) end
end
function crc.prefs_changed()
  if crc.prefs.protocol ~= current then use_protocol(crc.prefs.protocol) end
end
use_protocol(crc.prefs.protocol)
