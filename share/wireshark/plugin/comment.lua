-- Weft writes into a packet's comment what it did to it: "weft: retransmission; weft: lost by fault drop-1". Each becomes
-- a field of its own, so that frames can be filtered and coloured by it.
_G.weft_wireshark = _G.weft_wireshark or {}
local weft = _G.weft_wireshark
if weft.has_comment then return end  -- installed in two places
weft.has_comment = true

local proto = Proto("weft.comments", "Weft: comments")
local f = {
  comment = ProtoField.string("weft.comment", "Comment"),
  event = ProtoField.string("weft.event", "Event", base.ASCII, "The first word of a comment"),
}
proto.fields = f
local comments = Field.new("frame.comment")

function weft.add_comments(tree)
  local first = comments()
  if not first then return end
  for _, info in ipairs({ comments() }) do
    local branch
    for part in tostring(info.value):gmatch("weft: ([^;]+)") do
      branch = branch or tree:add(proto):set_generated()
      branch:append_text(", " .. part)
      branch:add(f.comment, part):set_generated()
      branch:add(f.event, part:match("^[%w_-]+") or part):set_generated()
    end
  end
end
