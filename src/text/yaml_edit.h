// Changes one value of a YAML text and leaves the rest as its writer has it: comments, order, the way lists and maps
// are written. Paths are those of --set (yaml_override.h). What comes out is read again and compared with what --set
// would have made of the tree: a text that cannot be changed that way is an error, never another lab.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weft::lab {

// `value` is YAML, as behind --set path=; nothing: the key is taken away, if it is there. The error says why not.
tl::expected<std::string, std::string> edit_yaml(std::string_view text, std::string_view path,
                                                 const std::optional<std::string>& value);

}  // namespace weft::lab
