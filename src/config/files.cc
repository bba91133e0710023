#include "src/config/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/unique_fd.h"

namespace pontage::config {
namespace {

constexpr std::size_t kSecretLimit = 4096;

wire::Unexpected<std::string> bad(const std::string& path, std::string_view why) {
  return wire::Unexpected<std::string>("cannot read `" + path + "`: " + std::string(why));
}

}  // namespace

std::string resolve_path(std::string_view config_file, std::string_view path) {
  const std::filesystem::path given(path);
  if (given.empty() || given.is_absolute()) return given.string();
  return (std::filesystem::path(config_file).parent_path() / given).lexically_normal().string();
}

Parsed<std::string> read_file(const std::string& path, std::size_t limit) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const util::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return bad(path, std::strerror(errno));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return bad(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return bad(path, "it is a folder");
  std::string text;
  char block[16384];
  for (;;) {
    const auto got = ::read(fd.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return bad(path, std::strerror(errno));
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > limit) return bad(path, "it is larger than " + format_size(static_cast<std::int64_t>(limit)));
  }
}

Parsed<std::string> read_secret(const std::string& path) {
  auto text = read_file(path, kSecretLimit);
  if (!text) return text;
  auto line = text->substr(0, text->find('\n'));
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty()) return bad(path, "its first line is empty");
  return line;
}

}  // namespace pontage::config
