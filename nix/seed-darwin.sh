# Links to macOS's own programs under the names that scripts call them by -> $out.
/bin/mkdir -p "$out/bin"
for dir in /bin /usr/bin /usr/sbin /sbin; do
    for program in "$dir"/*; do
        [ ! -x "$program" ] || [ -d "$program" ] || /bin/ln -sf "$program" "$out/bin/${program##*/}"
    done
done
if [ ! -e "$out/bin/sha256sum" ]; then
    printf '#!/bin/bash\nexec /usr/bin/shasum --algorithm 256 "$@"\n' >"$out/bin/sha256sum"
    /bin/chmod 755 "$out/bin/sha256sum"
fi
