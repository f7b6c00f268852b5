-- The semantic sublayer (SES) of Ultra Ethernet: what a request or response is about. Called by uet.lua behind a PDS header.
-- Requests of all three sizes have the field names of the standard one.
_G.weft_wireshark = _G.weft_wireshark or {}
local weft = _G.weft_wireshark
if weft.has_uet_ses then return end  -- installed in two places
weft.has_uet_ses = true
if weft.native_uet == nil then weft.native_uet = DissectorTable.get("udp.port"):get_dissector(4793) or false end
if weft.native_uet then return end

local kOpcodes = { [0] = "NOOP", "WRITE", "READ", "ATOMIC", "FETCH_ATOMIC", "SEND", "REND_SEND", "DGRAM_SEND",
                   "DEFER_SEND", "TAGGED_SEND", "REND_TSEND", "DEFER_TSEND", "DEFER_RTR", "TSEND_ATOMIC", "TSEND_FETCH",
                   "MSG_ERROR", "SYNC_WRITE", "SYNC_ATOMIC" }
local kResponses = { [0] = "default", "response", "response with data", "no response" }
local kReturnCodes = { [0] = "none", [1] = "OK", [2] = "bad generation", [3] = "disabled", [4] = "disabled generation",
  [5] = "no match", [6] = "unsupported operation", [7] = "unsupported size", [0x17] = "permission",
  [0x18] = "operation violation", [0x19] = "bad index", [0x1a] = "bad PID", [0x1b] = "bad JobID", [0x1c] = "bad key",
  [0x1d] = "bad address", [0x1e] = "cancelled", [0x1f] = "undeliverable", [0x20] = "uncorrectable",
  [0x21] = "uncorrectable, transient", [0x22] = "too long", [0x23] = "initiator error", [0x24] = "dropped" }

local proto = Proto("uet.ses", "Ultra Ethernet semantic sublayer")
local function flag(name, text, mask)
  return ProtoField.bool("uet.ses.std." .. name, text, 8, nil, mask)
end
local f = {
  opcode = ProtoField.uint8("uet.ses.std.opcode", "Opcode", base.DEC, kOpcodes, 0x3f),
  version = ProtoField.uint8("uet.ses.std.ver", "Version", base.DEC, nil, 0xc0),
  dc = flag("dc", "Delivery complete (DC)", 0x20),
  ie = flag("ie", "Initiator error (IE)", 0x10),
  rel = flag("rel", "Relative addressing", 0x08),
  hd = flag("hd", "Header data", 0x04),
  eom = flag("eom", "End of message (EOM)", 0x02),
  som = flag("som", "Start of message (SOM)", 0x01),
  message = ProtoField.uint16("uet.ses.std.message_id", "Message", base.DEC),
  short_length = ProtoField.uint16("uet.ses.std.short_length", "Request length", base.DEC, nil, 0x3fff),
  generation = ProtoField.uint8("uet.ses.std.index_generation", "Index generation", base.DEC),
  job = ProtoField.uint24("uet.ses.std.job_id", "Job", base.DEC),
  pid = ProtoField.uint16("uet.ses.std.pidonfep", "PIDonFEP", base.DEC, nil, 0x0fff),
  index = ProtoField.uint16("uet.ses.std.resource_index", "Resource index", base.DEC, nil, 0x0fff),
  buffer_offset = ProtoField.uint64("uet.ses.std.buffer_offset", "Buffer offset", base.DEC),
  initiator = ProtoField.uint32("uet.ses.std.initiator", "Initiator", base.HEX),
  key = ProtoField.uint64("uet.ses.std.mem_key_match_bits", "Memory key or match bits", base.HEX),
  header_data = ProtoField.uint64("uet.ses.std.header_data", "Header data", base.HEX),
  payload_length = ProtoField.uint32("uet.ses.std.payload_length", "Payload length", base.DEC, nil, 0x3fff),
  message_offset = ProtoField.uint32("uet.ses.std.message_offset", "Message offset", base.DEC),
  length = ProtoField.uint32("uet.ses.std.request_length", "Request length", base.DEC),
  list = ProtoField.uint8("uet.ses.rsp.list", "List", base.DEC, { [0] = "expected", "overflow" }, 0xc0),
  rsp_opcode = ProtoField.uint8("uet.ses.rsp.opcode", "Opcode", base.DEC, kResponses, 0x3f),
  rsp_version = ProtoField.uint8("uet.ses.rsp.ver", "Version", base.DEC, nil, 0xc0),
  return_code = ProtoField.uint8("uet.ses.rsp.return_code", "Return code", base.HEX, kReturnCodes, 0x3f),
  rsp_message = ProtoField.uint16("uet.ses.rsp.message_id", "Message", base.DEC),
  rsp_generation = ProtoField.uint8("uet.ses.rsp.resource_index_gen", "Index generation", base.DEC),
  rsp_job = ProtoField.uint24("uet.ses.rsp.job_id", "Job", base.DEC),
  modified = ProtoField.uint32("uet.ses.rsp.mod_length", "Modified length", base.DEC),
  read_message = ProtoField.uint16("uet.ses.rsp.read_req_message_id", "Message of the READ", base.DEC),
  rsp_payload = ProtoField.uint16("uet.ses.rsp.payload_length", "Payload length", base.DEC, nil, 0x3fff),
  rsp_offset = ProtoField.uint32("uet.ses.rsp.message_offset", "Message offset", base.DEC),
  request_psn = ProtoField.uint32("uet.ses.rsp.original_request_psn", "PSN of the request", base.DEC),
}
proto.fields = f

