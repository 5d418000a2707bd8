//! The call in flake.nix, before and after.

use kernel_builder::manifest::update::UpdateError;
use kernel_builder::manifest::update::flake::update;

fn new(text: &str) -> Option<String> {
    let new = update("flake.nix", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    if let Some(new) = &new {
        assert_eq!(
            update("flake.nix", new).ok(),
            Some(None),
            "a second run changes it:\n{new}"
        );
    }
    new
}

#[test]
fn the_usual_form() {
    let text = r#"# flake.nix
{
  description = "Flake for a kernel";

  inputs = {
    kernel-builder.url = "github:org/kernel-builder";
  };

  outputs =
    {
      self,
      kernel-builder,
    }:
    kernel-builder.lib.genFlakeOutputs {
      path = ./.;
      rev = self.shortRev or self.dirtyShortRev or self.lastModifiedDate;
    };
}
"#;
    insta::assert_snapshot!("usual", new(text).expect("an old call"));
}

/// Old calls and their new forms. The rest of a file stays.
#[test]
fn other_forms() {
    let call = |call: &str| format!("{{ outputs = {{ self, b, ... }}@inputs: {call}; }}");
    for (old, expected) in [
        (
            "b.lib.genFlakeOutputs { path = ./.; rev = self.rev; }",
            "b.lib.genFlakeOutputs { inherit self; path = ./.; }",
        ),
        (
            "b.lib.genKernelFlakeOutputs { path=./.;rev=self.rev; }",
            "b.lib.genKernelFlakeOutputs { inherit self; path=./.; }",
        ),
        (
            "b.lib.genFlakeOutputs { rev = self.rev; path = ./.; }",
            "b.lib.genFlakeOutputs { inherit self; path = ./.; }",
        ),
        (
            "b.lib.genFlakeOutputs { path = ./.; }",
            "b.lib.genFlakeOutputs { inherit self; path = ./.; }",
        ),
        (
            "b.lib.genFlakeOutputs { }",
            "b.lib.genFlakeOutputs { inherit self; }",
        ),
        (
            "b.lib.genFlakeOutputs { inherit self; path = ./.; rev = 1; }",
            "b.lib.genFlakeOutputs { inherit self; path = ./.; }",
        ),
        (
            "b.lib.genFlakeOutputs { self = self; rev = 1; path = ./.; }",
            "b.lib.genFlakeOutputs { self = self; path = ./.; }",
        ),
        (
            "b.lib.genFlakeOutputs { inherit rev path; }",
            "b.lib.genFlakeOutputs { inherit self path; }",
        ),
        (
            "b.lib.genFlakeOutputs { inherit rev; inherit self; }",
            "b.lib.genFlakeOutputs { inherit self; }",
        ),
        (
            "b.lib.genFlakeOutputs { inherit self rev; }",
            "b.lib.genFlakeOutputs { inherit self; }",
        ),
        (
            "b.lib.genFlakeOutputs { path = ./.; inherit (self) rev; }",
            "b.lib.genFlakeOutputs { inherit self; path = ./.; }",
        ),
        (
            "b.lib.genFlakeOutputs { inherit (self) rev x; }",
            "b.lib.genFlakeOutputs { inherit self; inherit (self) x; }",
        ),
        (
            "(with b.lib; genFlakeOutputs ({ path = ./.; rev = 1; }))",
            "(with b.lib; genFlakeOutputs ({ inherit self; path = ./.; }))",
        ),
        (
            "b.lib.\"genFlakeOutputs\" { \"rev\" = 1; path = ./.; }",
            "b.lib.\"genFlakeOutputs\" { inherit self; path = ./.; }",
        ),
        (
            "b.lib.genFlakeOutputs {\n  # where\n  path = ./.; # here\n\n  # which\n  rev = 1; # that\n  torchVersions = v: v; # all\n}",
            "b.lib.genFlakeOutputs {\n  # where\n  inherit self;\n  path = ./.; # here\n\n  # which\n  # that\n  torchVersions = v: v; # all\n}",
        ),
        (
            "b.lib.genFlakeOutputs {\r\n  path = ./.;\r\n  rev =\r\n    self.rev or 1;\r\n}",
            "b.lib.genFlakeOutputs {\r\n  inherit self;\r\n  path = ./.;\r\n}",
        ),
        (
            "b.lib.genFlakeOutputs { path = ./.; rev = let x = { rev = 2; }; in x.rev; }",
            "b.lib.genFlakeOutputs { inherit self; path = ./.; }",
        ),
    ] {
        assert_eq!(new(&call(old)), Some(call(expected)), "{old}");
    }
}

/// Files that are not concerned, valid or not.
#[test]
fn unchanged() {
    for text in [
        "",
        "{ outputs = { self, b }: b.lib.genFlakeOutputs { inherit self; path = ./.; }; }",
        "{ outputs = { self, b }: b.lib.genFlakeOutputs {\n  self = self; # rev = 1;\n}; }",
        "{ outputs = { b }: b.lib.other { path = ./.; rev = 1; }; }",
        "{ outputs = { b }: \"genFlakeOutputs { path = ./.; rev = 1; }\"; }",
        "{ outputs = { b, args }: b.lib.genFlakeOutputs args; }",
        "{ not nix",
    ] {
        assert_eq!(new(text), None, "{text}");
    }
}

#[test]
fn refused() {
    let no_self = "{\n  outputs =\n    { kernel-builder, ... }:\n    kernel-builder.lib.genFlakeOutputs { path = ./.; rev = \"1\"; };\n}\n";
    let syntax = "{ outputs = { self, b }: b.lib.genFlakeOutputs { path = ./. rev = 1; }; }";
    for (name, text) in [("no-self", no_self), ("syntax", syntax)] {
        let Err(UpdateError::Problems(problems)) = update("flake.nix", text) else {
            panic!("{name} is not refused");
        };
        insta::assert_snapshot!(name, problems.render(Default::default()));
    }
}

/// `self` may come from elsewhere than the pattern.
#[test]
fn self_in_scope() {
    for (before, after) in [
        ("self: b:", ""),
        ("{ b, ... }@self:", ""),
        ("{ b }: let self = 1; in", ""),
        ("{ b, self ? null }:", ""),
    ] {
        let text = format!("{before} b.lib.genFlakeOutputs {{ rev = 1; }}{after}");
        let expected = format!("{before} b.lib.genFlakeOutputs {{ inherit self; }}{after}");
        assert_eq!(new(&text), Some(expected));
    }
}
