//! Chance that can be repeated.

/// A stream of numbers that its seed decides (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to one less than `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a length fits");
        usize::try_from(self.number() % end).expect("less than a length")
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    pub fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[0]
    }

    /// Up to `most` of what `part` makes, one after the other.
    pub fn several(&mut self, most: usize, mut part: impl FnMut(&mut Self) -> String) -> String {
        (0..self.below(most + 1)).map(|_| part(self)).collect()
    }

    /// A character: nearly always one that readers know, now and then any that there is.
    pub fn letter(&mut self) -> char {
        const ODD: &[char] = &[
            '\0',
            '\t',
            '\n',
            '\r',
            '\x1b',
            '\x7f',
            '\u{85}',
            '\u{a0}',
            '\u{200b}',
            '\u{202e}',
            '\u{2028}',
            '\u{feff}',
            '\u{fffd}',
            '\u{e000}',
            'é',
            '日',
            '\u{1f600}',
            '\u{301}',
        ];
        match self.below(8) {
            0 => ODD[self.below(ODD.len())],
            1 => char::from_u32(u32::try_from(self.below(0x11_0000)).expect("21 bits"))
                .unwrap_or('x'),
            _ => char::from(b' ' + u8::try_from(self.below(95)).expect("less than 95")),
        }
    }
}
