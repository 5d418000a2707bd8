# torch -> $out, the libraries that it asks for, without their code.
mkdir "$out"
python3 "$program" --torch-lib "$torch/site/torch/lib" --out "$out"
