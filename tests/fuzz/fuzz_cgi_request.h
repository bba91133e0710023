// Any bytes as a request in CGI variables: whole and in pieces must give the same, body pieces must lie in the input,
// what is consumed must be bounded by it, and a head that is taken has variables that can be told apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocols/cgi/request_head.h"

namespace pontage {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string describe(const cgi::VariableList& variables, message::Arena& arena) {
  std::string text = "#head:";
  for (const auto& v : variables) {
    require(!v.name.empty() && variables.find(v.name) == &v);
    text.append(v.name).append("=").append(v.value).append(";");
  }
  message::RequestHead head;
  const auto error = cgi::read_request_head(variables, {}, arena, head);
  if (error) return text + std::string(to_string(*error));
  for (const auto& field : head.headers) text.append(field.name).append(":").append(field.value).append(";");
  return text + std::string(head.method_text) + " " + std::string(head.target_text) + " " + std::string(head.host);
}

template <class Decoder>
std::string run_cgi_request(std::string_view input, std::size_t piece) {
  Decoder decoder{wire::HeadLimits{}};
  message::Arena arena;
  cgi::VariableList variables(arena);
  std::string seen;
  while (!input.empty()) {
    auto part = input.substr(0, piece);
    input.remove_prefix(part.size());
    for (;;) {
      const auto step = decoder.decode(part, arena, variables);
      if (!step) return seen + "!" + std::string(to_string(step.error()));
      require(step->consumed <= part.size());
      if (step->event == cgi::RequestEvent::need_more) {
        require(step->consumed == part.size());
        break;
      }
      if (step->event == cgi::RequestEvent::body) {
        require(!step->data.empty() && step->data.data() >= part.data());
        require(step->data.data() + step->data.size() == part.data() + step->consumed);
        seen += step->data;
      }
      if (step->event == cgi::RequestEvent::head) seen += describe(variables, arena);
      if (step->event == cgi::RequestEvent::end) seen += "#end";
      if (step->event == cgi::RequestEvent::aborted) seen += "#aborted";
      part.remove_prefix(step->consumed);
    }
  }
  return seen;
}

template <class Decoder>
void fuzz_cgi_request(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const std::size_t piece = 1 + data[0];
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = run_cgi_request<Decoder>(input, input.size() + 1);
  require(whole == run_cgi_request<Decoder>(input, piece));
  require(whole == run_cgi_request<Decoder>(input, 1));
}

}  // namespace pontage
