-- RoCE: what Wireshark's own InfiniBand dissector leaves out. CNPs by name (opcode 0x81), FECN and BECN, credits and RNR
-- timer of an AETH in plain numbers, and whether the ICRC is right. Runs after Wireshark's dissectors, which are not
-- changed and never called from here: in 4.0 a frame that was cut would leave Lua with a stack that is not unwound.
_G.weft_wireshark = _G.weft_wireshark or {}
local weft = _G.weft_wireshark
if weft.has_roce then return end  -- installed in two places
weft.has_roce = true

local kNakCodes = { [0] = "PSN sequence error", "invalid request", "remote access error", "remote operational error",
                    "invalid RD request" }
local proto = Proto("weft", "Weft: RoCE")
weft.proto = proto
local f = {
  opcode = ProtoField.string("weft.opcode", "Opcode"),
  cnp = ProtoField.bool("weft.cnp", "Congestion Notification Packet"),
  fecn = ProtoField.bool("weft.fecn", "FECN", 8, { "Set", "Not set" }, 0x80),
  becn = ProtoField.bool("weft.becn", "BECN", 8, { "Set", "Not set" }, 0x40),
  aeth_kind = ProtoField.uint8("weft.aeth.kind", "Kind", base.DEC,
                               { [0] = "ACK", [1] = "RNR NAK", [2] = "Reserved", [3] = "NAK" }, 0x60),
  credits = ProtoField.uint32("weft.aeth.credits", "Credits", base.DEC, nil, nil, "Messages that may follow the MSN"),
  unlimited = ProtoField.bool("weft.aeth.unlimited", "No credit limit"),
  limit = ProtoField.uint32("weft.aeth.limit", "Limit (MSN + credits)", base.DEC),
  rnr_timer = ProtoField.double("weft.aeth.rnr_timer_ms", "RNR timer (ms)"),
  nak = ProtoField.uint8("weft.aeth.nak", "NAK code", base.DEC, kNakCodes, 0x1f),
  msn = ProtoField.uint24("weft.aeth.msn", "MSN", base.DEC),
  icrc = ProtoField.uint32("weft.icrc", "ICRC", base.HEX),
  calculated = ProtoField.uint32("weft.icrc.calculated", "Calculated ICRC", base.HEX),
  status = ProtoField.uint8("weft.icrc.status", "ICRC status", base.DEC, weft.status_names or
                            { [0] = "Bad", [1] = "Good", [2] = "Unverified" }),
}
proto.fields = f
local bad_icrc = ProtoExpert.new("weft.icrc.bad", "Bad ICRC", expert.group.CHECKSUM, expert.severity.ERROR)
local cnp_without_becn =
  ProtoExpert.new("weft.cnp.no_becn", "A CNP without BECN", expert.group.PROTOCOL, expert.severity.WARN)
local nak_expert =
  ProtoExpert.new("weft.aeth.is_nak", "Negative acknowledgement", expert.group.SEQUENCE, expert.severity.NOTE)
proto.experts = { bad_icrc, cnp_without_becn, nak_expert }

proto.prefs.icrc = Pref.enum("Check ICRCs", 1, "A check reads the whole packet. Where it is shown: details, " ..
  "display filters, colour rules and columns that name weft.icrc.",
  { { 1, "Where they are shown", 1 }, { 2, "Of each packet", 2 }, { 3, "Never", 3 } }, false)

-- AETH syndrome, IBTA vol 1 tables 44 to 46.
local kCredits = { [0] = 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
                   3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768 }
local kRnrTimer_ms = { [0] = 655.36, .01, .02, .03, .04, .06, .08, .12, .16, .24, .32, .48, .64, .96, 1.28, 1.92, 2.56,
                       3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76,
                       327.68, 491.52 }
local kCnp = 0x81
local kTransports = { [0] = "RC", "UC", "RD", "UD", nil, "XRC" }
local kOperations = { [0] = "SEND First", "SEND Middle", "SEND Last", "SEND Last Imm", "SEND Only", "SEND Only Imm",
  "WRITE First", "WRITE Middle", "WRITE Last", "WRITE Last Imm", "WRITE Only", "WRITE Only Imm", "READ Request",
  "READ Response First", "READ Response Middle", "READ Response Last", "READ Response Only", "ACK", "ATOMIC ACK",
  "CMP_SWAP", "FETCH_ADD", [0x16] = "SEND Last Inv", [0x17] = "SEND Only Inv", [0x1c] = "FLUSH", [0x1d] = "ATOMIC WRITE" }
-- Response opcodes that have an AETH, without the three bits of the transport.
local kAeth = { [0x0d] = true, [0x0f] = true, [0x10] = true, [0x11] = true, [0x12] = true }
local kBth_B = 12

local function opcode_name(opcode)
  if opcode == kCnp then return "CNP" end
  local transport, operation = kTransports[math.floor(opcode / 32)], kOperations[opcode % 32]
  return transport and operation and transport .. " " .. operation or string.format("0x%02x", opcode)
end

-- Where the AETH of this opcode is; nil: it has none. RD has an RDETH before it, responses of XRC nothing.
local function aeth_at(opcode)
  local transport = math.floor(opcode / 32)
  if not kAeth[opcode % 32] then return nil end
  if transport == 0 or transport == 5 then return kBth_B end
  if transport == 2 then return kBth_B + 4 end
  return nil
