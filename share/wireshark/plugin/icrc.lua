-- The packet as its sender made it, and the CRCs over it: RoCE's invariant CRC (IBTA vol 1 7.8 and Annex A17) and the
-- CRC-32C of Ultra Ethernet. Both cover parts of the IP header, which is found by the fields ip and ipv6 of the frame. What telemetry put in on the way is taken out again.
_G.weft_wireshark = _G.weft_wireshark or {}
local weft = _G.weft_wireshark
if weft.has_icrc then return end  -- installed in two places
weft.has_icrc = true

local ipv4_field = Field.new("ip")
local ipv6_field = Field.new("ipv6")
local udp_field = Field.new("udp")
local grh_field = Field.new("infiniband.grh")

-- As those of Wireshark's own checksum fields.
weft.kBad, weft.kGood, weft.kUnverified = 0, 1, 2
weft.status_names = { [0] = "Bad", [1] = "Good", [2] = "Unverified" }

-- What INT or IFA put into a frame, while and after it is dissected: frame, removed_B more bytes in IP and UDP length,
-- another port or protocol, and for IFA that the packet was put together anew, in a source of its own.
weft.restored = nil
local function restored_in(pinfo)
  return weft.restored and weft.restored.frame == pinfo.number and weft.restored or nil
end

-- The last that begins before `before`; fields come with the outermost first.
local function last_before(infos, before)
  for i = #infos, 1, -1 do
    if infos[i].offset < before then return infos[i] end
  end
end

-- The IP packet around what is at `before`, and its version; nil where there is none.
local function ip_info(before)
  local four, six = last_before({ ipv4_field() }, before), last_before({ ipv6_field() }, before)
  if four and (not six or four.offset > six.offset) then return four, 4 end
  return six, 6
end

local function raw(info, size)
  local ok, bytes = pcall(function() return info.source:raw(info.offset, size) end)
  return ok and #bytes == size and bytes or nil
end

-- Its raw header; nil where there is none, or IPv6 has extension headers.
local function ip_header(before, fix)
  local info, version = ip_info(before)
  if not info then return nil end
  local first = raw(info, 1)
  local size = first and version == 4 and first:byte() % 16 * 4 or 40
  local bytes = size >= 20 and raw(info, size) or nil
  if not bytes or version == 6 and bytes:byte(7) ~= 17 and not fix then return nil end
  return bytes, version
end

-- IP and UDP headers as the sender wrote them: lengths, protocol and port restored.
local function restore(ip, version, udp, fix)
  if version == 4 then
    ip = ip:sub(1, 2) .. weft.put16(weft.be16(ip, 3) - fix.removed_B) .. ip:sub(5, 9) ..
         string.char(fix.protocol or ip:byte(10)) .. ip:sub(11)
  else
    ip = ip:sub(1, 4) .. weft.put16(weft.be16(ip, 5) - fix.removed_B) .. string.char(fix.protocol or ip:byte(7)) ..
         ip:sub(8)
  end
  if fix.port then
    udp = udp:sub(1, 2) .. weft.put16(fix.port) .. weft.put16(weft.be16(udp, 5) - fix.removed_B) .. udp:sub(7)
  end
  return ip, udp
end

local kOnes = string.rep("\255", 8)

-- Eight bytes of ones for the LRH, IP and UDP with what routers change as ones.
local function masked_v2(ip, version, udp)
  local masked
  if version == 4 then
    masked = ip:sub(1, 1) .. "\255" .. ip:sub(3, 8) .. "\255" .. ip:sub(10, 10) .. "\255\255" .. ip:sub(13)
  else
    masked = string.char(math.floor(ip:byte(1) / 16) * 16 + 15) .. "\255\255\255" .. ip:sub(5, 7) .. "\255" ..
             ip:sub(9, 40)
  end
  return kOnes .. masked .. udp:sub(1, 6) .. "\255\255"
end

-- RoCEv1: a GRH in place of IP and UDP.
local function around_v1(bth, grh)
  local header = raw(grh, 40)
  if not header then return {} end
  local packet = { start = bth.offset, stop = grh.offset + 40 + weft.be16(header, 5) }
  packet.whole = packet.stop >= packet.start + 16 and packet.stop <= bth.source:len()
  packet.prefix = kOnes .. string.char(math.floor(header:byte(1) / 16) * 16 + 15) .. "\255\255\255" ..
                  header:sub(5, 7) .. "\255" .. header:sub(9, 40)
  return packet
end

-- Of the BTH that the field `bth` has: start and stop of the packet in its source, whether the capture has all of it, and
-- what its ICRC covers before the BTH (nil: not known).
function weft.packet_around(bth, pinfo)
  local grh = last_before({ grh_field() }, bth.offset)
  if grh then return around_v1(bth, grh) end
  local udp = last_before({ udp_field() }, bth.offset)
  local header = udp and raw(udp, 8)
  if not header then return { whole = true } end
  local packet = { start = bth.offset, stop = udp.offset + weft.be16(header, 5) }
  packet.whole = packet.stop >= packet.start + 16 and packet.stop <= bth.source:len()
  local fix = restored_in(pinfo)
  local ip, version = ip_header(fix and fix.apart and math.huge or udp.offset, fix)
  if not ip then return packet end
  if fix then ip, header = restore(ip, version, header, fix) end
  packet.prefix = masked_v2(ip, version, header)
  return packet
end

-- `packet` is BTH to ICRC. FECN, BECN and the six bits behind them count as ones.
function weft.icrc(prefix, packet)
  return weft.crc("crc32", prefix .. packet:sub(1, 4) .. "\255" .. packet:sub(6, -5))
end

-- Of Ultra Ethernet: from the source address on, with options and extension headers, and the UDP checksum as 0. The last
-- four bytes of `tvb`, in network order, are the CRC. `native`: no UDP header; tvb begins at the entropy header.
function weft.uet_crc(tvb, native)
  local info, version = ip_info(tvb:offset())
  local udp = native and "" or nil
  if not native then
    local field = last_before({ udp_field() }, tvb:offset())
    udp = field and raw(field, 8)
  end
  if not info or not udp then return nil end
  local from = info.offset + (version == 4 and 12 or 8)
  local size = tvb:offset() - #udp - from
  local ok, addresses = pcall(function() return info.source:raw(from, size) end)
  if not ok or size < 8 then return nil end
  if not native then udp = udp:sub(1, 6) .. "\0\0" end
  return weft.crc("crc32c", addresses .. udp .. tvb:raw(0, tvb:len() - 4))
end
