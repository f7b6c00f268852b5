// Small files and links below a folder, as sysfs has them. What is written again with the same text is not touched.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weft::live {

class FileTree {
 public:
  explicit FileTree(std::string root) : root_(std::move(root)) {}

  // A line feed is added, as attributes of sysfs end with one.
  void put(const std::string& path, std::string_view text);
  void put_bytes(const std::string& path, const std::string& bytes);
  // `to` is a path of the tree; the link is relative, as those of sysfs.
  void link(const std::string& path, const std::string& to);
  void folder(const std::string& path);
  bool is_good() const { return good_; }
  const std::string& root() const { return root_; }

 private:
  void make_parent(const std::string& path);

  std::string root_;
  std::map<std::string, std::string> written_;
  std::string last_parent_;
  bool good_ = true;
};

}  // namespace weft::live
