"""The same conditional, range and encoding requests to nginx and to Pontage over the same files; every difference is explained
in DIFFERENCES, and an explanation that explains nothing fails the test."""
import gzip
import itertools
import os
import re

import pytest

from harness import Client

MODIFIED = 784111777  # Sun, 06 Nov 1994 08:49:37 GMT
EXACT, OLDER, NEWER = (f"Sun, 06 Nov 1994 08:49:{s} GMT" for s in (37, 36, 38))
DATES = {"exact": EXACT, "older": OLDER, "newer": NEWER, "garbage": "yesterday", "rfc850": "Sunday, 06-Nov-94 08:49:37 GMT"}
TEXT = b"".join(b"%06d a line of text\n" % i for i in range(2000))
FILES = {"empty.txt": b"", "ten.txt": b"0123456789", "text.txt": TEXT, "packed.txt": TEXT}


def tags(etag):
    """Entity-tags by name; the current one is the server's own."""
    return {"current": etag, "weak": "W/" + etag, "other": '"other"', "list": f'"a", {etag}, "b"', "star": "*", "listw": f'"a", W/{etag}',
            "bad": "unquoted"}


TAGS = ("current", "weak", "other", "list", "star", "listw", "bad")
RANGES = ("bytes=0-0", "bytes=0-", "bytes=-3", "bytes=2-5", "bytes=9-9", "bytes=10-", "bytes=50000-60000", "bytes=5-2", "bytes=-0", "bytes=",
          "bytes=a-b", "lines=1-2", "bytes=0-1,4-5", "bytes=0-4,3-7", "bytes=0-1,100000-", "bytes=100000-,200000-", "bytes=0-0,-1", "bytes=-100000",
          "bytes=0-99999999999999999999", "bytes=99999999999999999999-", "BYTES=0-1")
ENCODINGS = ("gzip", "gzip;q=0", "gzip;q=0.001", "identity", "*", "*;q=0", "br", "deflate, gzip;q=1.0, *;q=0.5", "gzip;q=2", "x-gzip", "")


def requests():
    """(method, file, {field: value}); values in braces are filled in for each server."""
    for method, name in itertools.product(("GET", "HEAD"), ("ten.txt", "empty.txt")):
        yield method, name, {}
        for tag in TAGS:
            yield method, name, {"If-None-Match": f"{{{tag}}}"}
            yield method, name, {"If-Match": f"{{{tag}}}"}
        for date in DATES:
            yield method, name, {"If-Modified-Since": f"{{{date}}}"}
            yield method, name, {"If-Unmodified-Since": f"{{{date}}}"}
    for method, tag, date in itertools.product(("GET", "HEAD"), TAGS[:4], ("exact", "older", "newer")):
        yield method, "ten.txt", {"If-None-Match": f"{{{tag}}}", "If-Modified-Since": f"{{{date}}}"}
        yield method, "ten.txt", {"If-Match": f"{{{tag}}}", "If-Unmodified-Since": f"{{{date}}}"}
        yield method, "ten.txt", {"If-Match": f"{{{tag}}}", "If-None-Match": "{other}", "If-Modified-Since": f"{{{date}}}"}
    for method, name, value in itertools.product(("GET", "HEAD"), ("ten.txt", "empty.txt", "text.txt"), RANGES):
        yield method, name, {"Range": value}
    for tag, value in itertools.product(("current", "weak", "other", "exact", "older", "newer", "garbage"), ("bytes=2-5", "bytes=50000-", "bytes=0-1,4-5")):
        yield "GET", "ten.txt", {"Range": value, "If-Range": f"{{{tag}}}"}
        yield "GET", "ten.txt", {"Range": value, "If-Range": f"{{{tag}}}", "If-None-Match": "{current}"}
    for method, name, value in itertools.product(("GET", "HEAD"), ("ten.txt", "text.txt", "packed.txt"), ENCODINGS):
        yield method, name, {"Accept-Encoding": value}
        if method == "GET":
            yield method, name, {"Accept-Encoding": value, "Range": "bytes=2-5"}
            yield method, name, {"Accept-Encoding": value, "If-None-Match": "{current}"}
            yield method, name, {"Accept-Encoding": value, "If-Modified-Since": "{exact}"}


class Case:
    def __init__(self, method, name, fields):
        self.method, self.name, self.fields = method, name, fields

    def __getattr__(self, name):
        return self.fields.get(name.replace("_", "-").title())

    def __repr__(self):
        return f"{self.method} {self.name} {self.fields}"


def ask(client, case, prefix, etags):
    known = {**DATES, **tags(etags[case.name])}
    fields = {n: re.sub(r"\{(\w+)\}", lambda m: known[m[1]], v) for n, v in case.fields.items()}
    response = client.request(case.method, prefix + case.name, headers=fields)
    kind = response.header("Content-Type") or ""
    body = response.body
    if kind.startswith("multipart/"):
        kind = "multipart"
        body = b"".join(re.findall(rb"\r\n\r\n(.*?)\r\n--", body, re.S))
    elif response.header("Content-Encoding") == "gzip" and response.status == 200 and case.method == "GET":
        body = gzip.decompress(body)
    if response.status >= 400 or response.status == 304:
        kind, body = "", b""
    return {"status": response.status, "range": response.header("Content-Range"), "coding": response.header("Content-Encoding"),
            "multipart": kind == "multipart", "body": body}


# What differs, when, and why ours is right: the first entry that applies explains a difference.
DIFFERENCES = []


def differs(reason):
    def add(function):
        DIFFERENCES.append((function, reason))
        return function
    return add


