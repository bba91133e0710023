// What every decoder promises, whatever the protocol: the way the input was cut changes nothing, a message cut short is
// never taken for a whole one, limits and garbage are refused and stay refused. A protocol joins by adding its
// Subjects below and to the suites of decoder_contract_test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocols/wire/limits.h"

namespace pontage::contract {

struct Subject {
  std::string name;
  // Decodes a stream that arrives in these pieces and writes down everything that came out: same transcript, same
  // meaning. Adjoining body data is joined. After an error the transcript ends with "error: NAME".
  std::string (*transcript)(const std::vector<std::string_view>& pieces);
  std::vector<std::string> complete;    // streams that end exactly with a message's last byte
  std::vector<std::string> refused;     // malformed ones
  std::vector<std::string> over_limit;  // legal but for their size, under the limits that the transcript sets
  std::vector<std::string> words;       // from which garbage is made that comes close to the protocol
};

std::vector<Subject> http1_subjects();
std::vector<Subject> cgi_subjects();
std::vector<Subject> cgi_request_subjects();
std::vector<Subject> proxy_protocol_subjects();

// Small, so that the subjects' words meet every limit.
inline constexpr wire::HeadLimits kLimits{.request_line = 100, .header = 120, .headers = 300, .header_count = 6};

// A FastCGI record by hand.
inline std::string record(int type, std::string_view content, int padding = 0) {
  std::string out = std::string("\x01") + static_cast<char>(type) + std::string("\0\x01", 2);
  out += static_cast<char>(content.size() >> 8);
  out += static_cast<char>(content.size() & 0xff);
  out += static_cast<char>(padding);
  out += '\0';
  return out.append(content).append(static_cast<std::size_t>(padding), '\xee');
}

}  // namespace pontage::contract
