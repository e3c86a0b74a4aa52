"""A module includes what its row of the table in CMakeLists.txt names, and nothing else.

The rule: itself, base, and exactly its DEPS (what a dependency depends on is not passed on); the
headers of a package only where the row's PKG names it; threads and the operating system only where
the module's job is to touch them. A header that no list here knows is refused, so that a new one
is a decision."""

import os
import re

from source import Finding, files, sources

# Headers of the packages that PKG may name, by pkg-config name. A trailing slash: a directory.
PACKAGE_HEADERS = {
    "libxxhash": ["xxhash.h"],
    "mimalloc": ["mimalloc.h"],
    "libpcre2-8": ["pcre2.h"],
    "libutf8proc": ["utf8proc.h"],
    "sqlite3": ["sqlite3.h"],
    "libzstd": ["zstd.h", "zstd_errors.h"],
    "jansson": ["jansson.h"],
    "libfyaml": ["libfyaml.h"],
    "openssl": ["openssl/"],
    "libwebsockets": ["libwebsockets.h"],
    "libcurl": ["curl/"],
    "libuv": ["uv.h", "uv/"],
    "libpq": ["libpq-fe.h", "libpq/"],
    "libnats": ["nats/"],
    "rdkafka": ["librdkafka/"],
    "sybdb": ["sybdb.h", "sybfront.h"],
    "grpc": ["grpc/"],
    "libprotobuf-c": ["protobuf-c/", "google/protobuf-c/"],
}

EVERYWHERE = set(
    "ctype.h errno.h float.h inttypes.h limits.h math.h stdalign.h stdarg.h stdatomic.h stdbool.h "
    "stddef.h stdint.h stdio.h stdlib.h string.h strings.h "
    "immintrin.h x86intrin.h nmmintrin.h emmintrin.h arm_neon.h arm_acle.h".split()
)

# These compute: they are given a clock and called by a thread, and know nothing of either.
PURE = set("text column expr format state flow sql graph engine connect".split())
THREAD_HEADERS = set("pthread.h threads.h semaphore.h sched.h".split())

# Only these meet the operating system; the others go through base/seam.h.
SYSTEM_MODULES = set("base task api host".split())
SYSTEM_HEADERS = set(
    "dirent.h fcntl.h getopt.h locale.h netdb.h poll.h pwd.h signal.h time.h unistd.h".split()
)
SYSTEM_DIRECTORIES = ("sys/", "netinet/", "arpa/", "net/", "linux/")

# Headers outside src/ (include/streamsforge) and who may include them.
PUBLIC_HEADERS = {"engine"}

# The command line runs queries in process: the engine library, and what reads and writes rows.
CLI_MODULES = set(
    "base text column expr format state flow sql graph engine connect".split()
)


def module_table(root):
    """{module: (dependencies, packages, line)} from the sf_module calls of CMakeLists.txt."""
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
        text = re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), file.read())
    table = {}
    for match in re.finditer(r"\bsf_module\s*\(([^)]*)\)", text):
        words = match[1].split()
        rows = {"DEPS": [], "PKG": []}
        key = None
        for word in words[1:]:
            if word in rows:
                key = word
            else:
                rows[key].append(word)
        line = text.count("\n", 0, match.start()) + 1
        table[words[0]] = (set(rows["DEPS"]) | {"base"}, set(rows["PKG"]), line)
    return table


def package_of(header):
    for package, names in PACKAGE_HEADERS.items():
        for name in names:
            if header == name or (name.endswith("/") and header.startswith(name)):
                return package
    return None


def system_refusal(module, packages, header):
    """Why this module may not include <header>, or None."""
    if header in EVERYWHERE:
        return None
    package = package_of(header)
    if package:
        if package in packages:
            return None
        return f"{module} may not use {package}: its row in CMakeLists.txt does not name it"
    if header in THREAD_HEADERS:
        return f"{module} computes and owns no threads" if module in PURE else None
    if header in SYSTEM_HEADERS or header.startswith(SYSTEM_DIRECTORIES):
        if module in SYSTEM_MODULES:
            return None
        return f"{module} meets the operating system only through base/seam.h"
    return "this header is in no list of tests/tidy/layers.py"


def check_file(root, source, module, modules, packages):
    for line, opening, header in source.includes():

        def finding(message):
            return Finding(source.path, line, "layers", f'"{header}": {message}')

        first, slash, _ = header.partition("/")
        is_ours = opening == '"' or os.path.exists(os.path.join(root, "src", header))
        if first == "streamsforge" and slash:
            if not PUBLIC_HEADERS & (modules | {module}):
                yield finding(f"{module} is below the library that this header describes")
        elif not is_ours:
            refusal = system_refusal(module, packages, header)
            if refusal:
                yield finding(refusal)
        elif not slash or ".." in header.split("/"):
            yield finding('write it as "module/header.h"')
        elif first not in modules | {module}:
            yield finding(f"{module} may not include {first}: its row names {names(modules)}")


def names(modules):
    return ", ".join(sorted(modules))


def check(root):
    table = module_table(root)
    findings = []
    for module, (dependencies, _, line) in table.items():
        for name in sorted(dependencies - set(table)):
            findings.append(
                Finding("CMakeLists.txt", line, "layers", f"{module} names {name}: no such module")
            )
    for source in sources(root, ["src"]):
        module = source.path.split(os.sep)[1]
        if module not in table:
            findings.append(Finding(source.path, 1, "layers", f"{module} has no row in CMakeLists.txt"))
            continue
        dependencies, packages, _ = table[module]
        findings += check_file(root, source, module, dependencies, packages)
    for source in sources(root, ["cli"]):
        findings += cli_findings(root, source)
    return findings


def cli_findings(root, source):
    """The command line may use any package and the system, but only the engine side of src/."""
    for line, opening, header in source.includes():
        first, slash, _ = header.partition("/")
        if opening == '"' and slash and first not in CLI_MODULES | {"cli", "streamsforge"}:
            message = f'"{header}": cli speaks to a server only through its public interface'
            yield Finding(source.path, line, "layers", message)


def check_unused(root):
    """A header or table file that nothing includes is dead."""
    included = set()
    for source in sources(root, ["src", "include", "cli", "tests", "bench"], (".c", ".h", ".def")):
        included.update(header for _, _, header in source.includes())
    for path in files(root, ["src", "cli"], (".h", ".def", ".inc")):
        name = path[len("src/") :] if path.startswith("src" + os.sep) else path
        if name not in included:
            yield Finding(path, 1, "unused", "no file includes it")


def check_packages(root):
    """Every package of the module table can be installed: it has its line in packages.txt."""
    known = set()
    with open(os.path.join(root, "scripts", "packages.txt"), encoding="utf-8") as file:
        for text in file:
            words = text.split("#")[0].split()
            if len(words) == 3 and words[0] == "run":
                known.add(words[2])
    for module, (_, packages, line) in module_table(root).items():
        for package in sorted(packages - known):
            message = f"{module} needs {package}, which scripts/packages.txt does not install"
            yield Finding("CMakeLists.txt", line, "packages", message)
