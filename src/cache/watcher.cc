#include "src/cache/watcher.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "src/cache/load.h"
#include "src/cache/root_path.h"

namespace pontage::cache {
namespace {

constexpr std::uint32_t kStructure = IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE;
constexpr std::uint32_t kSelf = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kGone = kSelf | IN_IGNORED | IN_UNMOUNT;
// One directory may serve as both kinds, so a watch only ever gains events.
constexpr std::uint32_t kAnchorMask = kStructure | kSelf | IN_ONLYDIR | IN_MASK_ADD;
constexpr std::uint32_t kContentMask = kAnchorMask | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE;

constexpr std::size_t kReadSize = 64 * 1024;
constexpr int kReads = 16;
constexpr int kAttempts = 4;
constexpr std::size_t kLongestDirectory = 1024;
// More walks over the cache than that for one root, and everything of it expires at once.
constexpr std::size_t kMostWalks = 16;

std::string_view parent_of(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string kernel_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

std::string path_of(int descriptor) {
  std::array<char, PATH_MAX> room;
  const ssize_t size = ::readlink(kernel_path(descriptor).c_str(), room.data(), room.size());
  return {room.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// The name of a directory relative to another, without links; nullopt: it is not below it.
std::optional<std::string> real_name(int top, int descriptor) {
  std::string above = path_of(top);
  const std::string path = path_of(descriptor);
  if (path.empty() || above.empty()) return std::nullopt;
  if (path == above) return std::string();
  if (!above.ends_with('/')) above += '/';
  if (!path.starts_with(above)) return std::nullopt;
  return path.substr(above.size());
}

}  // namespace

struct Watcher::Batch {
  FileCache& files;
  std::map<std::uint32_t, std::set<std::string>> below{};  // directories by root
  std::set<std::uint32_t> whole{};                         // roots
  std::vector<Watched> doubtful{};                         // to be lost, too
  std::vector<int> unused{};                               // watches

  void expire() {
    for (const std::uint32_t root : whole) files.expire_root(root);
    for (const auto& [root, directories] : below) {
      if (whole.contains(root)) continue;
      if (directories.size() > kMostWalks) {
        files.expire_root(root);
        continue;
      }
      for (const std::string& directory : directories) files.expire_below(root, directory);
    }
  }
};

Watcher::Watcher(std::size_t limit) : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), table_(limit) {}

Watcher::~Watcher() = default;

Watcher::Counts Watcher::counts() const {
  const std::lock_guard lock(lock_);
  return {table_.watched(), table_.refused(), overflows_};
}

std::uint64_t Watcher::changes() const {
  const std::lock_guard lock(lock_);
  return changes_;
}

bool Watcher::knows(const FileRoot& root, std::string_view directory) const {
  const std::lock_guard lock(lock_);
  return table_.knows(root.id, directory);
}

void Watcher::watch(const FileRoot& root, std::string_view path) {
  if (!inotify_) return;
  const std::string_view directory = parent_of(path.substr(0, path.find('\0')));
  if (knows(root, directory) || directory.size() > kLongestDirectory) return;
  for (int i = 0; i < kAttempts && !watch_from_root(root, directory); ++i) continue;
}

// Downwards, so that whatever changes the meaning of a name is watched before the name is used. False: something
// changed meanwhile, so it has to begin again.
bool Watcher::watch_from_root(const FileRoot& root, std::string_view directory) {
  for (std::size_t end = 0;; end = std::min(directory.find('/', end + 1), directory.size())) {
    const std::string_view part = directory.substr(0, end);
    if (!knows(root, part)) {
      const Step step = part.empty() ? watch_root(root) : watch_directory(root, part);
      if (step != Step::done) return step == Step::stop;
    }
    if (end == directory.size()) return true;
  }
}

Watcher::Step Watcher::watch_root(const FileRoot& root) {
  const Step step = watch_anchors(root);
  return step == Step::done ? watch_directory(root, {}) : step;
}

// What cannot be watched on the way to the root is left to the recheck window.
Watcher::Step Watcher::watch_anchors(const FileRoot& root) {
  const std::vector<Turn> turns = turns_of(root.directory);
  for (const Turn& turn : turns) {
    const std::uint64_t before = changes();
    if (install(turn.directory, kAnchorMask, {root.id, {}, turn.name}, before) == Step::again) return Step::again;
  }
  return turns == turns_of(root.directory) ? Step::done : Step::again;
}

// By a descriptor, so that the links of the path are followed by the root's policy and never out of it. Where they lead
// to a directory below the root, that is watched by its real name first: only so a rename above it is seen.
Watcher::Step Watcher::watch_directory(const FileRoot& root, std::string_view directory) {
  const std::uint64_t before = changes();
  const OpenedFd top = open_root(root.directory);
  if (!top) return Step::stop;
  const OpenedFd opened = open_below(top->get(), directory, O_PATH | O_DIRECTORY, root.links, root.resolver);
  if (!opened) return Step::stop;  // missing as a rule; what is watched above tells when it appears
  const std::optional<std::string> real = real_name(top->get(), opened->get());
  if (real && *real != directory && !knows(root, *real)) {
    if (!watch_from_root(root, *real)) return Step::again;
  }
  Watched use{root.id, std::string(directory), {}};
  {
    const std::lock_guard lock(lock_);
    if (!table_.has_room()) {
      table_.refuse(use.root, use.directory);
      return table_.knows(use.root, use.directory) ? Step::done : Step::stop;
    }
  }
  return install(kernel_path(opened->get()), kContentMask, use, before);
}

// The system call may wait for a disk, so it is made without the lock. Its watch means nothing until it is in the
// table; events that were drained until then may have been about this very watch or a name on the way to it, therefore
// any of them since `before` makes the caller begin again.
Watcher::Step Watcher::install(const std::string& path, std::uint32_t mask, const Watched& use, std::uint64_t before) {
  const bool anchor = !use.anchor.empty();
  const int wd = ::inotify_add_watch(inotify_.get(), path.c_str(), mask);
  const std::lock_guard lock(lock_);
  if (changes_ != before) return Step::again;
  if (!anchor && !use.directory.empty() && !table_.knows(use.root, parent_of(use.directory))) return Step::again;
  if (wd < 0 && !anchor) table_.refuse(use.root, use.directory);
  if (wd >= 0 && !table_.add(wd, use) && table_.uses(wd) == nullptr) remove_unused({wd});
  return anchor || table_.knows(use.root, use.directory) ? Step::done : Step::stop;
}

// Whoever was just given the same watch by the kernel has to begin again.
void Watcher::remove_unused(const std::vector<int>& watches) noexcept {
  ++changes_;
  for (const int wd : watches) ::inotify_rm_watch(inotify_.get(), wd);
}

void Watcher::forget(std::uint32_t root) {
  const std::lock_guard lock(lock_);
  std::vector<int> unused;
  table_.drop_root(root, unused);
  remove_unused(unused);
}

void Watcher::drain(FileCache& files) {
  alignas(::inotify_event) std::array<std::byte, kReadSize> room;
  for (int i = 0; i < kReads; ++i) {
    const ssize_t got = ::read(inotify_.get(), room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    process({room.data(), static_cast<std::size_t>(got)}, files);
  }
}

void Watcher::process(std::span<const std::byte> events, FileCache& files) {
  const std::lock_guard lock(lock_);
  Batch batch{.files = files};
  while (events.size() >= sizeof(::inotify_event)) {
    ::inotify_event event;
    std::memcpy(&event, events.data(), sizeof event);
    events = events.subspan(sizeof event);
    if (event.len > events.size()) break;
    const std::string_view padded(reinterpret_cast<const char*>(events.data()), event.len);
    handle(event, padded.substr(0, padded.find('\0')), batch);
    events = events.subspan(event.len);
  }
  std::sort(batch.unused.begin(), batch.unused.end());
  batch.unused.erase(std::unique(batch.unused.begin(), batch.unused.end()), batch.unused.end());
  remove_unused(batch.unused);
  batch.expire();
}

void Watcher::handle(const ::inotify_event& event, std::string_view name, Batch& batch) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    ++overflows_;
    for (const std::uint32_t root : table_.roots()) batch.whole.insert(root);
    table_.drop_all(batch.unused);  // what was lost may have moved directories
    return;
  }
  const std::vector<Watched>* found = table_.uses(event.wd);
  if (found == nullptr) {
    if ((event.mask & IN_IGNORED) == 0) batch.unused.push_back(event.wd);
    return;
  }
  const std::vector<Watched> uses = *found;  // handling one may drop others
  for (const Watched& use : uses) handle_use(use, event.mask, name, batch);
  while (!batch.doubtful.empty()) {
    const Watched use = std::move(batch.doubtful.back());
    batch.doubtful.pop_back();
    lose(use, batch);
  }
}

void Watcher::handle_use(const Watched& use, std::uint32_t mask, std::string_view name, Batch& batch) {
  const bool structure = (mask & kStructure) != 0;
  if ((mask & kGone) != 0) {
    lose(use, batch);
    return;
  }
  if (!use.anchor.empty()) {
    if (structure && name == use.anchor) lose(use, batch);
    return;
  }
  batch.files.expire(use.root, use.directory);
  if (name.empty()) {  // who may read it has changed, perhaps
    batch.below[use.root].insert(use.directory);
    return;
  }
  const std::string path = use.directory + (use.directory.empty() ? "" : "/") + std::string(name);
  batch.files.expire(use.root, path);
  const bool directory = (mask & IN_ISDIR) != 0;
  // The event of a link to a directory does not say so, but what was watched through it does.
  const bool dropped = (directory || structure) && table_.drop_below(use.root, path, batch.doubtful, batch.unused);
  if (directory || dropped) batch.below[use.root].insert(path);
}

// This name of a directory may mean another one now, or none.
void Watcher::lose(const Watched& use, Batch& batch) {
  if (use.directory.empty()) {  // an anchor's, too
    table_.drop_root(use.root, batch.unused);
    batch.whole.insert(use.root);
    return;
  }
  batch.files.expire(use.root, use.directory);
  table_.drop_below(use.root, use.directory, batch.doubtful, batch.unused);
  batch.below[use.root].insert(use.directory);
}

}  // namespace pontage::cache
