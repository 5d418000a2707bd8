# The answers of nvcc to CMake, for a toolkit whose CUDA compiler is clang: CMake asks an nvcc where
# the toolkit is, and its version. CMake alone finds this program, by CUDAToolkit_ROOT.
case ${1-} in
--version) exec @toolkit@/bin/ptxas --version ;;
-v) echo "#$ TOP=@toolkit@" ;;
*)
    echo "error: CUDA code is compiled by clang++ here (\$CUDACXX): no package index has this toolkit's nvcc" >&2
    exit 1
    ;;
esac
