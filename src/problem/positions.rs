//! Lines and columns of bytes of a text, each found without reading the text again.

use super::floor_boundary;

/// The distance of the bytes up to which characters are counted beforehand.
const STEP: usize = 1 << 12;

/// A text with the places of its lines.
pub(super) struct TextPositions<'t> {
    text: &'t str,
    /// The first byte of each line.
    lines: Vec<usize>,
    /// The number of characters before each `STEP`th byte.
    characters: Vec<usize>,
}

impl<'t> TextPositions<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut before = 0;
        let mut characters = vec![0];
        for chunk in text.as_bytes().chunks(STEP) {
            before += count_characters(chunk);
            characters.push(before);
        }
        Self {
            text,
            characters,
            lines: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// Line and column, both from 1, of a byte; a byte outside the text counts as the nearest one
    /// inside.
    pub(super) fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = floor_boundary(self.text, offset);
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines[line - 1];
        (line, self.characters(offset) - self.characters(start) + 1)
    }

    /// The number of characters before a byte of the text, or before its end.
    fn characters(&self, offset: usize) -> usize {
        let step = offset / STEP;
        let rest = &self.text.as_bytes()[step * STEP..offset];
        self.characters[step] + count_characters(rest)
    }
}

/// The number of characters that begin in some bytes of UTF-8.
fn count_characters(bytes: &[u8]) -> usize {
    let begins = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
    bytes.iter().filter(begins).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_the_place_that_counting_gives() {
        let text = "aé\n∀x = \"ü\"\n\n".repeat(700) + "é";
        let positions = TextPositions::new(&text);
        for offset in 0..text.len() + 3 {
            let before = &text[..floor_boundary(&text, offset)];
            let start = before.rfind('\n').map_or(0, |newline| newline + 1);
            let counted = (
                before.matches('\n').count() + 1,
                before[start..].chars().count() + 1,
            );
            assert_eq!(positions.line_column(offset), counted, "{offset}");
        }
        assert_eq!(TextPositions::new("").line_column(7), (1, 1));
    }
}
