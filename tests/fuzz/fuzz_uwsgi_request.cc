// Any bytes as a uwsgi gateway's request; see fuzz_cgi_request.h.
#include "protocols/uwsgi/request_decoder.h"
#include "tests/fuzz/fuzz_cgi_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pontage::fuzz_cgi_request<pontage::uwsgi::RequestDecoder>(data, size);
  return 0;
}
