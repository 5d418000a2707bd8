# The version of this library and its program: that of Cargo.toml, as a test checks.
"0.1.0"
