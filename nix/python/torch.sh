# An unpacked torch -> $out/site and $out/bin, links to its files.

# Makes links to the entries of folders in a folder, except to those that it has.
link_entries() {
    local target=$1 folder entry
    mkdir -p "$target"
    for folder in "${@:2}"; do
        for entry in "$folder"/*; do
            [ -e "$target/${entry##*/}" ] || [ ! -e "$entry" ] || ln -s "$entry" "$target"
        done
    done
}

# Changes a file by a script of sed; fails if that changes no line.
edit() {
    sed -E "$1" "$2" >edited
    ! cmp -s edited "$2" || fail "$2 has other lines than this recipe knows"
    mv edited "$2"
}

mkdir -p "$out/site/torch"
cd "$out/site"
wheels=("$torch" ${nvidia:+"$nvidia"})

# NB: the libraries look for those of NVIDIA beside the path by which they are opened, so this
# folder is no link.
link_entries torch/lib ${stubs:+"$stubs"} "$torch/site/torch/lib"

# NB: the wheels for aarch64 up to torch 2.10 are made for the CPU.
if [ -n "$withoutCuda" ] && [ -e "$torch/site/torch/lib/libtorch_cuda.so" ]; then
    # The client and torch's own builds of extensions look here whether torch is made for CUDA.
    cp "$torch/site/torch/version.py" torch
    edit 's/^cuda\b[^=]*=.*/cuda = None/' torch/version.py
    python3 -m compileall -q --invalidation-mode unchecked-hash torch/version.py
    link_entries torch/__pycache__ "$torch/site/torch/__pycache__"

    # The CMake package, with `if(OFF)` where the packages of torch for the CPU have it.
    cp -r "$torch/site/torch/share" torch
    chmod -R u+w torch/share
    edit '/^if\((ON|1)\)$/{N;s/^if\(\w+\)(.*cuda\.cmake exclusively)/if(OFF)\1/}' torch/share/cmake/Caffe2/Caffe2Config.cmake
    edit '/^if\((ON|1)\)$/{N;s/^if\(\w+\)(.*if\(MSVC\))/if(OFF)\1/}' torch/share/cmake/Torch/TorchConfig.cmake
    edit 's/"torch_cpu_library;torch_cuda_library"/"torch_cpu_library"/' torch/share/cmake/Caffe2/Caffe2Targets.cmake
fi

link_entries torch "$torch/site/torch"
link_entries . "${wheels[@]/%//site}"
link_entries "$out/bin" "${wheels[@]/%//bin}"
