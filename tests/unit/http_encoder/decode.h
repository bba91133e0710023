// Decompressors for tests: what a client would make of a compressed stream, from the libraries' own decoders.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include "protocols/message/content_coding.h"

namespace pontage::testing {

struct Decoded {
  std::string text;     // everything that can be had from the bytes
  bool ended = false;   // the stream's end was seen, and nothing stood behind it
  bool broken = false;  // the bytes are no such stream
};

inline Decoded decode_gzip(std::string_view bytes) {
  Decoded decoded;
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(bytes.size());
  std::vector<char> room(65536);
  for (;;) {
    stream.next_out = reinterpret_cast<unsigned char*>(room.data());
    stream.avail_out = static_cast<unsigned>(room.size());
    const int result = inflate(&stream, Z_SYNC_FLUSH);
    decoded.text.append(room.data(), room.size() - stream.avail_out);
    decoded.ended = result == Z_STREAM_END && stream.avail_in == 0;
    decoded.broken = result != Z_OK && result != Z_BUF_ERROR && !decoded.ended;
    if (result != Z_OK || (stream.avail_in == 0 && stream.avail_out != 0)) break;
  }
  inflateEnd(&stream);
  return decoded;
}

inline Decoded decode_brotli(std::string_view bytes) {
  Decoded decoded;
  BrotliDecoderState* state = BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
  std::size_t in = bytes.size();
  const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::vector<std::uint8_t> room(65536);
  for (;;) {
    std::size_t left = room.size();
    std::uint8_t* to = room.data();
    const auto result = BrotliDecoderDecompressStream(state, &in, &from, &left, &to, nullptr);
    decoded.text.append(reinterpret_cast<const char*>(room.data()), room.size() - left);
    decoded.ended = result == BROTLI_DECODER_RESULT_SUCCESS && in == 0;
    decoded.broken = result == BROTLI_DECODER_RESULT_ERROR || (result == BROTLI_DECODER_RESULT_SUCCESS && in != 0);
    const bool more = result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT || BrotliDecoderHasMoreOutput(state);
    if (!more || decoded.broken) break;
  }
  BrotliDecoderDestroyInstance(state);
  return decoded;
}

inline Decoded decode_zstd(std::string_view bytes) {
  Decoded decoded;
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::vector<char> room(131072);
  for (;;) {
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    const std::size_t result = ZSTD_decompressStream(context, &out, &in);
    decoded.text.append(room.data(), out.pos);
    decoded.broken = ZSTD_isError(result) != 0 || (result == 0 && in.pos != in.size);
    decoded.ended = result == 0 && in.pos == in.size && in.size != 0;
    if (decoded.broken || decoded.ended || (in.pos == in.size && out.pos < out.size)) break;
  }
  ZSTD_freeDCtx(context);
  return decoded;
}

inline Decoded decode(message::ContentCoding coding, std::string_view bytes) {
  switch (coding) {
    case message::ContentCoding::identity: return {.text = std::string(bytes), .ended = true};
    case message::ContentCoding::gzip: return decode_gzip(bytes);
    case message::ContentCoding::br: return decode_brotli(bytes);
    case message::ContentCoding::zstd: return decode_zstd(bytes);
  }
  return {};
}

// The same bytes for the same arguments, everywhere.
inline std::string random_bytes(std::size_t size, std::uint32_t seed = 1) {
  std::string bytes;
  bytes.reserve(size);
  for (std::uint64_t x = seed; bytes.size() < size;) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    bytes.push_back(static_cast<char>(x >> 56));
  }
  return bytes;
}
inline std::string words(std::size_t size, std::uint32_t seed = 1) {
  static constexpr std::string_view kWords[] = {"bridge ",  "toll ", "{\"id\": ", "crossing\n", "river, ", "</div>\n",
                                                "class=\"", "the ",  "of ",       "fee ",       "and ",    "ferry "};
  std::string text;
  text.reserve(size + 32);
  const std::string choice = random_bytes(4096, seed);
  for (std::size_t i = 0; text.size() < size; ++i) {
    const auto pick = static_cast<unsigned char>(choice[i % choice.size()]);
    text += kWords[pick % std::size(kWords)];
    if (pick % 5 == 0) text += std::to_string(i);
  }
  text.resize(size);
  return text;
}

}  // namespace pontage::testing
