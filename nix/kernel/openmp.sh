# Sourced by link.sh for objects that were compiled for OpenMP -> openmp: the functions of its
# runtime that the library may leave undefined. NB: the link adds no OpenMP runtime. The loader
# finds these functions where it finds torch's: in the libgomp that libtorch_cpu.so needs. The
# library must not name that one itself, since its name differs between wheels of torch:
# libgomp.so.1, or libgomp-<hash>.so.1.0.0 (for aarch64 up to 2.9). A process would get a second
# runtime by the other name, or fail to load. So their symbols have no version. Where there are
# several, a loader takes the oldest, and nested locks have another meaning since OpenMP 3: they
# belong to tasks, no longer to threads.
newer='function newer(a, b, n, i, left, right) {
    n = split(a, left, "."); split(b, right, ".")
    for (i = 1; i <= n; i++) if (left[i] + 0 != right[i] + 0) return left[i] + 0 > right[i] + 0
    return 0
}'
readelf --dyn-syms --wide "$libgomp" | awk -v limits="GOMP ${policy[GOMP]} OMP ${policy[OMP]}" "$newer"'
    BEGIN { split(limits, pairs, " "); limit[pairs[1]] = pairs[2]; limit[pairs[3]] = pairs[4] }
    $7 != "UND" && match($8, /@@G?OMP_[0-9.]+$/) {
        name = substr($8, 1, RSTART - 1)
        split(substr($8, RSTART + 2), version, "_")
        if (name !~ /_nest_lock_?$/ && !newer(version[2], limit[version[1]])) print name
    }' >openmp
