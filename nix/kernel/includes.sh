# Sourced where sources are compiled: do the files still include what they did when build.nix was
# generated? Otherwise one that is missing here would be searched for further on, and another of its
# name be found. $digest is of the source. $headers, unless it is empty, has a line `<digest> <file
# of the store> <path>` for each header. src/scan/includes.rs makes the digests of the same lines;
# tests/include_lines.rs compares the two.
files=("./$source")
recorded=("$digest")
[ -z "$headers" ] || while read -r digest _ path; do
    recorded+=("$digest")
    files+=("./$path")
done <"$headers"
mkdir ../includes
# Each file's lines -> ../includes/<its number>.
LC_ALL=C awk '
    function keep() {
        at = match(line, /#|%:/)
        if (at && substr(line, at) ~ /include|import|embed/ || line ~ /__has_include|\.incbin|_EXTENSION|_EXPAND|TORCH_LIBRARY|USE_|Py_LIMITED_API/) {
            sub(/[ \t\r\f]+$/, "", line)
            print line >out
        }
        line = ""
    }
    BEGIN { for (i = 1; i < ARGC; i++) printf "" >("../includes/" (i - 1)) }
    FNR == 1 {
        if (out) { keep(); close(out) }
        while (ARGV[++number] != FILENAME) { }
        out = "../includes/" (number - 1)
    }
    {
        continued = match($0, /\\[ \t\r\f]*$/)
        line = line (continued ? substr($0, 1, RSTART - 1) : $0)
        if (!continued) keep()
    }
    END { if (out) keep() }' "${files[@]}"
numbers=("${!files[@]}")
i=0
while read -r digest _; do
    [ "${digest:0:16}" = "${recorded[i]}" ] ||
        fail "${files[i]#./} includes or registers other things than when build.nix was generated: run \`kernel-builder generate\` in the kernel's folder"
    i=$((i + 1))
done < <(cd ../includes && sha256sum "${numbers[@]}")
[ "$i" -eq ${#files[@]} ] || fail "cannot read what the files include"
