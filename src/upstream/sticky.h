// Session stickiness: which server a request's session id names (ADAPTERS L5, L6). Pure; any thread.
#pragma once

#include <string_view>

#include "protocols/message/head.h"
#include "src/config/config.h"

namespace pontage::upstream {

// Calls `each(route)` for every route suffix (the text after the first '.') of the session ids in the request, path
// parameters of any segment first, then every cookie of that name in all Cookie fields, quotes stripped. Stops when
// `each` returns true.
template <class F>
void for_each_route(const config::Sticky& sticky, const message::RequestHead& request, F&& each);

namespace detail {
// The value of the next `;name=value` in `path` from `from` on; npos-sized when there is none. Moves `from` past it.
bool next_path_parameter(std::string_view path, std::string_view name, std::size_t& from,
                         std::string_view& value) noexcept;
// The same for `name=value` pairs of a Cookie field.
bool next_cookie(std::string_view field, std::string_view name, std::size_t& from, std::string_view& value) noexcept;
// The route in a session id; empty when there is none.
std::string_view route_of(std::string_view session_id) noexcept;
}  // namespace detail

template <class F>
void for_each_route(const config::Sticky& sticky, const message::RequestHead& request, F&& each) {
  std::string_view value;
  if (!sticky.path_parameter.empty()) {
    for (std::size_t from = 0;
         detail::next_path_parameter(request.target.raw_path, sticky.path_parameter, from, value);) {
      const auto route = detail::route_of(value);
      if (!route.empty() && each(route)) return;
    }
  }
  if (sticky.cookie.empty()) return;
  for (const auto& header : request.headers) {
    if (header.id != message::HeaderId::cookie) continue;
    for (std::size_t from = 0; detail::next_cookie(header.value, sticky.cookie, from, value);) {
      const auto route = detail::route_of(value);
      if (!route.empty() && each(route)) return;
    }
  }
}

}  // namespace pontage::upstream
