-- Inband Flow Analyzer 2.0 (draft-kumar-ippm-ifa-08): a header between IP and the transport, and behind the transport
-- header a metadata header with one record for each hop, the last hop first. The IP protocol was not assigned; devices and
-- Weft use 131. What follows is dissected as the packet was before, unless the frame was cut.
_G.weft_wireshark = _G.weft_wireshark or {}
local weft = _G.weft_wireshark
if weft.has_ifa then return end  -- installed in two places
weft.has_ifa = true

local kSpeeds = { [0] = "10G", "25G", "40G", "50G", "100G", "200G", "400G" }
local proto = Proto("weft.ifa", "Inband Flow Analyzer")
local f = {
  version = ProtoField.uint8("weft.ifa.version", "Version", base.DEC, nil, 0xf0),
  gns = ProtoField.uint8("weft.ifa.gns", "Global name space", base.DEC, nil, 0x0f),
  next = ProtoField.uint8("weft.ifa.next", "Next header", base.DEC),
  checksum = ProtoField.bool("weft.ifa.flags.checksum", "Checksum (C)", 8, nil, 0x01),
  turn_around = ProtoField.bool("weft.ifa.flags.turn_around", "Turn around (TA)", 8, nil, 0x02),
  inband = ProtoField.bool("weft.ifa.flags.inband", "In band (I)", 8, nil, 0x04),
  tail_stamp = ProtoField.bool("weft.ifa.flags.tail_stamp", "Tail stamp (TS)", 8, nil, 0x08),
  fragment = ProtoField.bool("weft.ifa.flags.fragment", "Metadata fragment (MF)", 8, nil, 0x10),
  max_length = ProtoField.uint8("weft.ifa.max_length", "Maximum length (words)", base.DEC),
  request = ProtoField.uint8("weft.ifa.request", "Request vector", base.HEX),
  action = ProtoField.uint8("weft.ifa.action", "Action vector", base.HEX),
  hop_limit = ProtoField.uint8("weft.ifa.hop_limit", "Hop limit", base.DEC),
  length = ProtoField.uint8("weft.ifa.length", "Current length (words)", base.DEC),
  hops = ProtoField.uint8("weft.ifa.hops", "Hops", base.DEC),
  stack = ProtoField.bytes("weft.ifa.stack", "Metadata stack"),
  lns = ProtoField.uint8("weft.ifa.hop.lns", "Local name space", base.DEC, nil, 0xf0),
  device = ProtoField.uint32("weft.ifa.hop.device", "Device", base.DEC, nil, 0x0fffff00),
  ttl = ProtoField.uint8("weft.ifa.hop.ttl", "TTL", base.DEC),
  speed = ProtoField.uint8("weft.ifa.hop.speed", "Port speed", base.DEC, kSpeeds, 0xf0),
  congestion = ProtoField.uint8("weft.ifa.hop.congestion", "Congestion (ECN)", base.DEC, nil, 0x0c),
  queue = ProtoField.uint16("weft.ifa.hop.queue", "Queue", base.DEC, nil, 0x03f0),
  rx_s = ProtoField.uint32("weft.ifa.hop.rx_s", "Received (s)", base.DEC, nil, 0x000fffff),
  egress = ProtoField.uint16("weft.ifa.hop.egress", "Egress port", base.DEC),
  ingress = ProtoField.uint16("weft.ifa.hop.ingress", "Ingress port", base.DEC),
  rx_ns = ProtoField.uint32("weft.ifa.hop.rx_ns", "Received (ns)", base.DEC),
  residence = ProtoField.uint32("weft.ifa.hop.residence_ns", "Residence time (ns)", base.DEC),
  queue_B = ProtoField.uint32("weft.ifa.hop.queue_B", "Queue (bytes)", base.DEC),
  queue_cells = ProtoField.uint16("weft.ifa.hop.queue_cells", "Queue (cells)", base.DEC),
}
proto.fields = f
proto.prefs.protocol = Pref.uint("IP protocol", 131, "IP protocol of packets with IFA; 0: none")

local kHop_B = 32
local kUdp, kTcp = 17, 6

