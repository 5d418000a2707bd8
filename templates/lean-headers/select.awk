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
# names that macros could paste together of words.

FNR == 1 { files++ }

# A line of the index: umbrella, namespace ("-" if a source need not write it), name, kind, header.
# The kind is "full" if the header needs torch's own umbrella headers, "operators" if the header
# does without two large headers that it includes, or "other".
files == 1 {
    entries[++lines] = $0
    linesOf[$3] = linesOf[$3] " " lines
    kindOf[$5] = $4
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
        if (header == "torch/torch.h" || kindOf[header] == "umbrella") isTorch = 1
        if (kindOf[header] == "full") reason = "includes " header
    }
    # A macro may stand for a namespace.
    isMacro = /#[ \t]*define/
    if (/##/) isPasting = 1
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
                if (space != "") qualified[space "::" word[j]]
                if (opening > 0 || isMacro) opened[word[j]]
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

# Whether a name could be pasted together of words.
function isPasted(name, length_, begin, end, reached) {
    length_ = length(name)
    reached[0]
    for (end = 1; end <= length_; end++)
        for (begin = 0; begin < end; begin++)
            if (begin in reached && substr(name, begin + 1, end - begin) in used) {
                reached[end]
                break
            }
    return length_ in reached
}

# Keeps the reason that is first in the alphabet, so that the order of awk's arrays does not count.
function add(newReason) {
    if (reason == "" || newReason < reason) reason = newReason
}

END {
    if (!isTorch) {
        print "none"
        exit
    }
    if ("AT_PER_OPERATOR_HEADERS" in used) add("names AT_PER_OPERATOR_HEADERS")
    # Its value depends on the headers before.
    if ("__COUNTER__" in used) add("names __COUNTER__")
    if (isPasting) for (name in linesOf) if (!(name in used) && isPasted(name)) pasted[name]
    for (name in pasted) used[name]
    for (name in used) {
        # The compiler's intrinsics, which torch includes in one header.
        if (name ~ /^_+(MM|mm|m[0-9]|rdtsc)|INTRIN/) intrinsics = "c10/util/ApproximateClock.h"
        count = split(linesOf[name], numbers, " ")
        for (i = 1; i <= count; i++) {
            split(entries[numbers[i]], entry, " ")
            if (!isReached(entry[2], name) && !(name in pasted && entry[2] in used)) continue
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
