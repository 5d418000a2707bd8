# Built variants -> $out/<variant>, with the files of attest.py.
mkdir "$out"
for variant in "${variants[@]}"; do cp -r "$variant/." "$out"; done
chmod -R u+w "$out"
# NB: root may write to the store, and its Python leaves compiled modules in a package that it
# imports from there.
find "$out" -name __pycache__ -prune -exec rm -r {} +
python3 -I -B -W ignore -X utf8 "$attestScript" "$out" "$NIX_BUILD_TOP/.attrs.json"
