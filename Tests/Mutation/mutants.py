"""Finds the mutants in the sources, and writes sources that contain all of them, each behind a switch."""

import hashlib
import re

# The code that replaces each of these. Operators must have spaces around them, so that generics are not changed.
OPERATORS = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+",
}
OPERATOR = re.compile(r"(?<= )(?<!func )(==|!=|<=|>=|<|>|&&|\|\||\+|-)(?= )")
NEGATION = re.compile(r"(?<=[ (,])!(?=[\w(])")
BOOLEAN = re.compile(r"\b(true|false)\b")
EXTREME = re.compile(r"(?<![\w.])(min|max)(?=\()")
# An integer, but no part of a name, of a fraction, or of a tuple's member.
INTEGER = re.compile(r"(?<![\w$])(?<![\w)\]?!]\.)\d\w*(?!\w)(?!\.\d)")

# Statements that can be removed. A declaration is kept, because later lines use its name.
KEYWORD = (r"(?:if|guard|return|switch|while|for|let|var|case|func|init|self\.init|precondition"
           r"|public|package|private|static)\b")
CALL = re.compile(rf"^(try |await |_ = )*(?!{KEYWORD})[a-z_][\w.?!\[\]]*\(.*\)( \{{ .* \}})?$")
ASSIGNMENT = re.compile(rf"^(?!{KEYWORD})[\w\[(][\w.\[\](), ?!]* [-+|^&]?= [^=].*$")
CONDITION = re.compile(r"^(?:\} else )?if ()(?=.*\{)")
GUARD = re.compile(r"^guard (?!.*\b(?:let|var|case)\b)(.*) else \{")
DEFER = re.compile(r"^defer \{ (.*) \}$")

SUPPORT = """// Made by Tests/Mutation/run.
import Glibc

nonisolated(unsafe) private let reached: UnsafeMutablePointer<UInt8>? = {
    guard let path = getenv("MUTANT_HITS") else { return nil }
    let file = open(path, O_RDWR | O_CLOEXEC)
    defer { close(file) }
    let map = mmap(nil, {size}, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    return map == MAP_FAILED ? nil : map?.assumingMemoryBound(to: UInt8.self)
}()
private let chosen = getenv("MUTANT").flatMap { Int(String(cString: $0)) }

public func isMutant(_ number: Int) -> Bool {
    reached?[number] = 1
    return number == chosen
}
"""


def masked(text):
    """The text, with each character of its comments and strings blanked, also of the code inside strings."""
    out, i = list(text), 0

    def blank(begin, end):
        for position in range(begin, min(end, len(out))):
            if out[position] != "\n":
                out[position] = "\0"

    def end_of_string(i):
        opening = re.compile(r'(#*)("""|")').match(text, i)
        hashes, quote = opening[1], opening[2]
        i = opening.end()
        while i < len(text):
            if text.startswith(quote + hashes, i):
                return i + len(quote + hashes)
            if text.startswith("\\" + hashes + "(", i):
                i, depth = i + 2 + len(hashes), 1
                while depth and i < len(text):
                    if text[i] == '"':
                        i = end_of_string(i)
                        continue
                    depth += {"(": 1, ")": -1}.get(text[i], 0)
                    i += 1
            else:
                i += 2 if text[i] == "\\" and not hashes else 1
        return i

    while i < len(text):
        if text.startswith("//", i):
            end = text.find("\n", i)
        elif text.startswith("/*", i):
            end = text.find("*/", i) + 2
        elif re.compile(r'#*"').match(text, i):
            end = end_of_string(i)
        else:
            i += 1
            continue
        blank(i, end if end > 0 else len(text))
        i = end if end > 0 else len(text)
    return "".join(out)


class Mutant:
    """One change of a line. `edits(n)` are its replacements (begin, end, text), if its switch is number n."""

    def __init__(self, path, line, before, after, edits, declaration=None, is_removal=False):
        self.path, self.line, self.before, self.after = path, line, before.strip(), after.strip() or "(removed)"
        self.edits, self.declaration, self.is_removal = edits, declaration, is_removal
        self.is_change = False
        self.id = hashlib.sha256("\0".join([path, str(line), before, after]).encode()).hexdigest()[:16]

    def __str__(self):
        return f"{self.path}:{self.line}: {self.before}  =>  {self.after}"


def mutants_of(path, text):
    """The mutants of a file, in the order of its lines."""
    initializer = None
    for number, (line, code) in enumerate(zip(text.split("\n"), masked(text).split("\n")), 1):
        if re.match(r"^\s*(@|(public |internal |package )?import |#)", code):
            continue
        indent = len(code) - len(code.lstrip())
        if re.match(r"^\s*((public|package|private|internal|convenience) )*init[?(<]", code) and code.endswith("{"):
            initializer = indent
        elif initializer is not None and indent == initializer and code.strip() == "}":
            initializer = None
        yield from replacements(path, number, line, code)
        yield from removals(path, number, line, code, indent, initializer is not None)


