// What a files:-route says of its files, made ready: where they are, what is looked for, and what their heads say.
// Made at config load, then immutable; shared by the handler and its look-ups under way (a shared_ptr, because those
// may outlive the route). Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/message/arena.h"
#include "src/cache/file_entry.h"
#include "src/cache/open_file.h"
#include "src/config/config.h"
#include "src/handlers/mime.h"

namespace pontage::handlers {

// One entry of `try:`.
struct Candidate {
  enum class Kind : std::uint8_t {
    file,    // a file of that name
    folder,  // the index of that folder
    status,  // an error
  };
  Kind kind = Kind::file;
  std::string front;  // what stands before the path asked for, without the slash in front
  std::string back;   // and behind it
  bool uses_path = false;
  int status = 0;

  // The name below the root; a view of `path`, of this, or of the arena.
  std::string_view name_for(std::string_view path, message::Arena& arena) const;
};

class FilesPolicy {
 public:
  // `id` is distinct for every files:-route that ever shares one cache, across reloads.
  FilesPolicy(const config::FilesAction& action, const config::Compression& compression, std::uint32_t id,
              cache::Resolver resolver = cache::Resolver::kernel);

  const cache::FileRoot& root() const noexcept { return root_; }
  const config::FilesAction& action() const noexcept { return action_; }
  const config::Compression& compression() const noexcept { return compression_; }
  const std::vector<Candidate>& candidates() const noexcept { return candidates_; }
  // The path below the root of the file sent with an error `status`; empty: there is none.
  std::string_view error_file(int status) const noexcept;

  // What the head of the file `path` (decoded, relative) says. Views of this.
  cache::Presentation shown(std::string_view path) const;
  // Seconds from now that Expires says of `path`; -1: nothing.
  std::int64_t expires_after(std::string_view path) const;
  bool says_expires() const noexcept { return says_expires_; }  // of any file
  // Whether there is more to an answer than the file itself: codings, Expires, error files.
  bool chooses() const noexcept { return !all_codings_.empty() || says_expires_ || !action_.error_files.empty(); }

  // Codings that a file beside the one asked for may have, in order of preference.
  std::span<const message::ContentCoding> precompressed() const noexcept { return action_.precompressed; }
  // Those, and after them the ones that only compression gives.
  std::span<const message::ContentCoding> all_codings() const noexcept { return all_codings_; }
  bool is_precompressed(message::ContentCoding coding) const noexcept;
  // Whether a file of this type and size is worth compressing.
  bool compresses(std::string_view content_type, std::uint64_t size) const noexcept;
  bool compresses(message::ContentCoding coding) const noexcept;

 private:
  struct Rule {
    std::string path;  // as in CacheRule, without the slash in front
    std::string type;
    std::string value;
    std::int64_t expires = -1;  // seconds
  };
  const Rule* rule_for(std::string_view path, std::string_view content_type) const noexcept;
  bool compressible(std::string_view content_type) const noexcept;

  config::FilesAction action_;
  config::Compression compression_;
  cache::FileRoot root_;
  std::unique_ptr<const MimeTypes> own_types_;
  const MimeTypes* types_;
  std::vector<Candidate> candidates_;
  std::vector<Rule> rules_;
  std::vector<message::ContentCoding> all_codings_;
  bool says_expires_ = false;
};

}  // namespace pontage::handlers
