// What is known about one file: its stamp, its head ready to be sent, and its bytes or an open descriptor. Also the
// lack of a file, a refusal, or a directory, so that those are remembered, too. Made whole by load.h, then immutable
// (but for the cache's bookkeeping) and shared by all workers through a count; what it hands out lives as long as the
// holder's EntryRef. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "protocols/message/header.h"
#include "src/util/intrusive_list.h"
#include "src/util/unique_fd.h"

namespace pontage::cache {

// Bodies up to this size are kept in memory and leave with their head in one call; above it sendfile is cheaper
// (PERF.md 0.3).
inline constexpr std::uint64_t kMemoryBody = 12 * 1024;

enum class FileKind : std::uint8_t {
  file,
  directory,
  missing,    // nothing there, nothing that may be served, or outside the root: 404
  forbidden,  // there, but not readable for us: 403
};

// Two equal stamps mean the same bytes.
struct Stamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

// What the head says of a file beside its validators and its length. Empty: nothing is said.
struct Presentation {
  enum class Vary : std::uint8_t { no, accept_encoding };
  std::string_view content_type;
  std::string_view cache_control;
  std::string_view content_encoding;  // of an encoded variant; its bytes are not those of the name
  Vary vary = Vary::no;
};

class EntryRef;

class FileEntry : public util::ListHook {
 public:
  struct Parts {
    std::uint32_t root = 0;  // FileRoot::id
    std::string_view path;   // decoded, relative to the root
    FileKind kind = FileKind::missing;
    Stamp stamp;                   // of a file; its size is the body's
    Stamp source;                  // of a variant: the stamp of the file it encodes
    Presentation shown;            // of a file
    std::int64_t now_seconds = 0;  // a later Last-Modified is never claimed (RFC 9110 8.8.2.1)
    std::size_t body = 0;          // bytes to make room for; filled through body_room() before the entry is shared
    util::UniqueFd file;           // instead of a body
  };
  // Throws std::bad_alloc.
  static EntryRef make(Parts parts);

  std::uint32_t root() const noexcept { return root_; }
  std::string_view path() const noexcept { return {storage(), path_size_}; }
  FileKind kind() const noexcept { return kind_; }
  const Stamp& stamp() const noexcept { return stamp_; }
  const Stamp& source() const noexcept { return source_; }
  std::uint64_t size() const noexcept { return stamp_.size; }

  // The fields of a 200 as HTTP/1 lines, Content-Length last, each ended by CRLF; the body follows in memory when there
  // is one.
  std::string_view prepared() const noexcept { return {text(), text_size_}; }
  // How much of the front of prepared() a 304 carries (RFC 9110 15.4.5): validators, Cache-Control and Vary.
  std::size_t not_modified_size() const noexcept { return not_modified_size_; }
  // The same fields as places in that text, without Content-Length.
  struct Field {
    message::HeaderId id = message::HeaderId::unknown;
    std::uint16_t at = 0;
    std::uint16_t size = 0;
    std::string_view value(std::string_view prepared) const noexcept { return prepared.substr(at, size); }
  };
  static constexpr std::size_t kFields = 7;
  std::span<const Field> fields() const noexcept { return {fields_.data(), field_count_}; }
  // The value of a field above; empty when there is none.
  std::string_view value(message::HeaderId id) const noexcept;
  std::int64_t modified_seconds() const noexcept {
    return modified_seconds_;
  }  // what Last-Modified says; 0: it is not sent

  bool in_memory() const noexcept { return file_.get() < 0; }
  std::string_view body() const noexcept { return {text() + text_size_, body_size_}; }
  std::span<char> body_room() noexcept { return {storage() + path_size_ + text_size_, body_size_}; }
  int descriptor() const noexcept { return file_.get(); }  // -1 when in memory

  // Bytes this entry takes, its place in a table included.
  std::size_t memory() const noexcept;

  // Belongs to FileCache. What only its lock guards is plain.
  struct Bookkeeping {
    std::atomic<std::uint64_t> valid_until{0};  // milliseconds
    std::atomic<std::uint64_t> looked_at{0};    // when the descriptor was last compared with the stamp
    std::atomic<bool> rechecking{false};        // someone looks at the file already
    std::uint64_t hash = 0;
    std::uint64_t cost = 0;
    bool touched = false;
    bool proven = false;  // in the queue of those asked for more than once
  };
  mutable Bookkeeping cache;

 private:
  friend class EntryRef;
  FileEntry(const Parts& parts, std::size_t text_size) noexcept;
  ~FileEntry() = default;
  void release() noexcept;

  char* storage() noexcept { return reinterpret_cast<char*>(this + 1); }
  const char* storage() const noexcept { return reinterpret_cast<const char*>(this + 1); }
  const char* text() const noexcept { return storage() + path_size_; }

  std::atomic<std::uint32_t> uses_{1};
  std::uint32_t root_;
  std::uint32_t path_size_;
  std::uint32_t text_size_;
  std::uint32_t body_size_;
  std::uint32_t not_modified_size_ = 0;
  FileKind kind_;
  std::uint8_t field_count_ = 0;
  std::array<Field, kFields> fields_{};
  Stamp stamp_;
  Stamp source_;
  std::int64_t modified_seconds_ = 0;
  util::UniqueFd file_;
};

// Keeps an entry alive. Copies count; the last one out frees the memory and closes the descriptor.
class EntryRef {
 public:
  EntryRef() noexcept = default;
  EntryRef(const EntryRef& other) noexcept : entry_(other.entry_) {
    if (entry_ != nullptr) entry_->uses_.fetch_add(1, std::memory_order_relaxed);
  }
  EntryRef(EntryRef&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  EntryRef& operator=(EntryRef other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~EntryRef() {
    if (entry_ != nullptr) entry_->release();
  }

  FileEntry* get() const noexcept { return entry_; }
  const FileEntry* operator->() const noexcept { return entry_; }
  const FileEntry& operator*() const noexcept { return *entry_; }
  explicit operator bool() const noexcept { return entry_ != nullptr; }

 private:
  friend class FileEntry;
  explicit EntryRef(FileEntry* made) noexcept : entry_(made) {}
  FileEntry* entry_ = nullptr;
};

}  // namespace pontage::cache
