// A directory of its own for one test; gone with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pontage::testing {

namespace fs = std::filesystem;

class TempTree {
 public:
  TempTree() {
    std::string name = (fs::temp_directory_path() / "pontage-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempTree() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  std::string at(std::string_view name) const { return (path_ / name).string(); }
  void write(std::string_view name, std::string_view bytes) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(at(name), std::ios::binary) << bytes;
  }
  // As deployments do: a new file in the place of the old one.
  void replace(std::string_view name, std::string_view bytes) const {
    write(std::string(name) + ".new", bytes);
    fs::rename(at(std::string(name) + ".new"), at(name));
  }
  void mkdir(std::string_view name) const { fs::create_directories(path_ / name); }
  void link(std::string_view name, std::string_view target) const { fs::create_symlink(target, path_ / name); }
  void remove(std::string_view name) const { fs::remove_all(path_ / name); }
  void set_mtime(std::string_view name, std::int64_t seconds, long nanoseconds = 0) const {
    const timespec times[2] = {{0, UTIME_OMIT}, {seconds, nanoseconds}};
    ::utimensat(AT_FDCWD, at(name).c_str(), times, 0);
  }

 private:
  fs::path path_;
};

}  // namespace pontage::testing
