# The version of this library and its program. A test compares it with Cargo.toml.
"0.1.0"
