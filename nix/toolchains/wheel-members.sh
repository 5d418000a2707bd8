# A wheel -> $out, with one of its folders.
if command -v python3 >/dev/null; then
    # NB: busybox's unzip cannot read archives of more than 4 GB, which wheels for ROCm are.
    python3 "$program" "$wheel" "$folder" "$out"
else
    unzip -q "$wheel" "$folder/*" -d "$out"
fi
