// Question: the harmless request that a server is asked with, made of the first route that leads to its backend, so
// that the server gets what a client's request through that route would bring. Pure; control thread.
#pragma once

#include <string>
#include <string_view>

#include "protocols/message/arena.h"
#include "src/config/config.h"

namespace pontage::probe {

struct Question {
  std::string host;          // of Host, with a port when it is the server's own
  std::string path;          // as a client would ask for it
  std::string forward_path;  // after the route's rewrite
  std::vector<config::HeaderEdit> request_headers;
};

// `path`: instead of the route's, with a query if need be; empty: the route's. A regular expression names no path: "/"
// is asked for. A path that the route's rewrite refuses is asked for as it is.
Question question_for(const config::Config& config, const config::Backend& backend, const config::ServerUrl& url,
                      std::string_view path);

}  // namespace pontage::probe
