# Paths of objects -> $out, a line each.
printf '%s\n' "${objects[@]}" >"$out"
