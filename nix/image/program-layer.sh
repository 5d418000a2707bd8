# The program -> $out, a layer.
python3 "$program" layer "$out" "kernel-builder" "$tool/bin/kernel-builder:usr/local/bin/kernel-builder"
