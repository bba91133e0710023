// Content types by file name: a table of our own for what sites are made of, and /etc/mime.types for the rest. Read
// once, then immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace pontage::handlers {

class MimeTypes {
 public:
  // Our own table, and below it the file's types. A file that is not there, or lines that make no sense, add nothing.
  explicit MimeTypes(const std::string& file);
  // The process's table, made from /etc/mime.types at the first call.
  static const MimeTypes& system();

  // The Content-Type of `path` by the extension of its last component, in any case; text types say charset=utf-8. Empty
  // when it is not known: no Content-Type is then sent, and the client decides (RFC 9110 8.3). Lives as long as the
  // table.
  std::string_view find(std::string_view path) const;

 private:
  void add_line(std::string_view line);
  std::unordered_map<std::string, std::string> types_;  // by lower-case extension
};

}  // namespace pontage::handlers
