#include "src/http/header_edit.h"

#include "protocols/wire/ascii.h"

namespace pontage::http {

void apply_header_edits(message::HeaderList& headers, const std::vector<config::HeaderEdit>& edits) {
  using Kind = config::HeaderEdit::Kind;
  for (const auto& edit : edits) {
    if (edit.kind != Kind::add) {
      headers.remove_if([&](const message::Header& h) { return wire::iequals(h.name, edit.name); });
    }
    if (edit.kind != Kind::remove) headers.add(edit.name, edit.value);
  }
}

}  // namespace pontage::http
