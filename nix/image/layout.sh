# Layers -> $out, an image layout.
python3 "$program" layout "$out" .attrs.json
