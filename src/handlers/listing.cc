#include "src/handlers/listing.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "protocols/wire/ascii.h"
#include "src/cache/safe_open.h"

namespace pontage::handlers {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

util::Failure failure(int os_error) {
  switch (os_error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM: return util::fail(util::ErrorKind::overload, util::Source::gateway, "open folder", os_error);
    case EIO: return util::fail(util::ErrorKind::io, util::Source::gateway, "open folder", os_error);
    default: return util::fail(util::ErrorKind::closed, util::Source::gateway, "open folder", os_error);
  }
}

// Dot-files are hidden everywhere, but for /.well-known (RFC 8615).
bool is_hidden(std::string_view name, std::string_view folder) noexcept {
  return name.starts_with('.') && !(folder.empty() && name == ".well-known");
}

// What a request for the name would find. O_PATH: nothing is opened for it, so a fifo does not wait and a device does
// nothing; links are followed as far as the root's policy allows.
bool inspect(const cache::FileRoot& root, int directory, std::string_view path, ListedName& entry) {
  const cache::OpenedFd opened = cache::open_below(directory, path, O_PATH, root.links, root.resolver);
  struct stat st {};
  if (!opened || ::fstat(opened->get(), &st) != 0) return false;
  entry.folder = S_ISDIR(st.st_mode);
  entry.size = static_cast<std::uint64_t>(std::max<off_t>(st.st_size, 0));
  entry.modified_seconds = st.st_mtim.tv_sec;
  if (entry.folder) return true;
  const std::string self = "/proc/self/fd/" + std::to_string(opened->get());
  return S_ISREG(st.st_mode) && ::access(self.c_str(), R_OK) == 0;
}

bool before(const ListedName& a, const ListedName& b) noexcept {
  if (a.folder != b.folder) return a.folder;
  return a.name < b.name;
}

// Text between tags and in attributes; bytes that are no UTF-8 are left to the browser, which shows U+FFFD.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

// One segment of a path, percent-encoded once; "./" in front keeps "a:b" from being read as a scheme.
std::string href(const ListedName& entry) {
  constexpr std::string_view kPlain = "-._~!$()*+,=@";
  std::string out = "./";
  for (const char c : entry.name) {
    if (wire::is_alpha(c) || wire::is_digit(c) || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  if (entry.folder) out += '/';
  return out;
}

std::string shown_time(std::int64_t seconds, const char* format) {
  const std::time_t time = seconds;
  std::tm parts{};
  std::array<char, 40> room;
  if (::gmtime_r(&time, &parts) == nullptr) return {};
  return {room.data(), std::strftime(room.data(), room.size(), format, &parts)};
}

std::string shown_size(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 "
    "1rem;color:#222;background:#fff}"
    "h1{font-size:1.2rem;overflow-wrap:anywhere}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #ddd}"
    "td:first-child{overflow-wrap:anywhere}td+td,th+th{white-space:nowrap;text-align:right;color:#666}a{color:#05c}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#8bf}th,td{border-color:#444}"
    "td+td,th+th{color:#999}}";

double quality(std::string_view parameters) noexcept {
  const std::size_t at = parameters.find("q=");
  if (at == std::string_view::npos) return 1;
  const std::string_view text = parameters.substr(at + 2);
  if (text.starts_with('1')) return 1;
  double value = 0;
  double digit = 0.1;
  for (const char c : text.substr(std::min<std::size_t>(text.size(), 2)).substr(0, 3)) {
    if (!wire::is_digit(c)) break;
    value += digit * (c - '0');
    digit /= 10;
  }
  return value;
}

}  // namespace

util::Result<Listing> read_listing(const cache::FileRoot& root, std::string_view folder) {
  const cache::OpenedFd base = cache::open_root(root.directory);
  if (!base) return failure(base.error());
  cache::OpenedFd opened =
      cache::open_below(base->get(), folder, O_RDONLY | O_DIRECTORY | O_NONBLOCK, root.links, root.resolver);
  if (!opened) return failure(opened.error());
  const Directory directory(::fdopendir(opened->get()));
  if (!directory) return failure(errno);
  opened->release();
  Listing listing;
  while (const dirent* found = ::readdir(directory.get())) {
    ListedName entry;
    entry.name = found->d_name;
    if (is_hidden(entry.name, folder)) continue;
    const std::string path = folder.empty() ? entry.name : std::string(folder) + "/" + entry.name;
    if (!inspect(root, base->get(), path, entry)) continue;
    if (listing.names.size() == kMostListed) {
      listing.cut = true;
      break;
    }
    listing.names.push_back(std::move(entry));
  }
  std::sort(listing.names.begin(), listing.names.end(), before);
  return listing;
}

bool prefers_json(const message::HeaderList& headers) noexcept {
  double json = 0;
  double html = 0;
  double any = 0;
  for (const message::Header& h : headers) {
    if (h.id != message::HeaderId::accept) continue;
    wire::for_each_element(h.value, [&](std::string_view element) {
      const std::size_t semicolon = element.find(';');
      const std::string_view type = wire::trim_ows(element.substr(0, semicolon));
      const double q = semicolon == std::string_view::npos ? 1 : quality(element.substr(semicolon));
      if (wire::iequals(type, "application/json")) json = q;
      if (wire::iequals(type, "text/html")) html = q;
      if (type == "*/*") any = q;
    });
  }
  return json > std::max(html, any);
}

std::string listing_page(const Listing& listing, std::string_view path) {
  const std::string title = escaped(path);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{1}</style></head>\n<body><h1>{0}</h1>\n"
      "<table><thead><tr><th>Name</th><th>Size</th><th>Modified (UTC)</th></tr></thead><tbody>\n",
      title, kStyle);
  if (path != "/") page += "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n";
  for (const ListedName& entry : listing.names) {
    page +=
        fmt::format("<tr><td><a href=\"{}\">{}{}</a></td><td>{}</td><td>{}</td></tr>\n", href(entry),
                    escaped(entry.name), entry.folder ? "/" : "", entry.folder ? std::string() : shown_size(entry.size),
                    shown_time(entry.modified_seconds, "%Y-%m-%d %H:%M"));
  }
  page += "</tbody></table>";
  if (listing.cut) page += fmt::format("<p>Only {} names are shown.</p>", kMostListed);
  return page + "</body></html>\n";
}

std::string listing_json(const Listing& listing) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const ListedName& entry : listing.names) {
    nlohmann::ordered_json one = {{"name", entry.name}, {"type", entry.folder ? "directory" : "file"}};
    one["mtime"] = shown_time(entry.modified_seconds, "%Y-%m-%dT%H:%M:%SZ");
    if (!entry.folder) one["size"] = entry.size;
    names.push_back(std::move(one));
  }
  return names.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pontage::handlers
