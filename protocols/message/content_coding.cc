#include "protocols/message/content_coding.h"

#include <array>

#include "protocols/wire/ascii.h"

namespace pontage::message {
namespace {

constexpr int kUnsaid = -1;  // no such element; otherwise a weight in thousandths

// RFC 9110 12.4.2: "0" or "1", with up to three decimals that for "1" are zeros.
std::optional<int> parse_qvalue(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int value = (text[0] - '0') * 1000;
  int scale = 100;
  for (std::size_t i = 2; i < text.size(); ++i, scale /= 10) {
    if (!wire::is_digit(text[i])) return std::nullopt;
    value += (text[i] - '0') * scale;
  }
  return value <= 1000 ? std::optional(value) : std::nullopt;
}

struct Element {
  std::string_view name;
  int weight = 1000;
};

// `name` or `name;q=0.5`, with OWS around the semicolon; nothing else may follow a coding.
std::optional<Element> parse_element(std::string_view text) noexcept {
  const auto semicolon = text.find(';');
  Element element{.name = wire::trim_ows(text.substr(0, semicolon))};
  if (!wire::is_token(element.name)) return std::nullopt;
  if (semicolon == std::string_view::npos) return element;
  const std::string_view weight = wire::trim_ows(text.substr(semicolon + 1));
  if (weight.size() < 2 || wire::to_lower(weight[0]) != 'q' || weight[1] != '=') return std::nullopt;
  const auto value = parse_qvalue(weight.substr(2));
  if (!value) return std::nullopt;
  element.weight = *value;
  return element;
}

// What the client said of each coding; of one said twice the first counts.
struct Wishes {
  std::array<int, kContentCodings> named{kUnsaid, kUnsaid, kUnsaid, kUnsaid};
  int rest = kUnsaid;  // "*"

  void note(std::string_view text) noexcept {
    const auto element = parse_element(text);
    if (!element) return;
    const auto coding = parse_content_coding(element->name);
    if (!coding && element->name != "*") return;
    int& weight = coding ? named[static_cast<std::size_t>(*coding)] : rest;
    if (weight == kUnsaid) weight = element->weight;
  }
  // 0 for what was neither named nor meant by "*": a coding is then not wanted, and identity is the last resort.
  int weight(ContentCoding coding) const noexcept {
    const int said = named[static_cast<std::size_t>(coding)];
    if (said != kUnsaid) return said;
    return rest == kUnsaid ? 0 : rest;
  }
};

}  // namespace

std::string_view to_string(ContentCoding coding) noexcept {
  switch (coding) {
    case ContentCoding::identity: return "identity";
    case ContentCoding::gzip: return "gzip";
    case ContentCoding::br: return "br";
    case ContentCoding::zstd: return "zstd";
  }
  return {};
}

std::optional<ContentCoding> parse_content_coding(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kContentCodings; ++i) {
    const auto coding = static_cast<ContentCoding>(i);
    if (wire::iequals(name, to_string(coding))) return coding;
  }
  return wire::iequals(name, "x-gzip") ? std::optional(ContentCoding::gzip) : std::nullopt;
}

ContentCoding choose_content_coding(const HeaderList& headers, std::span<const ContentCoding> offered) noexcept {
  Wishes wishes;
  bool asked = false;
  for (const auto& h : headers) {
    if (h.id != HeaderId::accept_encoding) continue;
    asked = true;
    wire::for_each_element(h.value, [&](std::string_view element) { wishes.note(element); });
  }
  if (!asked) return ContentCoding::identity;
  ContentCoding best = ContentCoding::identity;
  int weight = 0;
  for (const ContentCoding coding : offered) {
    if (wishes.weight(coding) <= weight) continue;
    best = coding;
    weight = wishes.weight(coding);
  }
  return weight >= wishes.weight(ContentCoding::identity) ? best : ContentCoding::identity;
}

}  // namespace pontage::message
