#include "src/cache/file_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include <sys/random.h>
#include <sys/resource.h>

#include "src/util/clock.h"

namespace pontage::cache {
namespace {

constexpr std::uint64_t kMaxShards = 64;
constexpr std::uint64_t kShardMemory = 256 * 1024;  // a shard has room for some twenty small files at least
constexpr std::uint64_t kShardDescriptors = 16;
constexpr std::uint64_t kNegativeWindowMs = 1000;
constexpr std::uint64_t kLookMs = 10;
constexpr std::uint64_t kExpired = 0;  // as valid_until: no window, no grace

struct Suffix {
  std::string_view text;
  message::ContentCoding coding;
};
constexpr Suffix kPrecompressed[] = {
    {".gz", message::ContentCoding::gzip}, {".br", message::ContentCoding::br}, {".zst", message::ContentCoding::zstd}};

__extension__ using Wide = unsigned __int128;

std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Keyed, because clients choose the names: without the seed nobody can make them collide.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  std::uint64_t hash = fold(seed ^ bytes.size(), kOdd);
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = fold(hash ^ word, seed | 1) + kOdd;
    bytes.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  return fold(fold(hash ^ rest, seed | 1) ^ seed, kOdd);
}

std::uint64_t random_seed() noexcept {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof seed)) seed = util::realtime_ns();
  return seed;
}

}  // namespace

std::uint64_t FileCache::default_descriptors() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 65536;
  return limit.rlim_cur / 4;
}

FileCache::FileCache(const config::Config::StaticCache& limits, std::uint64_t descriptors)
    : max_file_(limits.max_file),
      window_ms_(static_cast<std::uint64_t>(std::max<std::int64_t>(limits.recheck.count(), 0))),
      seed_(random_seed()) {
  const std::uint64_t open = std::min(descriptors, limits.memory / 8 / kDescriptorCost);
  const std::uint64_t wanted = std::min({kMaxShards, limits.memory / kShardMemory, open / kShardDescriptors});
  const std::uint64_t count = std::bit_floor(std::max<std::uint64_t>(wanted, 1));
  const std::uint64_t disk = open / count * kDescriptorCost;
  const std::uint64_t memory = limits.memory / count - disk;
  shards_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) shards_.push_back(std::make_unique<Shard>(memory, disk));
}

FileCache::~FileCache() = default;

FileCache::Key FileCache::key_of(std::uint32_t root, std::string_view path) const noexcept {
  return {hash_bytes(path, seed_ + root), root, path};
}

// A file that appears is to be seen soon, however long found ones are trusted.
std::uint64_t FileCache::window_of(const FileEntry& entry) const noexcept {
  return entry.kind() == FileKind::file ? window_ms_ : std::min(window_ms_, kNegativeWindowMs);
}

Found FileCache::find(std::uint32_t root, std::string_view path, std::uint64_t now_ms) noexcept {
  const Key key = key_of(root, path);
  Shard& shard = shard_of(key.hash);
  Found found;
  {
    const std::lock_guard lock(shard.lock);
    const auto at = shard.table.find(key);
    if (at == shard.table.end()) return found;
    found.entry = *at;
    EvictionQueue::touch(*found.entry);
  }
  auto& book = found.entry->cache;
  const std::uint64_t until = book.valid_until.load(std::memory_order_relaxed);
  found.freshness = Freshness::fresh;
  if (now_ms < until) return found;
  const bool others_look = book.rechecking.exchange(true, std::memory_order_relaxed);
  if (others_look && until != kExpired && now_ms < until + window_of(*found.entry)) return found;
  found.freshness = Freshness::expired;
  return found;
}

EntryRef FileCache::current(std::uint32_t root, std::string_view path, std::uint64_t now_ms) const noexcept {
  const Key key = key_of(root, path);
  const Shard& shard = shard_of(key.hash);
  const std::lock_guard lock(shard.lock);
  const auto at = shard.table.find(key);
  if (at == shard.table.end() || now_ms >= (*at)->cache.valid_until.load(std::memory_order_relaxed)) return {};
  return *at;
}

void FileCache::take_out(Shard& shard, FileEntry& entry, std::vector<EntryRef>& gone) {
  const auto at = shard.table.find(Key{entry.cache.hash, entry.root(), entry.path()});
  gone.push_back(*at);
  shard.table.erase(at);
  if (!entry.in_memory()) --shard.descriptors;
}

