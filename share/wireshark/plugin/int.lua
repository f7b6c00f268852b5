-- In-band Network Telemetry, INT-MD and INT-MX of version 2.1 (p4.org), behind the UDP header: shim, metadata header and
-- one record for each hop, the last hop first. Then the original packet. No UDP port was assigned; Weft uses 5000. Other
-- ports by Decode As. Of a frame that was cut only the telemetry is dissected. Latencies and times have the units of the domain, nanoseconds in Weft's captures.
_G.weft_wireshark = _G.weft_wireshark or {}
local weft = _G.weft_wireshark
if weft.has_int then return end  -- installed in two places
weft.has_int = true

local proto = Proto("weft.int", "In-band Network Telemetry")
local f = {
  type = ProtoField.uint8("weft.int.type", "Type", base.DEC,
                          { [1] = "INT-MD", [2] = "Destination-type", [3] = "INT-MX" }, 0xf0),
  npt = ProtoField.uint8("weft.int.npt", "Next protocol type", base.DEC,
                         { [0] = "original DSCP", [1] = "original UDP port", [2] = "original IP protocol" }, 0x0c),
  length = ProtoField.uint8("weft.int.length", "Length (words behind the shim)", base.DEC),
  next = ProtoField.uint16("weft.int.next", "Original port, protocol or DSCP", base.DEC),
  version = ProtoField.uint8("weft.int.version", "Version", base.DEC, nil, 0xf0),
  discard = ProtoField.bool("weft.int.discard", "Discard (D)", 8, nil, 0x08),
  hops_exceeded = ProtoField.bool("weft.int.hops_exceeded", "Maximum hop count exceeded (E)", 8, nil, 0x04),
  mtu_exceeded = ProtoField.bool("weft.int.mtu_exceeded", "MTU exceeded (M)", 8, nil, 0x02),
  hop_length = ProtoField.uint8("weft.int.hop_length", "Words of a hop", base.DEC, nil, 0x1f),
  remaining = ProtoField.uint8("weft.int.remaining_hops", "Remaining hops", base.DEC),
  instructions = ProtoField.uint16("weft.int.instructions", "Instructions", base.HEX),
  domain = ProtoField.uint16("weft.int.domain", "Domain", base.DEC),
  domain_instructions = ProtoField.uint16("weft.int.domain_instructions", "Domain instructions", base.HEX),
  domain_flags = ProtoField.uint16("weft.int.domain_flags", "Domain flags", base.HEX),
  hops = ProtoField.uint8("weft.int.hops", "Hops", base.DEC),
  node = ProtoField.uint32("weft.int.hop.node", "Node", base.DEC),
  ingress = ProtoField.uint16("weft.int.hop.ingress", "Ingress interface", base.DEC),
  egress = ProtoField.uint16("weft.int.hop.egress", "Egress interface", base.DEC),
  latency = ProtoField.uint32("weft.int.hop.latency", "Hop latency", base.DEC),
  queue = ProtoField.uint8("weft.int.hop.queue", "Queue", base.DEC),
  queue_occupancy = ProtoField.uint24("weft.int.hop.queue_occupancy", "Queue occupancy", base.DEC),
  ingress_time = ProtoField.uint64("weft.int.hop.ingress_time", "Ingress time", base.DEC),
  egress_time = ProtoField.uint64("weft.int.hop.egress_time", "Egress time", base.DEC),
  ingress_l2 = ProtoField.uint32("weft.int.hop.ingress_l2", "Ingress interface, level 2", base.DEC),
  egress_l2 = ProtoField.uint32("weft.int.hop.egress_l2", "Egress interface, level 2", base.DEC),
  tx_utilisation = ProtoField.uint32("weft.int.hop.tx_utilisation", "Egress utilisation", base.DEC),
  buffer = ProtoField.uint8("weft.int.hop.buffer", "Buffer", base.DEC),
  buffer_occupancy = ProtoField.uint24("weft.int.hop.buffer_occupancy", "Buffer occupancy", base.DEC),
  complement = ProtoField.uint32("weft.int.hop.checksum_complement", "Checksum complement", base.HEX),
}
proto.fields = f
proto.prefs.port = Pref.uint("UDP port", 5000, "Destination port of packets with INT; 0: none")

-- Fields of a record in the order in which a hop writes them: the mask of the instruction, and {field, bytes} each.
local kRecord = {
  { 0x8000, { f.node, 4 } },
  { 0x4000, { f.ingress, 2 }, { f.egress, 2 } },
  { 0x2000, { f.latency, 4 } },
  { 0x1000, { f.queue, 1 }, { f.queue_occupancy, 3 } },
  { 0x0800, { f.ingress_time, 8 } },
  { 0x0400, { f.egress_time, 8 } },
  { 0x0200, { f.ingress_l2, 4 }, { f.egress_l2, 4 } },
  { 0x0100, { f.tx_utilisation, 4 } },
  { 0x0080, { f.buffer, 1 }, { f.buffer_occupancy, 3 } },
  { 0x0001, { f.complement, 4 } },
}

