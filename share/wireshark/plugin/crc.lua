-- CRC-32 (Ethernet, RoCE's ICRC) and CRC-32C (Ultra Ethernet) of a string of bytes. Sixteen bytes at a time: a CRC is
-- linear, so the state and each byte have a table of their own and one exclusive-or adds them all up. Lua has no other
-- way to be quick: a byte at a time takes ten times as long.
-- The files of this folder share the table weft_wireshark, whose place is _G because a script has globals of its own; Wireshark loads them in any order.
_G.weft_wireshark = _G.weft_wireshark or {}
local weft = _G.weft_wireshark
if weft.has_crc then return end  -- installed in two places
weft.has_crc = true

local bxor = bit.bxor  -- of Wireshark in every version; its results are signed
local byte = string.byte
local floor = math.floor

local polynomials = { crc32 = 0xEDB88320, crc32c = 0x82F63B78 }
local tables = {}

-- tables[kind][k][b]: what byte b contributes with k - 1 bytes behind it.
local function tables_of(kind)
  if tables[kind] then return tables[kind] end
  local all = { {} }
  for b = 0, 255 do
    local c = b
    for _ = 1, 8 do
      local half = floor(c / 2)
      c = c % 2 == 1 and bxor(half, polynomials[kind]) % 4294967296 or half
    end
    all[1][b] = c
  end
  for k = 2, 16 do
    all[k] = {}
    for b = 0, 255 do
      local before = all[k - 1][b]
      all[k][b] = bxor(floor(before / 256), all[1][before % 256]) % 4294967296
    end
  end
  tables[kind] = all
  return all
end

-- As an unsigned number. kind: "crc32" or "crc32c".
function weft.crc(kind, bytes)
  local all = tables_of(kind)
  local t1, t2, t3, t4, t5, t6, t7, t8 = all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8]
  local t9, t10, t11, t12, t13, t14, t15, t16 = all[9], all[10], all[11], all[12], all[13], all[14], all[15], all[16]
  local c = 0xFFFFFFFF
  local size, at = #bytes, 1
  while at + 15 <= size do
    local b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15, b16 = byte(bytes, at, at + 15)
    local c1 = c % 256
    c = (c - c1) / 256
    local c2 = c % 256
    c = (c - c2) / 256
    local c3 = c % 256
    local c4 = (c - c3) / 256 % 256
    c = bxor(t16[c1], t15[c2], t14[c3], t13[c4], t16[b1], t15[b2], t14[b3], t13[b4], t12[b5], t11[b6], t10[b7], t9[b8],
             t8[b9], t7[b10], t6[b11], t5[b12], t4[b13], t3[b14], t2[b15], t1[b16])
    at = at + 16
  end
  c = c % 4294967296
  for i = at, size do
    local low = c % 256
    c = bxor((c - low) / 256, t1[bxor(low, byte(bytes, i)) % 256]) % 4294967296
  end
  return 4294967295 - c
end

-- Numbers that are in a string of bytes, from `at` on.
function weft.be16(bytes, at)
  local a, b = byte(bytes, at, at + 1)
  return a * 256 + b
end

function weft.be32(bytes, at)
  local a, b, c, d = byte(bytes, at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

function weft.put16(value)
  return string.char(floor(value / 256) % 256, value % 256)
end

-- Calls a dissector of Wireshark's on a packet that the capture has all of. It may find the packet malformed, which it
-- shows itself; of packets that were cut, Wireshark 4.0 would leave Lua's stack as it is.
function weft.call(dissector, tvb, pinfo, tree)
  pcall(function() dissector:call(tvb, pinfo, tree) end)
end
