// Content types by file name: a table of our own for what sites are made of, and /etc/mime.types for the rest. Read
// once, then immutable; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pontage::handlers {

class MimeTypes {
 public:
  static constexpr const char* kSystemFile = "/etc/mime.types";
  static constexpr std::string_view kCharset = "utf-8";

  // `first` (by lower-case extension), then our own table, then the file's types. A file that is not
  // there, or lines that make no sense, add nothing. Text types without
  // parameters say `charset` unless it is empty.
  explicit MimeTypes(const std::string& file, std::string_view charset = kCharset,
                     const std::map<std::string, std::string>& first = {});
  // The process's table, made from /etc/mime.types at the first call.
  static const MimeTypes& system();

  // The Content-Type of `path` by the extension of its last component, in any case. Empty
  // when it is not known: no Content-Type is then sent, and the client decides (RFC 9110 8.3). Lives as long as the
  // table.
  std::string_view find(std::string_view path) const;

 private:
  void add(std::string_view extension, std::string_view type);
  void add_line(std::string_view line);
  std::string charset_;
  std::unordered_map<std::string, std::string> types_;  // by lower-case extension
};

}  // namespace pontage::handlers
