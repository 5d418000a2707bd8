# Variants -> $out/<variant>.
mkdir "$out"
for variant in "${variants[@]}"; do cp -r "$variant/." "$out"; done
