# Names that a shared library has (one on each line), then readelf's section groups and symbols of the static library of
# the same code -> assembly of an object that, linked before the latter, keeps out what the former has.
#
# An archive's member comes as a whole: taking one new function of it would bring a second copy of templates, vtables,
# locale ids and of the representation of empty strings, of which a process must have one. They lie in COMDAT groups, of
# which the linker takes the first and drops the others, whose symbols it then finds where it finds any other. So: an
# empty group for each group of which the shared library has everything.

# Remembers the groups of the member that just ended. A group that several members have is had once.
function finish(    group) {
    for (group in sections_of) {
        if (!(group in lacking)) lacking[group] = 0
        lacking[group] += missing[group]
        if (!(group in seen)) {
            seen[group] = 1
            order[++order_count] = group
        }
    }
    split("", sections_of)
    split("", group_of)
    split("", missing)
}

FNR == NR { shared[$1] = 1; next }

/^File: / { finish() }

# COMDAT group section [    1] `.group' [signature] contains 2 sections:
/^COMDAT group section/ {
    signature = $0
    sub(/^.*' \[/, "", signature)
    sub(/\] contains.*/, "", signature)
    sections_of[signature] = 1
    next
}
#    [   83]   .text._ZNSt...
/^ +\[ *[0-9]+\] +\./ {
    index_text = $0
    sub(/^ +\[ */, "", index_text)
    sub(/\].*/, "", index_text)
    group_of[index_text] = signature
    next
}
# Num: Value Size Type Bind Vis Ndx Name
$1 ~ /^[0-9]+:$/ && $5 != "LOCAL" && ($7 in group_of) && !($8 in shared) { missing[group_of[$7]] += 1 }

END {
    finish()
    for (i = 1; i <= order_count; i++) {
        # NB: every group needs its own section; a section of no bytes leaves nothing in what is linked.
        if (!lacking[order[i]]) printf ".section .shield.%d, \"G\", %%progbits, %s, comdat\n", i, order[i]
    }
    print ".section .note.GNU-stack, \"\", %progbits"
}