end

local function add_aeth(tree, tvb, at)
  if tvb:len() < at + 4 then return end
  local branch = tree:add(tvb(at, 4), "AETH")
  local syndrome = tvb(at, 1):uint()
  local msn = tvb(at + 1, 3):uint()
  local kind, code = math.floor(syndrome / 32) % 4, syndrome % 32
  branch:add(f.aeth_kind, tvb(at, 1))
  if kind == 0 then
    branch:add(f.unlimited, tvb(at, 1), code == 31)
    if code == 31 then
      branch:append_text(": ACK, no credit limit")
    else
      branch:add(f.credits, tvb(at, 1), kCredits[code])
      branch:add(f.limit, tvb(at, 4), (msn + kCredits[code]) % 16777216):set_generated()
      branch:append_text(": ACK, " .. kCredits[code] .. " credits")
    end
  elseif kind == 1 then
    branch:add(f.rnr_timer, tvb(at, 1), kRnrTimer_ms[code])
    branch:append_text(string.format(": RNR NAK, %.2f ms", kRnrTimer_ms[code]))
    branch:add_proto_expert_info(nak_expert, string.format("Receiver not ready, %.2f ms", kRnrTimer_ms[code]))
  elseif kind == 3 then
    local text = "NAK, " .. (kNakCodes[code] or "reserved code " .. code)
    branch:add(f.nak, tvb(at, 1)):add_proto_expert_info(nak_expert, text)
    branch:append_text(": " .. text)
  end
  branch:add(f.msn, tvb(at + 1, 3))
end

-- ICRCs by frame: Wireshark dissects a frame again whenever it is shown.
local known = {}
function proto.init()
  known = {}
end

local function wants_icrc(tree)
  if proto.prefs.icrc == 3 then return false end
  return proto.prefs.icrc == 2 or tree.visible or tree:referenced(f.status) or tree:referenced(f.calculated)
end

-- `packet` is what weft.packet_around found.
local function add_icrc(tree, source, packet, key)
  if not packet.prefix or not packet.whole then
    local reason = packet.whole and " (no IP header that it covers)" or " (the capture has not all of it)"
    tree:add(f.status, weft.kUnverified):append_text(reason):set_generated()
    return
  end
  local range = source(packet.stop - 4, 4)
  local stored = range:le_uint()
  tree:add(f.icrc, range, stored)
  local calculated = known[key]
  if not calculated then
    calculated = weft.icrc(packet.prefix, source:raw(packet.start, packet.stop - packet.start))
    known[key] = calculated
  end
  local good = calculated == stored
  tree:add(f.calculated, range, calculated):set_generated()
  local item = tree:add(f.status, range, good and weft.kGood or weft.kBad)
  item:set_generated()
  if not good then item:add_proto_expert_info(bad_icrc, string.format("Bad ICRC, should be 0x%08x", calculated)) end
end

local bth_field = Field.new("infiniband.bth")

-- To the tree of a whole frame: the InfiniBand packet in it, if there is one.
function weft.add_roce(pinfo, tree)
  local all = { bth_field() }
  local bth = all[#all]
  if not bth or bth.len < kBth_B then return end
  local source, at = bth.source, bth.offset
  if not source or source:len() < at + kBth_B then return end
  local opcode = source(at, 1):uint()
  local is_cnp = opcode == kCnp
  if is_cnp then pinfo.cols.info:set(string.format("CNP QP=0x%06x", source(at + 5, 3):uint())) end
  local branch = tree:add(proto, source(at, kBth_B))
  branch:append_text(", " .. opcode_name(opcode))
  branch:add(f.opcode, source(at, 1), opcode_name(opcode))
  if is_cnp then
    branch:add(f.cnp, source(at, 1), true):set_generated()
    if source(at + 4, 1):bitfield(1, 1) == 0 then branch:add_proto_expert_info(cnp_without_becn) end
  end
  branch:add(f.fecn, source(at + 4, 1))
  branch:add(f.becn, source(at + 4, 1))
  local aeth = aeth_at(opcode)
  if aeth then add_aeth(branch, source, at + aeth) end
  if wants_icrc(tree) then add_icrc(branch, source, weft.packet_around(bth, pinfo), pinfo.number) end
end

-- The packet list alone, without a field of ours: as little as names CNPs, since each call from Lua takes its time.
local function name_cnp(pinfo)
  local bth = bth_field()
  if not bth or bth.len < kBth_B then return end
  local source, at = bth.source, bth.offset
  if not source or source:len() < at + kBth_B then return end
  local bytes = source:raw(at, 8)
  if bytes:byte(1) == kCnp then
    pinfo.cols.info:set(string.format("CNP QP=0x%06x", weft.be32(bytes, 5) % 16777216))
  end
end

local own
function proto.dissector(tvb, pinfo, tree)
  weft.add_comments(tree)
  own = own or Dissector.get("weft")
  if tree.visible or tree:referenced(own) or proto.prefs.icrc == 2 then
    weft.add_roce(pinfo, tree)
  else
    name_cnp(pinfo)
  end
end
register_postdissector(proto)
