# macOS: compilers, SDK and Python's headers of the machine's own Xcode, which must not be
# redistributed. So there are no pins, and builds need `sandbox = relaxed` or no sandbox.
_: {
  bin = null;
  sysroot = null;
  keepsPolicy = true;
}
