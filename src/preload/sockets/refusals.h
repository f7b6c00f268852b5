// Refusals of a node are printed where the user looks: the world knows what to type instead (live/view/node_changes.h).
#pragma once

namespace weft::preload {

class Path;

// On standard error, if the last change was refused.
void say_refusal();
// Likewise of a file of the node that a program opens to write.
void say_refusal_of(const Path& path);

}  // namespace weft::preload
