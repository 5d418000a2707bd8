# Torch's headers -> $out, lean headers of them.
python3 "$program" "${folders[@]}" "$out"
