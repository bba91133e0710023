// What `pontage origin` was told on its command line, or a test wants of it. Plain values; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pontage::origin {

struct OriginOptions {
  std::vector<std::string> http;  // bind texts, see net::Address::from_bind; with all empty: 127.0.0.1:0 of each
  std::vector<std::string> ajp;
  std::vector<std::string> fastcgi;
  std::vector<std::string> scgi;
  std::vector<std::string> uwsgi;
  std::string route;               // suffix of the session ids that /session gives; empty: none
  std::string secret;              // what AJP requests must carry; empty: anything goes
  std::size_t packet_size = 8192;  // of AJP, bytes; both ends must be set alike (ADAPTERS A2)
  int threads = 1;                 // 1..64
  int ready_fd = -1;               // gets the listeners' lines once they accept, then is closed; -1: none
};

}  // namespace pontage::origin
