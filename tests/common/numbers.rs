//! Numbers that look random, for tests that can be repeated by their seed.

/// A small generator of numbers (xorshift64*).
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of a seed, which is not 0.
    pub fn new(seed: u64) -> Self {
        assert_ne!(seed, 0, "every number of this seed would be 0");
        Self(seed)
    }

    pub fn next(&mut self) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.next() % limit.max(1)
    }

    /// One of some values.
    pub fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }
}
