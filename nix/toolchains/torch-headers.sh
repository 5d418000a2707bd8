# A torch wheel -> $out/include.
mkdir "$out"
unzip -q "$wheel" 'torch/include/*' -d tree
mv tree/torch/include "$out/include"
