// What the kernel's watches mean: which directories of which roots each of them stands for. Plain book-keeping without
// system calls; owned by Watcher, under its lock. Directories are relative to their root, "" is the root itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pontage::cache {

// One meaning of a watch. Several may share one: roots overlap, and links lead to the same directory by many names.
struct Watched {
  std::uint32_t root = 0;
  std::string directory;
  std::string anchor;  // not empty: a directory above the root, where only this name matters
  friend bool operator==(const Watched&, const Watched&) = default;
};

class WatchTable {
 public:
  // `limit`: directories (not anchors) that may be watched; as many again may be remembered as refused.
  explicit WatchTable(std::size_t limit) noexcept : limit_(limit) {}

  // Watched, or refused: nothing is left to be done about it. One look-up in an ordered table.
  bool knows(std::uint32_t root, std::string_view directory) const;
  bool has_room() const noexcept { return watched_ < limit_; }

  // The kernel's watch `wd` stands for this, too. False: it does not, because there is no room or the watch has too
  // many meanings (then it counts as refused), or because that directory is known already by another watch.
  bool add(int wd, const Watched& use);
  // It cannot be watched.
  void refuse(std::uint32_t root, std::string_view directory);

  // The meanings of a watch; nullptr: none. Valid until the next change.
  const std::vector<Watched>* uses(int wd) const;

  // Forgets a directory with everything below it, and the watches of all that. Those watches' other meanings are
  // reached by other names (links, other roots), which may lead nowhere now: they are added to `doubtful`. True when
  // there was something to be forgotten. Watches left without a meaning are added to `unused`, here and below.
  bool drop_below(std::uint32_t root, std::string_view directory, std::vector<Watched>& doubtful,
                  std::vector<int>& unused);
  // Forgets all of a root, its anchors, too. What was refused (of any root) may be tried again.
  void drop_root(std::uint32_t root, std::vector<int>& unused);
  void drop_all(std::vector<int>& unused);

  std::size_t watched() const noexcept { return watched_; }
  // At least; no more are remembered than the limit.
  std::size_t refused() const noexcept { return by_name_.size() - watched_; }
  // Roots that have any watch.
  std::vector<std::uint32_t> roots() const;

 private:
  using Name = std::pair<std::uint32_t, std::string>;
  struct Order {
    using is_transparent = void;
    using View = std::pair<std::uint32_t, std::string_view>;
    static View view(const Name& name) noexcept { return {name.first, name.second}; }
    static View view(const View& name) noexcept { return name; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return view(a) < view(b);
    }
  };
  using Names = std::map<Name, int, Order>;  // the watch, or kRefused

  std::pair<Names::iterator, Names::iterator> below(std::uint32_t root, std::string_view directory);
  void drop_watch(Names::const_iterator name, std::vector<Watched>& doubtful, std::vector<int>& unused);

  std::size_t limit_;
  std::size_t watched_ = 0;
  Names by_name_;
  std::unordered_map<int, std::vector<Watched>> by_watch_;
};

}  // namespace pontage::cache
