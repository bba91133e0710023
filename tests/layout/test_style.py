"""What no compiler tells: sizes, header comments, and expressions that g++ 12 compiles wrong."""
import re

from floors import ROOT, tracked

MAX_LINES = 400


def sources():
    return [p for p in tracked("*.h", "*.cc") if p.relative_to(ROOT).parts[0] in ("src", "protocols", "tests")]


def awaiting_sources():
    """All but the canary, which shows the compiler's fault on purpose."""
    return [p for p in sources() if p.name != "compiler_canary_test.cc"]


def strip_comments_and_texts(text):
    """The code alone, with line breaks kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0]) if match[0].startswith("/") else '""'
    return re.sub(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|'(?:\\.|[^'\\\n])'|"(?:\\.|[^"\\\n])*\"""",
                  blank, text, flags=re.S)


def test_files_are_short():
    long = [f"{p.relative_to(ROOT)}: {n} lines" for p in sources()
            if (n := len(p.read_text(errors="replace").splitlines())) > MAX_LINES]
    assert not long, "\n" + "\n".join(long)


def test_headers_open_with_a_comment_and_are_read_once():
    wrong = [str(p.relative_to(ROOT)) for p in sources() if p.suffix == ".h"
             and not (p.read_text().startswith(("//", "/*")) and "#pragma once" in p.read_text())]
    assert not wrong, "\n" + "\n".join(wrong)


def test_nothing_is_left_undone():
    words = re.compile(r"\bTODO\b|\bFIXME\b|//.*\b(not (yet )?implemented|stub)\b")
    wrong = [f"{p.relative_to(ROOT)}:{n}: {line.strip()}" for p in sources()
             for n, line in enumerate(p.read_text(errors="replace").splitlines(), 1) if words.search(line)]
    assert not wrong, "\n" + "\n".join(wrong)


def test_no_temporary_is_made_inside_an_awaiting_expression():
    """g++ 12.2 destroys twice a brace-initialised aggregate temporary, or a capturing lambda, in an expression that awaits.

    Name the object first.
    """
    bad = re.compile(
        # f(a, {...}); a span's {&first, count} has nothing to destroy
        r"(?:[(,]\s*\{(?!\s*\}|\s*&\w+,\s*\w+\s*\}))"
        r"|(?:\b(?:[a-z_]+::)*[A-Z]\w*(?:<[^;{}()]*>)?\{)"  # Type{...}
        r"|(?:\[\s*[&=\w][^\]\n]*\]\s*(?:\([^)]*\)\s*)?(?:mutable\s*)?(?:->\s*[^{]+)?\{)")  # a lambda that captures
    wrong = []
    for path in awaiting_sources():
        code = strip_comments_and_texts(path.read_text(errors="replace"))
        for match in re.finditer(r"\bco_await\b", code):
            begin = max(code.rfind(c, 0, match.start()) for c in ";{}") + 1
            # The rest of the statement: up to `;`, or to a brace that opens a block.
            depth, end = 0, match.end()
            while end < len(code):
                c = code[end]
                if c in "({[":
                    if c == "{" and depth == 0 and code[:end].rstrip().endswith(")"):
                        break
                    depth += 1
                elif c in ")}]":
                    depth -= 1
                    if depth < -1:
                        break
                elif c == ";" and depth <= 0:
                    break
                end += 1
            statement = code[begin:end]
            if bad.search(statement):
                line = code.count("\n", 0, match.start()) + 1
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {' '.join(statement.split())[:140]}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_no_condition_chooses_between_awaits():
    """g++ 12.2 destroys the temporaries of `a ? co_await f() : co_await g()` wrongly once one of them suspends.

    Choose the task first and await it, or write if and else.
    """
    wrong = []
    for path in awaiting_sources():
        code = strip_comments_and_texts(path.read_text(errors="replace"))
        for match in re.finditer(r"[?:]\s*co_await\b", code):
            begin = max(code.rfind(c, 0, match.start()) for c in ";{}") + 1
            if "?" in code[begin:match.end()]:
                line = code.count("\n", 0, match.end()) + 1
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {' '.join(code[begin:match.end() + 60].split())[:140]}")
    assert not wrong, "\n" + "\n".join(wrong)
