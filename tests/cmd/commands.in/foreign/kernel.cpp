// Computes.
