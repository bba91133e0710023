// Any bytes as an SCGI gateway's request; see fuzz_cgi_request.h.
#include "protocols/scgi/request_decoder.h"
#include "tests/fuzz/fuzz_cgi_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pontage::fuzz_cgi_request<pontage::scgi::RequestDecoder>(data, size);
  return 0;
}
