# macOS: compilers, SDK and Python's headers of the machine's own Xcode, which must not be
# redistributed. So nothing is pinned, and builds need `sandbox = relaxed` or none.
_: {
  bin = null;
  sysroot = null;
  keepsPolicy = true;
}