bool FileCache::insert(const EntryRef& entry, std::uint64_t now_ms, std::uint64_t epoch) {
  auto& book = entry->cache;
  const Key key = key_of(entry->root(), entry->path());
  book.looked_at.store(now_ms, std::memory_order_relaxed);
  book.hash = key.hash;
  book.cost = entry->in_memory() ? entry->memory() : std::max<std::uint64_t>(entry->memory(), kDescriptorCost);

  std::vector<EntryRef> gone;  // freed, and their descriptors closed, after the lock
  Shard& shard = shard_of(key.hash);
  const std::lock_guard lock(shard.lock);
  // Under the lock: whoever expires leaves the epoch first and takes the lock then, so one of the two is seen.
  book.valid_until.store(has_left(key.root, epoch) ? kExpired : now_ms + window_of(*entry), std::memory_order_relaxed);
  if (const auto old = shard.table.find(key); old != shard.table.end()) {
    FileEntry& replaced = *old->get();
    shard.queue_of(replaced).remove(replaced);
    take_out(shard, replaced, gone);
  }
  EvictionQueue& queue = shard.queue_of(*entry);
  bool kept = entry->kind() != FileKind::file || entry->size() <= max_file_;
  kept = kept && book.cost <= queue.budget() / 2;  // nothing pushes out half of the others at once
  if (!kept) return false;
  shard.table.insert(entry);
  if (!entry->in_memory()) ++shard.descriptors;
  queue.add(*entry.get());
  while (FileEntry* victim = queue.victim()) {
    if (victim == entry.get()) kept = false;
    take_out(shard, *victim, gone);
  }
  return kept;
}

void FileCache::renew(const FileEntry& entry, std::uint64_t now_ms, std::uint64_t epoch) const noexcept {
  {
    const std::lock_guard lock(shard_of(entry.cache.hash).lock);  // as in insert()
    if (!has_left(entry.root(), epoch)) {
      entry.cache.valid_until.store(now_ms + window_of(entry), std::memory_order_relaxed);
    }
  }
  entry.cache.looked_at.store(now_ms, std::memory_order_relaxed);
  entry.cache.rechecking.store(false, std::memory_order_relaxed);
}

void FileCache::expire(std::uint32_t root, std::string_view path) {
  leave_epoch(root);
  expire_name(root, path);
  for (const auto coding : {message::ContentCoding::gzip, message::ContentCoding::br, message::ContentCoding::zstd}) {
    expire_variant(root, path, coding);
  }
  for (const Suffix& suffix : kPrecompressed) {
    if (path.ends_with(suffix.text)) {
      expire_variant(root, path.substr(0, path.size() - suffix.text.size()), suffix.coding);
    }
  }
}

void FileCache::expire_variant(std::uint32_t root, std::string_view path, message::ContentCoding coding) {
  std::string variant(path);
  variant += '\0';
  variant += message::to_string(coding);
  expire_name(root, variant);
}

void FileCache::expire_name(std::uint32_t root, std::string_view path) noexcept {
  const Key key = key_of(root, path);
  Shard& shard = shard_of(key.hash);
  const std::lock_guard lock(shard.lock);
  const auto at = shard.table.find(key);
  if (at != shard.table.end()) (*at)->cache.valid_until.store(kExpired, std::memory_order_relaxed);
}

void FileCache::expire_below(std::uint32_t root, std::string_view directory) {
  leave_epoch(root);
  const auto below = [directory](std::string_view path) {
    return directory.empty() ||
           (path.size() > directory.size() && path[directory.size()] == '/' && path.starts_with(directory));
  };
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->lock);
    for (const EntryRef& entry : shard->table) {
      if (entry->root() != root || !below(entry->path())) continue;
      entry->cache.valid_until.store(kExpired, std::memory_order_relaxed);
    }
  }
}

void FileCache::remove_root(std::uint32_t root) {
  leave_epoch(root);
  for (const auto& shard : shards_) {
    std::vector<EntryRef> gone;  // as in insert()
    const std::lock_guard lock(shard->lock);
    for (auto at = shard->table.begin(); at != shard->table.end();) {
      FileEntry& entry = *at->get();
      if (entry.root() != root) {
        ++at;
        continue;
      }
      shard->queue_of(entry).remove(entry);
      if (!entry.in_memory()) --shard->descriptors;
      gone.push_back(*at);
      at = shard->table.erase(at);
    }
  }
}

bool FileCache::due_for_look(const FileEntry& entry, std::uint64_t now_ms) noexcept {
  if (now_ms < entry.cache.looked_at.load(std::memory_order_relaxed) + kLookMs) return false;
  entry.cache.looked_at.store(now_ms, std::memory_order_relaxed);
  return true;
}

std::uint64_t FileCache::memory_used() const {
  std::uint64_t total = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->lock);
    total += shard->in_memory.cost() + shard->on_disk.cost();
  }
  return total;
}

std::uint64_t FileCache::descriptors_used() const {
  std::uint64_t total = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->lock);
    total += shard->descriptors;
  }
  return total;
}

std::size_t FileCache::entries() const {
  std::size_t total = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->lock);
    total += shard->table.size();
  }
  return total;
}

}  // namespace pontage::cache
