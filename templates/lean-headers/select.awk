# Selects the headers of torch that declare a name which a unit's text uses.
#
#     awk -f select.awk -v out=DIR INDEX FILE...
#
# INDEX is of make.py; FILEs are the unit's source and its author's headers. Prints one line:
#
#     none         if the text includes no umbrella header of torch
#     lean         after writing the headers that lean umbrella headers include to DIR, which exists
#     full REASON  if the unit needs torch's own umbrella headers
#
# Words of comments and literals count as names, and each branch of a conditional counts. So do
# names that the text's macros can paste together of its words.

FNR == 1 { files++ }

# A line of the index: umbrella, namespace ("-" if a source need not write it), name, kind, header.
# The kind is "full" if the header needs torch's own umbrella headers, "operators" if the header
# does without two large headers that it includes, or "other". Lines of kind "umbrella" are first,
# each umbrella after those that it reaches. The name of an alias of a namespace ends with "::".
files == 1 {
    entries[++lines] = $0
    linesOf[$3] = linesOf[$3] " " lines
    kindOf[$5] = $4
    if ($4 == "umbrella") rankOf[$1] = outermost = lines
    next
}

# Compilers join continued lines, also in the middle of a name.
{
    $0 = continued $0
    continued = ""
}

/\\[ \t\r]*$/ {
    sub(/\\[ \t\r]*$/, "")
    continued = $0
    next
}

