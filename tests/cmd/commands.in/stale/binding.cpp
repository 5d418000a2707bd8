// Registers the operators.
