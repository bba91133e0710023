#include "src/cache/load_variant.h"

#include <cstring>
#include <ctime>
#include <string>

#include "src/cache/open_file.h"
#include "src/http/encoder.h"

namespace pontage::cache {
namespace {

using message::ContentCoding;

std::string_view extension_of(ContentCoding coding) noexcept {
  switch (coding) {
    case ContentCoding::gzip: return ".gz";
    case ContentCoding::br: return ".br";
    case ContentCoding::zstd: return ".zst";
    case ContentCoding::identity: break;
  }
  return {};
}

FileEntry::Parts parts_of(const FileRoot& root, const VariantToLoad& variant, FileKind kind) {
  FileEntry::Parts parts;
  parts.root = root.id;
  parts.path = variant.name;
  parts.kind = kind;
  parts.source = variant.of->stamp();
  parts.shown = variant.shown;
  parts.shown.content_encoding = message::to_string(variant.coding);
  parts.now_seconds = ::time(nullptr);
  return parts;
}

EntryRef none(const FileRoot& root, const VariantToLoad& variant) {
  return FileEntry::make(parts_of(root, variant, FileKind::missing));
}

// The file beside the one asked for, when it serves: one that is older was made from other bytes.
util::Result<OpenedFile> open_beside(const FileRoot& root, const VariantToLoad& variant) {
  const std::string path = std::string(variant.path) + std::string(extension_of(variant.coding));
  util::Result<OpenedFile> opened = open_file(root, path);
  if (opened && opened->stamp.modified_ns < variant.of->stamp().modified_ns) opened->kind = FileKind::missing;
  return opened;
}

// Nothing while the file is being written.
util::Result<EntryRef> load_beside(const FileRoot& root, const VariantToLoad& variant, OpenedFile opened) {
  FileEntry::Parts parts = parts_of(root, variant, FileKind::file);
  parts.stamp = opened.stamp;
  if (opened.stamp.size > root.memory_body) {
    parts.file = std::move(opened.fd);
    return FileEntry::make(std::move(parts));
  }
  parts.body = static_cast<std::size_t>(opened.stamp.size);
  EntryRef entry = FileEntry::make(std::move(parts));
  const auto after = read_version(opened.fd.get(), entry.get()->body_room());
  if (!after) return util::Failure(after.error());
  return *after == opened.stamp ? entry : EntryRef();
}

// The bytes of the file `of`; false when they are no longer those of its stamp.
util::Result<bool> bytes_of(const FileRoot& root, const VariantToLoad& variant, std::string& bytes) {
  const FileEntry& of = *variant.of;
  if (of.in_memory()) {
    bytes = of.body();
    return true;
  }
  util::Result<OpenedFile> opened = open_file(root, variant.path);
  if (!opened) return util::Failure(opened.error());
  if (opened->kind != FileKind::file || opened->stamp != of.stamp()) return false;
  bytes.resize(static_cast<std::size_t>(of.size()));
  const auto after = read_version(opened->fd.get(), bytes);
  if (!after) return util::Failure(after.error());
  return *after == of.stamp();
}

util::Result<EntryRef> compress(const FileRoot& root, const VariantToLoad& variant) {
  std::string bytes;
  const util::Result<bool> read = bytes_of(root, variant, bytes);
  if (!read) return util::Failure(read.error());
  std::string encoded;
  if (!*read || !http::compress_whole(variant.coding, *variant.compression, bytes, encoded, bytes.size() - 1))
    return EntryRef();
  FileEntry::Parts parts = parts_of(root, variant, FileKind::file);
  parts.stamp = variant.of->stamp();
  parts.stamp.size = encoded.size();
  parts.body = encoded.size();
  EntryRef entry = FileEntry::make(std::move(parts));
  std::memcpy(entry.get()->body_room().data(), encoded.data(), encoded.size());
  return entry;
}

// Whether `known`, which is not what lies beside the file, is what would be made of it again.
bool still_good(const VariantToLoad& variant, const EntryRef& known) {
  if (!known || known->source() != variant.of->stamp()) return false;
  return known->kind() != FileKind::file || is_compressed(*known);
}

}  // namespace

std::string_view variant_name(std::string_view path, ContentCoding coding, message::Arena& arena) {
  return arena.join({path, std::string_view("\0", 1), message::to_string(coding)});
}

bool is_compressed(const FileEntry& variant) noexcept {
  return variant.kind() == FileKind::file && variant.stamp().inode == variant.source().inode;
}

util::Result<Refreshed> refresh_variant(const Keeping& keeping, const FileRoot& root, const VariantToLoad& variant,
                                        const EntryRef& known, std::uint64_t now_ms) {
  FileCache* files = keeping.files;
  if (files != nullptr) {
    EntryRef done = files->current(root.id, variant.name, now_ms);
    if (done && done.get() != known.get() && done->source() == variant.of->stamp())
      return Refreshed{std::move(done), CacheResult::hit};
  }
  const std::uint64_t epoch = files != nullptr ? files->epoch(root.id) : FileCache::kAnyEpoch;
  if (keeping.watcher != nullptr) keeping.watcher->watch(root, variant.path);
  util::Result<EntryRef> loaded = EntryRef();
  const auto renewed = [&] {
    if (files != nullptr) files->renew(*known, now_ms, epoch);
    return Refreshed{known, CacheResult::hit};
  };
  if (variant.beside) {
    util::Result<OpenedFile> opened = open_beside(root, variant);
    if (!opened) return util::Failure(opened.error());
    if (opened->kind == FileKind::file) {
      const bool same = known && known->stamp() == opened->stamp && known->source() == variant.of->stamp();
      if (same) return renewed();
      loaded = load_beside(root, variant, std::move(*opened));
    }
  }
  if (loaded && !*loaded && still_good(variant, known)) return renewed();
  if (loaded && !*loaded && variant.compression != nullptr) loaded = compress(root, variant);
  if (loaded && !*loaded) loaded = none(root, variant);
  if (!loaded) return util::Failure(loaded.error());
  const bool kept = files != nullptr && files->insert(*loaded, now_ms, epoch);
  return Refreshed{std::move(*loaded), kept ? CacheResult::miss : CacheResult::uncached};
}

}  // namespace pontage::cache