def replacements(path, number, line, code):
    def mutant(found, new, edit, declaration=None):
        after = line[: found.start()] + new + line[found.end() :]
        begin, end = found.span()
        return Mutant(path, number, line, after, lambda n: [(begin, end, edit(n))], declaration)

    for found in OPERATOR.finditer(code):
        # Texts and arrays have no `-`.
        if found[0] == "+" and (code[: found.start()].rstrip()[-1:] in ("", "\0", "]") or code[found.end() + 1] in "\0["):
            continue
        old, new, is_nil = found[0], OPERATORS[found[0]], code.startswith(" nil", found.end())
        yield mutant(found, new, symbol, lambda n, a=old, b=new, is_nil=is_nil: operator(n, a, b, is_nil))
    for found in NEGATION.finditer(code):
        yield mutant(found, "", symbol, lambda n: f"prefix operator {symbol(n)}\n"
                     f"public prefix func {symbol(n)} (a: Bool) -> Bool {{ isMutant({n}) == a }}\n")
    for found in BOOLEAN.finditer(code):
        new = "false" if found[0] == "true" else "true"
        yield mutant(found, new, lambda n, a=found[0], b=new: f"(isMutant({n}) ? {b} : {a})")
    for found in EXTREME.finditer(code):
        old, new = found[0], "max" if found[0] == "min" else "min"
        yield mutant(found, new, lambda n, a=old: f"{a}{n}", lambda n, a=old, b=new:
                     f"public func {a}{n}<T: Comparable>(_ a: T, _ b: T) -> T "
                     f"{{ isMutant({n}) ? Swift.{b}(a, b) : Swift.{a}(a, b) }}\n")
    for found in INTEGER.finditer(code):
        try:
            new = str(int(found[0].replace("_", ""), 0) + 1)
        except ValueError:
            continue
        yield mutant(found, new, lambda n, a=found[0], b=new: f"(isMutant({n}) ? {b} : {a})")


def removals(path, number, line, code, indent, is_in_initializer):
    statement = code.strip()
    is_balanced = all(code.count(a) == code.count(b) for a, b in ("()", "[]", "{}"))

    def mutant(after, *edits):
        return Mutant(path, number, line, after, lambda n: [(a, b, text.replace("#", str(n))) for a, b, text in edits],
                      is_removal=True)

    if found := CONDITION.match(statement):
        at = indent + found.start(1)
        yield mutant(line[:at] + "false, " + line[at:], (at, at, "!isMutant(#), "))
    elif found := GUARD.match(statement):
        parts = [(indent + a, indent + b) for a, b in parts_of(statement, *found.span(1))]
        yield mutant("(guard removed) " + line.strip(), *((a, a, "(isMutant(#) ? true : (") for a, _ in parts),
                     *((b, b, "))") for _, b in parts))
    elif found := is_balanced and DEFER.match(statement):
        begin, end = indent + found.start(1), indent + found.end(1)
        yield mutant("", (begin, begin, "if !isMutant(#) { "), (end, end, " }"))
    elif is_balanced and "logger." not in statement and (
        CALL.match(statement) or (ASSIGNMENT.match(statement) and not is_in_initializer)
    ):
        end = indent + len(statement)
        yield mutant("", (indent, indent, "if !isMutant(#) { "), (end, end, " }"))


def parts_of(code, begin, end):
    """The conditions between commas."""
    depth, start = 0, begin
    for i in range(begin, end):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[i], 0)
        if code[i] == "," and depth == 0:
            yield start, i
            start = i + 2
    yield start, end


def symbol(number):
    """An operator of its own for each mutant, so that nobody needs to know where the operands begin and end."""
    return "\u2295" + chr(0x2500 + number // 64 % 64) + chr(0x2500 + number % 64)


def operator(n, old, new, is_nil):
    name = symbol(n)
    if old in ("&&", "||"):
        group, body = "Conjunction" if old == "&&" else "Disjunction", (
            f"(a: Bool, b: @autoclosure () throws -> Bool) rethrows -> Bool "
            f"{{ isMutant({n}) ? try (a {new} b()) : try (a {old} b()) }}\n")
        return f"infix operator {name}: Logical{group}Precedence\npublic func {name} {body}"
    if old in ("+", "-"):
        return (f"infix operator {name}: AdditionPrecedence\npublic func {name} <T: AdditiveArithmetic>(a: T, b: T) -> T "
                f"{{ isMutant({n}) ? a {new} b : a {old} b }}\n")
    parameters = "<T>(a: T?, b: _OptionalNilComparisonType)" if is_nil else (
        f"<T: {'Equatable' if old in ('==', '!=') else 'Comparable'}>(a: T, b: T)")
    return (f"infix operator {name}: ComparisonPrecedence\npublic func {name} {parameters} -> Bool "
            f"{{ isMutant({n}) ? a {new} b : a {old} b }}\n")


def change(path, number, text, before, after):
    """The mutant that replaces an expression, which occurs once in a line, or removes a statement."""
    line = text.split("\n")[number - 1]
    if line.count(before) != 1:
        raise ValueError(f"expected '{before}' once in line {number} of {path}: {line.strip()}")
    begin, end = line.index(before), line.index(before) + len(before)

    def edits(n):
        if after:
            return [(begin, end, f"(isMutant({n}) ? {after} : {before})")]
        return [(begin, begin, f"if !isMutant({n}) {{ "), (end, end, " }")]
    mutant = Mutant(path, number, line, line[:begin] + after + line[end:], edits)
    mutant.is_change = True
    return mutant


def with_switches(text, mutants):
    """The text of a file with its mutants, given with their numbers. Each line stays on its line."""
    lines = text.split("\n")
    edits = {}
    for number, mutant in mutants:
        edits.setdefault(mutant.line, []).extend(mutant.edits(number))
    for number, changes in edits.items():
        line, out, position = lines[number - 1], "", 0
        # The outer one first where two begin at the same place.
        for begin, end, new in sorted(changes, key=lambda edit: (edit[0], edit[1])):
            if begin < position:
                raise ValueError(f"two changes overlap in the line: {line.strip()}")
            out, position = out + line[position:begin] + new, end
        lines[number - 1] = out + line[position:]
    return "\n".join(lines)


def support(mutants, size):
    """The file that a module gets in addition: the switch, and the operators of its mutants."""
    declared = (mutant.declaration(number) for number, mutant in mutants if mutant.declaration)
    return SUPPORT.replace("{size}", str(size)) + "\n" + "".join(declared)