@differs("A date later than the file's says `not modified` (RFC 9110 13.1.3); nginx compares for equality unless told `before`.")
def later_date(case, theirs, ours):
    return case.if_modified_since == "{newer}" and not case.if_none_match and (theirs["status"], ours["status"]) == (200, 304)


@differs("What is no date is ignored (RFC 9110 13.1.4); nginx takes it for a date long ago.")
def no_date(case, theirs, ours):
    return case.if_unmodified_since == "{garbage}" and (theirs["status"], ours["status"]) == (412, 200)


@differs("If-None-Match alone decides when it is there (RFC 9110 13.2.2, step 3); nginx wants both to say so.")
def none_match_first(case, theirs, ours):
    return bool(case.if_none_match and case.if_modified_since) and (theirs["status"], ours["status"]) == (200, 304)


@differs("If-Match alone decides when it is there (RFC 9110 13.2.2, step 1); nginx wants both to say so.")
def match_first(case, theirs, ours):
    return bool(case.if_match and case.if_unmodified_since) and (theirs["status"], ours["status"]) == (412, 200)


@differs("Ranges are defined for GET alone (RFC 9110 14.2).")
def ranges_of_head(case, theirs, ours):
    return case.method == "HEAD" and bool(case.range) and theirs["status"] in (206, 416) and ours["status"] == 200


@differs("A Range that is not well-formed is ignored (RFC 9110 14.2).")
def malformed_range(case, theirs, ours):
    return case.range in ("bytes=5-2", "bytes=a-b", "bytes=") and (theirs["status"], ours["status"]) == (416, 200)


@differs("A last position of any size means the end (RFC 9110 14.1.2); nginx refuses numbers beyond 64 bits.")
def huge_last_position(case, theirs, ours):
    return case.range == "bytes=0-99999999999999999999" and (theirs["status"], ours["status"]) == (416, 206)


@differs("No first position is within an empty file, and an empty suffix asks for nothing (RFC 9110 14.1.2): 416; nginx sends the whole.")
def empty_file(case, theirs, ours):
    return case.name == "empty.txt" and bool(case.range) and (theirs["status"], ours["status"]) == (200, 416)


@differs("Parts that overlap or touch are sent once (RFC 9110 14.2, 15.3.7.2 lets a server coalesce); nginx sends them twice.")
def coalesced(case, theirs, ours):
    return bool(case.range) and "," in case.range and theirs["multipart"] and not ours["multipart"] and ours["status"] == 206


@differs("A coding has an entity-tag of its own (RFC 9110 8.8.3.3), so the tag of the plain file does not match it; nginx weakens the same tag.")
def tag_of_the_coding(case, theirs, ours):
    return case.if_none_match == "{current}" and bool(case.accept_encoding) and (theirs["status"], ours["status"], ours["coding"]) == (304, 200, "gzip")


@differs("A file packed in advance has ranges of its own; nginx drops the Range.")
def range_of_the_packed_file(case, theirs, ours):
    return case.name == "packed.txt" and case.range == "bytes=2-5" and ours["status"] == 206 and ours["coding"] == "gzip"


@differs("A Range is served from the plain file when the compressed bytes are made while sending; nginx drops the Range and compresses.")
def range_of_the_plain_file(case, theirs, ours):
    return case.name == "text.txt" and bool(case.range) and (theirs["status"], theirs["coding"], ours["status"], ours["coding"]) == (200, "gzip", 206, None)


@differs("`*` and `x-gzip` stand for gzip, too (RFC 9110 12.5.3, 8.4.1.3); nginx looks for the word gzip.")
def other_names_of_gzip(case, theirs, ours):
    return case.accept_encoding in ("*", "x-gzip") and theirs["coding"] is None and ours["coding"] == "gzip"


@pytest.fixture(scope="module")
def both(tmp_path_factory, nginx):
    from harness import Gateway
    root = nginx.folder / "www" / "same"
    root.mkdir(exist_ok=True)
    for name, data in FILES.items():
        (root / name).write_bytes(data)
    (root / "packed.txt.gz").write_bytes(gzip.compress(TEXT))
    for path in root.iterdir():
        os.utime(path, (MODIFIED, MODIFIED))
    gateway = Gateway(tmp_path_factory.mktemp("files"), {"routes": [
        {"files": {"root": str(nginx.folder / "www"), "precompressed": ["gzip"]}, "compress": {"codings": ["gzip"], "min_size": "20B"}}]})
    yield ("127.0.0.1", nginx.port), gateway.address
    gateway.stop()


def compare(both):
    found = []
    etags = []
    for address in both:
        with Client(address) as client:
            etags.append({name: client.request("GET", "/same/" + name).header("ETag") for name in FILES})
    for method, name, fields in requests():
        case = Case(method, name, fields)
        answers = []
        for address, known in zip(both, etags):
            with Client(address) as client:
                answers.append(ask(client, case, "/same/", known))
        found.append((case, *answers))
    return found


def test_nginx_and_pontage_differ_only_where_we_say_why(both):
    found = compare(both)
    assert len(found) >= 500
    used, unexplained = set(), []
    for case, theirs, ours in found:
        if theirs == ours:
            continue
        for index, (applies, _) in enumerate(DIFFERENCES):
            if applies(case, theirs, ours):
                used.add(index)
                break
        else:
            short = lambda a: {**a, "body": a["body"][:20]}
            unexplained.append(f"{case}\n  nginx   {short(theirs)}\n  pontage {short(ours)}")
    assert not unexplained, f"{len(unexplained)} of {len(found)}:\n" + "\n".join(unexplained)
    assert used == set(range(len(DIFFERENCES))), [reason for i, (_, reason) in enumerate(DIFFERENCES) if i not in used]
