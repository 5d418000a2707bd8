# Sourced where shaders are compiled or linked: the folder of Xcode's Metal compiler -> $metal_bin.
# NB: Xcode downloads it apart from itself, and mounts it where only xcodebuild finds it.
component=$(xcodebuild -showComponent MetalToolchain) ||
    fail "Xcode has no Metal toolchain: run \`xcodebuild -downloadComponent MetalToolchain\`"
# shellcheck disable=SC2034 # for those who source this
metal_bin=$(sed -n 's/^Toolchain Search Path: //p' <<<"$component")/Metal.xctoolchain/usr/bin
