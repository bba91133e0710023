// One constructor for each library's encoder: called by ContentEncoder::make alone. nullptr: no memory.
#pragma once

#include "src/http/encoder.h"

namespace pontage::http {

ContentEncoder* new_gzip_encoder() noexcept;
ContentEncoder* new_brotli_encoder() noexcept;
ContentEncoder* new_zstd_encoder() noexcept;

}  // namespace pontage::http