-- Where in a record each field is, and its bytes.
local kRecord = {
  { f.lns, 0, 1 }, { f.device, 0, 4 }, { f.ttl, 3, 1 }, { f.speed, 4, 1 }, { f.congestion, 4, 1 }, { f.queue, 4, 2 },
  { f.rx_s, 4, 4 }, { f.egress, 8, 2 }, { f.ingress, 10, 2 }, { f.rx_ns, 12, 4 }, { f.residence, 16, 4 },
  { f.queue_B, 20, 4 }, { f.queue_cells, 26, 2 },
}

-- Bytes of the transport header behind the IFA header; nil when they are not there or the transport is another one.
local function transport_size(tvb)
  local next = tvb(1, 1):uint()
  if next == kUdp then return tvb:len() >= 12 and 8 or nil end
  if next ~= kTcp or tvb:len() < 24 then return nil end
  local size = math.floor(tvb(16, 1):uint() / 16) * 4
  return size >= 20 and tvb:len() >= 4 + size and size or nil
end

local function add_metadata(tree, tvb, at)
  local length = tvb(at + 3, 1):uint() * 4
  local branch = tree:add(tvb(at, math.min(4 + length, tvb:len() - at)), "Metadata")
  branch:add(f.request, tvb(at, 1))
  branch:add(f.action, tvb(at + 1, 1))
  branch:add(f.hop_limit, tvb(at + 2, 1))
  branch:add(f.length, tvb(at + 3, 1))
  if length % kHop_B ~= 0 then
    branch:add(f.stack, tvb(at + 4, math.min(length, tvb:len() - at - 4)))
    return
  end
  local hops = length / kHop_B
  branch:add(f.hops, tvb(at + 3, 1), hops):set_generated()
  for i = 0, hops - 1 do
    local start = at + 4 + i * kHop_B
    if start + kHop_B > tvb:len() then return end
    local hop = branch:add(tvb(start, kHop_B), string.format("Hop %d", hops - i))
    for _, each in ipairs(kRecord) do hop:add(each[1], tvb(start + each[2], each[3])) end
  end
end

function proto.dissector(tvb, pinfo, tree)
  if tvb:len() < 4 then return 0 end
  local version = math.floor(tvb(0, 1):uint() / 16)
  if version ~= 2 and version ~= 3 then return 0 end
  pinfo.cols.protocol:set("IFA")
  local branch = tree:add(proto, tvb(0, 4))
  branch:add(f.version, tvb(0, 1))
  branch:add(f.gns, tvb(0, 1))
  branch:add(f.next, tvb(1, 1))
  for _, field in ipairs({ f.checksum, f.turn_around, f.inband, f.tail_stamp, f.fragment }) do
    branch:add(field, tvb(2, 1))
  end
  branch:add(f.max_length, tvb(3, 1))
  local transport = transport_size(tvb)
  local at = transport and 4 + transport
  if not transport or tvb:len() < at + 4 then return tvb:len() end
  add_metadata(branch, tvb, at)
  local removed = 4 + tvb(at + 3, 1):uint() * 4
  if tvb:len() < at + removed or tvb:len() < tvb:reported_len() then return tvb:len() end
  -- The original packet is in two pieces: put together, with the length that it had.
  local header = tvb:raw(4, transport)
  if tvb(1, 1):uint() == kUdp then
    header = header:sub(1, 4) .. weft.put16(math.max(weft.be16(header, 5) - removed, 8)) .. header:sub(7)
  end
  local rest = tvb:len() > at + removed and tvb:raw(at + removed) or ""
  local original = ByteArray.new(header .. rest, true):tvb("Packet without IFA")
  weft.restored = { frame = pinfo.number, removed_B = removed + 4, protocol = tvb(1, 1):uint(), apart = true }
  weft.call(Dissector.get(tvb(1, 1):uint() == kUdp and "udp" or "tcp"), original, pinfo, tree)
  pinfo.cols.protocol:append("/IFA")
  return tvb:len()
end

local protocols = DissectorTable.get("ip.proto")
local current = 0
local function use_protocol(number)
  if current ~= 0 then protocols:remove(current, proto) end
  current = number
  if number ~= 0 then protocols:add(number, proto) end
end
function proto.prefs_changed()
  if proto.prefs.protocol ~= current then use_protocol(proto.prefs.protocol) end
end
use_protocol(proto.prefs.protocol)
