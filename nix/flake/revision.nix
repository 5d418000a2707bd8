# The revision of a kernel's flake as metadata.json has it: `commit`, and whether files differ from
# it (`dirty`). It is null where Nix knows none: outside of git, and with an older Nix in a
# repository with changes.
{ self }:
let
  isCommit = rev: builtins.match "[0-9a-f]{40}([0-9a-f]{24})?" rev != null;
  clean = self.rev or "";
  dirty = builtins.head (builtins.split "-" (self.dirtyRev or ""));
in
if isCommit clean then
  {
    commit = clean;
    dirty = false;
  }
else if isCommit dirty then
  {
    commit = dirty;
    dirty = true;
  }
else
  null
