// Any bytes as a FastCGI gateway's records; see fuzz_cgi_request.h.
#include "protocols/fastcgi/request_decoder.h"
#include "tests/fuzz/fuzz_cgi_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pontage::fuzz_cgi_request<pontage::fastcgi::RequestDecoder>(data, size);
  return 0;
}
