# Built variants -> $out/<variant>, with the files of attest.py.
mkdir "$out"
for variant in "${variants[@]}"; do cp -r "$variant/." "$out"; done
chmod -R u+w "$out"
python3 -I -B -W ignore -X utf8 "$attestScript" "$out" "$NIX_BUILD_TOP/.attrs.json"
