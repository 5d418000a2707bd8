# Store paths -> a file that names them, so that they are its closure.
printf '%s\n' "${paths[@]}" >"$out"