{
    if (match($0, /#[ \t]*include[ \t]*[<"][^>"]+/)) {
        header = substr($0, RSTART, RLENGTH)
        sub(/^.*[<"]/, "", header)
        if (header == "torch/torch.h") header = "torch/all.h"
        if (kindOf[header] == "umbrella") {
            stem = header
            gsub(/^.*\/|\.h$/, "", stem)
            if (rankOf[stem] > rank) rank = rankOf[stem]
        } else if (kindOf[header] == "full") {
            reason = "includes " header
        } else if (header ~ /^torch\// && !(header in kindOf) && header !~ /^torch\/(csrc\/stable|headeronly)\//) {
            isUnknown = 1
        }
    } else if (/#[ \t]*include[ \t]+[A-Za-z_]|^-(-?include|imacros)/) {
        # The header that a macro or a flag names.
        isUnknown = 1
    }
    if (/#[ \t]*define[ \t]/ || /##/) readMacro($0)
    # Lists of tensors, and expressions that may ask whether `device_of` takes one.
    if (/TensorList|IListRef|(List|Ref|Vector|array|list|vector)[ \t]*<[^<>]*Tensor/) lists = 1
    if (/device_of/ && /declval|decltype|noexcept|requires|sizeof/) lists = 1
    gsub(/[ \t]*::[ \t]*/, "::")
    count = split($0, fields, /[^A-Za-z0-9_:]+/)
    for (at = 1; at <= count; at++) {
        if (fields[at] == "") continue
        parts = split(fields[at], names, "::")
        # A name may stand on the line after its namespace.
        space = names[1] == "" || isUnfinished ? last : ""
        for (i = 1; i <= parts; i++) {
            words = split(names[i], word, ":")
            for (j = 1; j <= words; j++) {
                if (word[j] == "") continue
                used[word[j]]
                if (space != "") {
                    qualified[space "::" word[j]]
                    used[space "::"]
                }
                if (opening > 0) open(word[j])
                last = space = word[j]
            }
        }
        isUnfinished = fields[at] ~ /::$/
        # `namespace a = b` and `using namespace a` open namespaces.
        opening = last == "namespace" ? 2 : opening - 1
    }
}

function isReached(space, name) {
    return space == "-" || (space in opened) || (space "::" name) in qualified
}

function open(space) {
    opened[space]
    used[space "::"]
}

# Notes what the macro of a line makes of words: names with `##`, and namespaces before other names.
function readMacro(line, parameters, isParameter, isDefinition, isSpace, end, words, count, i) {
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
    gsub(/[ \t]*##[ \t]*/, "##", line)
    gsub(/[ \t]*::/, "::", line)
    isDefinition = match(line, /#[ \t]*define[ \t]+[A-Za-z0-9_]+/)
    if (isDefinition) {
        line = substr(line, RSTART + RLENGTH)
        if (match(line, /^\([^)]*\)/)) {
            parameters = substr(line, 1, RLENGTH)
            line = substr(line, RLENGTH + 1)
            count = split(parameters, words, /[^A-Za-z0-9_]+/)
            for (i = 1; i <= count; i++) isParameter[words[i]]
        }
        # A macro that ends in a word may stand before `::`.
        end = line
        sub(/[ \t\r]*(\/\/.*)?$/, "", end)
        if (match(end, /(^|[^#A-Za-z0-9_])[A-Za-z0-9_]+$/)) line = end "::" substr(line, length(end) + 1)
        gsub(/::/, ":: ", line)
        count = split(line, words, /[^A-Za-z0-9_:]+/)
        for (i = 1; i <= count; i++) {
            isSpace = sub(/::$/, "", words[i])
            spaces[words[i]]
            if (!isSpace) continue
            if (words[i] in isParameter) isSpaceArgument = 1
            else open(words[i])
        }
    }
    while (match(line, /[A-Za-z0-9_]+(##[A-Za-z0-9_]+)+/)) {
        addPattern(substr(line, RSTART, RLENGTH), isParameter, isDefinition)
        line = substr(line, RSTART + RLENGTH)
    }
}

# Notes what a chain of `##` makes, as a pattern: `x##_t` is "* _t" if x is a parameter. Without the
# `#define`, which a comment of several lines may hide, each operand may be one.
function addPattern(chain, isParameter, isDefinition, operands, count, i, pattern) {
    count = split(chain, operands, "##")
    for (i = 1; i <= count; i++)
        pattern = pattern " " (isDefinition && !(operands[i] in isParameter) && operands[i] !~ /^__VA_/ ? operands[i] : "*")
    patterns[substr(pattern, 2)]
}

# Whether a pattern makes a name, with words of the text as its arguments, or nothing.
function isPasted(name, pattern) {
    for (pattern in patterns) if (isMade(name, pattern)) return 1
    return 0
}

function isMade(name, pattern, operand, rest, i) {
    if (pattern == "") return name == ""
    operand = pattern
    sub(/ .*/, "", operand)
    rest = substr(pattern, length(operand) + 2)
    if (operand != "*") return index(name, operand) == 1 && isMade(substr(name, length(operand) + 1), rest)
    for (i = 0; i <= length(name); i++)
        if ((i == 0 || substr(name, 1, i) in used) && isMade(substr(name, i + 1), rest)) return 1
    return 0
}

# Keeps the reason that is first in the alphabet, so that the order of awk's arrays does not count.
function add(newReason) {
    if (reason == "" || newReason < reason) reason = newReason
}

END {
    if (!rank) {
        print "none"
        exit
    }
    # Headers of ATen that are not of the index may include this one, those of torch every umbrella,
    # and so does torch/torch.h with this macro.
    if (rank < rankOf["ATen"]) rank = rankOf["ATen"]
    if (isUnknown || "TORCH_API_INCLUDE_EXTENSION_H" in used) rank = outermost
    if ("AT_PER_OPERATOR_HEADERS" in used) add("names AT_PER_OPERATOR_HEADERS")
    # Its value depends on the headers before.
    if ("__COUNTER__" in used) add("names __COUNTER__")
    if (isSpaceArgument) for (name in spaces) open(name)
    for (name in linesOf) if (!(name in used) && isPasted(name)) pasted[name]
    for (name in pasted) used[name]
    for (name in used) {
        # The compiler's intrinsics, which torch includes in one header.
        if (name ~ /^_+(MM|mm|m[0-9]|rdtsc)|INTRIN/) intrinsics = "c10/util/ApproximateClock.h"
        count = split(linesOf[name], numbers, " ")
        for (i = 1; i <= count; i++) {
            split(entries[numbers[i]], entry, " ")
            if (rankOf[entry[1]] > rank) continue
            if (!isReached(entry[2], name) && !(name in pasted && (entry[2] "::") in used)) continue
            wanted[numbers[i]]
            if (entry[4] == "full") add("names " (entry[2] == "-" ? "" : entry[2] "::") name " of " entry[5])
        }
    }
    if (reason != "") {
        print "full it " reason
        exit
    }
    printf "%s", lists ? "#define KERNEL_BUILDER_LISTS\n" : "" >(out "/lists.h")
    for (i = 1; i <= lines; i++) {
        split(entries[i], entry, " ")
        file = out "/" entry[1] ".h"
        if (entry[4] == "umbrella") print "#include <lean/always/" entry[1] ".h>" >file
        if (!(i in wanted || entry[5] == intrinsics) || entry[5] in included) continue
        included[entry[5]]
        if (entry[4] == "operators") print "#define KERNEL_BUILDER_OPERATORS" >file
        print "#include <" entry[5] ">" >file
        if (entry[4] == "operators") print "#undef KERNEL_BUILDER_OPERATORS" >file
    }
    print "lean"
}