local function is_set(instructions, mask)
  return math.floor(instructions / mask) % 2 == 1
end

-- Words of a record; nil when a bit of the bitmap has no meaning.
local function record_words(instructions)
  local words, known = 0, 0
  for _, each in ipairs(kRecord) do
    if is_set(instructions, each[1]) then
      known = known + each[1]
      for i = 2, #each do words = words + each[i][2] / 4 end
    end
  end
  return known == instructions and words or nil
end

-- Bytes of shim, header and stack; nil when this is not INT. Everything is checked here, nothing later.
local function size_of(tvb)
  if tvb:len() < 16 then return nil end
  local type, npt, words = math.floor(tvb(0, 1):uint() / 16), math.floor(tvb(0, 1):uint() / 4) % 4, tvb(1, 1):uint()
  if (type ~= 1 and type ~= 3) or npt == 3 or words < 3 then return nil end
  if math.floor(tvb(4, 1):uint() / 16) ~= 2 then return nil end
  local hop_words = tvb(6, 1):uint() % 32
  if type == 1 then
    if hop_words ~= record_words(tvb(8, 2):uint()) then return nil end
    local stack = words - 3
    if hop_words == 0 and stack ~= 0 or hop_words > 0 and stack % hop_words ~= 0 then return nil end
  end
  local size = 4 + words * 4
  return size <= tvb:reported_len() and size or nil
end

local function add_hop(tree, tvb, at, words, instructions, number)
  local branch = tree:add(tvb(at, words * 4), "Hop " .. number)
  for _, each in ipairs(kRecord) do
    if is_set(instructions, each[1]) then
      for i = 2, #each do
        branch:add(each[i][1], tvb(at, each[i][2]))
        at = at + each[i][2]
      end
    end
  end
end

local function add_tree(tree, tvb, size)
  local branch = tree:add(proto, tvb(0, math.min(size, tvb:len())))
  branch:add(f.type, tvb(0, 1))
  branch:add(f.npt, tvb(0, 1))
  branch:add(f.length, tvb(1, 1))
  branch:add(f.next, tvb(2, 2))
  branch:add(f.version, tvb(4, 1))
  for _, field in ipairs({ f.discard, f.hops_exceeded, f.mtu_exceeded }) do branch:add(field, tvb(4, 1)) end
  branch:add(f.hop_length, tvb(6, 1))
  branch:add(f.remaining, tvb(7, 1))
  branch:add(f.instructions, tvb(8, 2))
  branch:add(f.domain, tvb(10, 2))
  branch:add(f.domain_instructions, tvb(12, 2))
  branch:add(f.domain_flags, tvb(14, 2))
  local words, instructions = tvb(6, 1):uint() % 32, tvb(8, 2):uint()
  if math.floor(tvb(0, 1):uint() / 16) ~= 1 or words == 0 then return end
  local hops = (size - 16) / (words * 4)
  branch:add(f.hops, tvb(1, 1), hops):set_generated()
  branch:append_text(", hops: " .. string.format("%d", hops))
  for i = hops, 1, -1 do
    local at = 16 + (hops - i) * words * 4
    if at + words * 4 <= tvb:len() then add_hop(branch, tvb, at, words, instructions, string.format("%d", i)) end
  end
end

local ports = DissectorTable.get("udp.port")
local before = {}  -- dissectors that had our port

function proto.dissector(tvb, pinfo, tree)
  local size = size_of(tvb)
  local whole = tvb:len() == tvb:reported_len()
  if not size then
    local other = before[pinfo.match_uint]
    if other and whole then
      weft.call(other, tvb, pinfo, tree)
      return tvb:len()
    end
    return 0
  end
  local name = math.floor(tvb(0, 1):uint() / 16) == 1 and "INT-MD" or "INT-MX"
  add_tree(tree, tvb, size)
  local npt, next = math.floor(tvb(0, 1):uint() / 4) % 4, tvb(2, 2):uint()
  local dissector = npt == 1 and next ~= pinfo.match_uint and ports:get_dissector(next)
  if size >= tvb:len() or not whole or not dissector then
    pinfo.cols.protocol:set(name)
    return tvb:len()
  end
  weft.restored = { frame = pinfo.number, removed_B = size, port = next }
  weft.call(dissector, tvb(size):tvb(), pinfo, tree)
  pinfo.cols.protocol:append("/" .. name)
  return tvb:len()
end

local current = 0
local function use_port(port)
  if current ~= 0 then
    ports:remove(current, proto)
    if before[current] then ports:add(current, before[current]) end
  end
  current = port
  if port ~= 0 then
    before[port] = ports:get_dissector(port)
    ports:add(port, proto)
  end
end
function proto.prefs_changed()
  if proto.prefs.port ~= current then use_port(proto.prefs.port) end
end
use_port(proto.prefs.port)
