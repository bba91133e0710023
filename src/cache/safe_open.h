// Opens names below a root so that nothing outside of it is ever reached, whatever the links and whoever renames
// meanwhile: the kernel decides with openat2(RESOLVE_BENEATH); where that call is refused (old kernels, seccomp) the
// path is walked by component without following links. Blocking system calls: a thread of the blocking pool. Holds no
// state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocols/wire/expected.h"
#include "src/config/config.h"
#include "src/util/unique_fd.h"

namespace pontage::cache {

using Symlinks = config::FilesAction::Symlinks;
enum class Resolver : std::uint8_t { kernel, walk };  // `kernel` falls back to `walk` by itself

using OpenedFd = wire::Expected<util::UniqueFd, int>;  // or errno

// The directory `root` of now; its own links are followed, so that a switched `current` link takes effect.
OpenedFd open_root(const std::string& root) noexcept;

// Opens `path` (relative, may be empty for the root itself) below the directory `root` with `flags` for open(2);
// O_CLOEXEC is added. Links by policy: `beneath` follows those that stay below the root (absolute ones do not), `none`
// follows none, `follow` follows all. A link that leaves gives EXDEV, one that is not to be followed or runs in a
// circle ELOOP.
OpenedFd open_below(int root, std::string_view path, int flags, Symlinks links, Resolver resolver = Resolver::kernel);

}  // namespace pontage::cache