-- By next header: 1 to 3 small, medium and standard request, 4 to 6 response, with data, with data small.
local kSizes = { 20, 32, 44, 12, 20, 12 }
local kReadable = { "small request", "medium request", "standard request", "response", "response with data",
                    "response with data, small" }

local function add_request(tree, tvb, at, kind)
  tree:add(f.opcode, tvb(at, 1))
  for _, field in ipairs({ f.version, f.dc, f.ie, f.rel, f.hd, f.eom, f.som }) do tree:add(field, tvb(at + 1, 1)) end
  tree:add(kind == 3 and f.message or f.short_length, tvb(at + 2, 2))
  tree:add(f.generation, tvb(at + 4, 1))
  tree:add(f.job, tvb(at + 5, 3))
  tree:add(f.pid, tvb(at + 8, 2))
  tree:add(f.index, tvb(at + 10, 2))
  tree:add(f.buffer_offset, tvb(at + 12, 8))
  if kind == 1 then return end
  tree:add(f.initiator, tvb(at + 20, 4))
  tree:add(f.key, tvb(at + 24, 8))
  if kind == 2 then return end
  if tvb(at + 1, 1):uint() % 2 == 1 then
    tree:add(f.header_data, tvb(at + 32, 8))
  else
    tree:add(f.payload_length, tvb(at + 32, 4))
    tree:add(f.message_offset, tvb(at + 36, 4))
  end
  tree:add(f.length, tvb(at + 40, 4))
end

local function add_response(tree, tvb, at, kind)
  tree:add(f.list, tvb(at, 1))
  tree:add(f.rsp_opcode, tvb(at, 1))
  tree:add(f.rsp_version, tvb(at + 1, 1))
  tree:add(f.return_code, tvb(at + 1, 1))
  if kind == 6 then tree:add(f.rsp_payload, tvb(at + 2, 2)) else tree:add(f.rsp_message, tvb(at + 2, 2)) end
  if kind == 4 then tree:add(f.rsp_generation, tvb(at + 4, 1)) end
  tree:add(f.rsp_job, tvb(at + 5, 3))
  if kind == 4 then
    tree:add(f.modified, tvb(at + 8, 4))
  elseif kind == 5 then
    tree:add(f.read_message, tvb(at + 8, 2))
    tree:add(f.rsp_payload, tvb(at + 10, 2))
    tree:add(f.modified, tvb(at + 12, 4))
    tree:add(f.rsp_offset, tvb(at + 16, 4))
  else
    tree:add(f.request_psn, tvb(at + 8, 4))
  end
end

-- `kind`: the next header of the PDS. Adds to info.name what the packet list shows.
function weft.add_uet_ses(tree, tvb, at, kind, info)
  local size = kSizes[kind]
  if not size or tvb:len() < at + size then return end
  local branch = tree:add(proto, tvb(at, size))
  branch:append_text(": " .. kReadable[kind])
  if kind <= 3 then
    local opcode = tvb(at, 1):uint() % 64
    info.name = info.name .. " " .. (kOpcodes[opcode] or "opcode " .. opcode)
    add_request(branch, tvb, at, kind)
  else
    local code = tvb(at + 1, 1):uint() % 64
    info.name = info.name .. " " .. (kReturnCodes[code] or "return code " .. code)
    add_response(branch, tvb, at, kind)
  end
end
