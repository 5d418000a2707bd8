# The dynamic symbols of a shared library, as readelf lists them, -> assembly and version scripts of its stubs.
# Variables: soname; limits ("GLIBC 2.28 GLIBCXX 3.4.24"); dir, which gets
#   within/<soname>.s, .map, .names   the newest version of each symbol that keeps the limits. A symbol that lived in
#                                     another library then goes to the stub of that one.
#   beyond/<soname>.s, .map           symbols that have none, with the oldest version that they have.

# -1, 0 or 1, as version a is older than b, the same or newer.
function compare(a, b,    left, right, count, i) {
    count = split(a, left, ".")
    if (split(b, right, ".") > count) count = split(b, right, ".")
    for (i = 1; i <= count; i++) {
        if (left[i] + 0 != right[i] + 0) return left[i] + 0 < right[i] + 0 ? -1 : 1
    }
    return 0
}

# Whether the limits allow a version. A family without a limit is free; a version without a number (CXXABI_TM_1) says
# nothing of its age, so it is not allowed.
function allowed(version,    family, number) {
    family = version
    sub(/_.*/, "", family)
    number = substr(version, length(family) + 2)
    if (!(family in limit)) return 1
    return number ~ /^[0-9.]+$/ && compare(number, limit[family]) <= 0
}

function number_of(version) {
    sub(/^[^_]*_/, "", version)
    return version ~ /^[0-9.]+$/ ? version : "0"
}

# Where glibc had a symbol before libc.so.6 took it in. Each got a new version when it moved (most in 2.34), so this is
# asked only for symbols with an older version within the limits and a newer one beyond them.
function former_home(name) {
    if (soname != "libc.so.6") return soname
    if (name ~ /^_*(pthread|sem)_/ || name ~ /^(call_once$|cnd_|mtx_|thrd_|tss_)/) return "libpthread.so.0"
    if (name ~ /^dl/) return "libdl.so.2"
    if (name ~ /^_*(aio|clock|lio|mq|shm|timer)_/) return "librt.so.1"
    if (name ~ /^(forkpty|login|login_tty|logout|logwtmp|openpty)$/) return "libutil.so.1"
    if (name ~ /^(gai_|getaddrinfo_a$)/) return "libanl.so.1"
    if (name ~ /^ns_/) return "libresolv.so.2"
    return soname
}

# One more symbol of a stub.
function define(stub, name, version) {
    if (!(stub in nodes)) stubs[++stub_count] = stub
    if (!((stub, version) in members)) nodes[stub] = nodes[stub] " " version
    members[stub, version] = members[stub, version] " " name ";"
    if (type[name] ~ /FUNC$/) {
        printf ".text\n.globl %s\n.type %s, %%function\n%s: .byte 0\n", name, name, name >(dir "/" stub ".s")
    } else {
        printf "%s\n.globl %s\n.type %s, %%%s\n.size %s, %s\n%s: .zero %s\n",
            type[name] == "TLS" ? ".section .tbss, \"awT\", %nobits" : ".bss", name, name,
            type[name] == "TLS" ? "tls_object" : "object", name, size[name], name, size[name] >(dir "/" stub ".s")
    }
    if (stub ~ /^within/) print name >(dir "/" stub ".names")
}

BEGIN {
    count = split(limits, words, " ")
    for (i = 1; i < count; i += 2) limit[words[i]] = words[i + 1]
}

# Num: Value Size Type Bind Vis Ndx Name@Version; the version nodes themselves are absolute.
$1 ~ /^[0-9]+:$/ && $5 != "LOCAL" && $7 != "UND" && $7 != "ABS" && $8 ~ /@/ {
    name = version = $8
    sub(/@.*/, "", name)
    sub(/.*@/, "", version)
    if (version ~ /_PRIVATE$/) next
    if (!(name in type)) names[++name_count] = name
    type[name] = $4
    size[name] = $3 == "0" ? 1 : $3
    # Without a default version ("@@") a symbol is there for old programs only: nothing links with it.
    if ($8 ~ /@@/) linkable[name] = 1
    if (!allowed(version)) {
        newer[name] = 1
        if (!(name in oldest) || compare(number_of(version), number_of(oldest[name])) < 0) oldest[name] = version
    } else if (!(name in newest) || compare(number_of(version), number_of(newest[name])) > 0) {
        newest[name] = version
    }
}

END {
    for (i = 1; i <= name_count; i++) {
        name = names[i]
        if (!(name in linkable)) continue
        if (!(name in newest)) define("beyond/" soname, name, oldest[name])
        else define("within/" (name in newer ? former_home(name) : soname), name, newest[name])
    }
    for (i = 1; i <= stub_count; i++) {
        print ".section .note.GNU-stack, \"\", %progbits" >(dir "/" stubs[i] ".s")
        count = split(nodes[stubs[i]], versions, " ")
        for (j = 1; j <= count; j++) {
            print versions[j] " { global:" members[stubs[i], versions[j]] " };" >(dir "/" stubs[i] ".map")
        }
    }
}
