//! A [`Picture`] as PNG, for chats and tickets that show no SVG.
//!
//! Letters are those of a font of 8 × 8 dots that comes with the program, each dot two pixels high, so
//! the picture is the same on a machine without fonts. Letters that it lacks (it has those of Latin and
//! Greek) become question marks; the SVG has them.

use font8x8::{BASIC_FONTS, GREEK_FONTS, LATIN_FONTS, UnicodeFonts as _};
use png::{BitDepth, ColorType, Encoder};

use super::picture::{Area, Color, LETTER_PX, Mark, Picture};

/// Bytes of a pixel.
const PIXEL_BYTES: usize = 3;
/// How high a dot of a letter is; it is one pixel wide.
const DOT_HEIGHT_PX: usize = 2;

pub(super) fn render(picture: &Picture) -> Vec<u8> {
    let mut canvas = Canvas::new(picture.width, picture.height);
    for mark in &picture.marks {
        match mark {
            Mark::Area(area, color) => canvas.fill(*area, *color),
            Mark::Words {
                left,
                top,
                text,
                color,
            } => canvas.write((*left, *top), text, *color),
        }
    }
    canvas.encode()
}

/// Pixels, line by line.
struct Canvas {
    width: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            pixels: vec![0; width * height * PIXEL_BYTES],
        }
    }

    /// Fills what of a rectangle lies on the canvas.
    fn fill(&mut self, area: Area, color: Color) {
        let rows = self.pixels.chunks_exact_mut(self.width * PIXEL_BYTES);
        for row in rows.skip(area.top).take(area.height) {
            let pixels = row.chunks_exact_mut(PIXEL_BYTES);
            for pixel in pixels.skip(area.left).take(area.width) {
                pixel.copy_from_slice(&[color.0, color.1, color.2]);
            }
        }
    }

    fn write(&mut self, (left, top): (usize, usize), text: &str, color: Color) {
        for (number, letter) in text.chars().enumerate() {
            let left = left + number * LETTER_PX.0;
            for (row, dots) in glyph(letter).into_iter().enumerate() {
                let lit = (0..LETTER_PX.0).filter(|column| dots >> column & 1 == 1);
                for column in lit {
                    let dot = Area {
                        left: left + column,
                        top: top + row * DOT_HEIGHT_PX,
                        width: 1,
                        height: DOT_HEIGHT_PX,
                    };
                    self.fill(dot, color);
                }
            }
        }
    }

    fn encode(&self) -> Vec<u8> {
        let px = |number: usize| u32::try_from(number).expect("a picture has some hundred pixels");
        let height = self.pixels.len() / (self.width * PIXEL_BYTES).max(1);
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&mut out, px(self.width), px(height));
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        let written = encoder
            .write_header()
            .and_then(|mut writer| writer.write_image_data(&self.pixels));
        written.expect("memory takes every byte, and there are as many as the header says");
        out
    }
}

/// The dots of a letter, row by row, the left one in the lowest bit.
fn glyph(letter: char) -> [u8; 8] {
    let found = BASIC_FONTS.get(letter);
    let found = found.or_else(|| LATIN_FONTS.get(letter));
    let found = found.or_else(|| GREEK_FONTS.get(letter));
    found.or_else(|| BASIC_FONTS.get('?')).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_upright_and_unknown_ones_are_questions() {
        let shown = |letter| {
            let rows = glyph(letter).map(|dots| {
                let dot = |column: u8| if dots >> column & 1 == 1 { '#' } else { '.' };
                (0..8).map(dot).collect::<String>()
            });
            rows.join("\n")
        };
        // The long side of an L is left, the short one below.
        let letter = shown('L');
        let rows: Vec<&str> = letter.lines().collect();
        assert!(
            rows[1].starts_with(".##") && rows[1].ends_with("...."),
            "{letter}"
        );
        assert!(rows[6].starts_with("#######"), "{letter}");
        for letter in [' ', 'ü', 'Ω'] {
            assert_ne!(shown(letter), shown('?'), "{letter}");
        }
        assert_eq!(shown('世'), shown('?'));
    }

    #[test]
    fn what_lies_beyond_the_edge_is_cut() {
        let mut canvas = Canvas::new(3, 2);
        let area = Area {
            left: 2,
            top: 1,
            width: 9,
            height: 9,
        };
        canvas.fill(area, Color(1, 2, 3));
        assert_eq!(canvas.pixels.iter().filter(|byte| **byte != 0).count(), 3);
        assert!(canvas.pixels.ends_with(&[1, 2, 3]));
        canvas.write((100, 100), "far", Color(1, 2, 3));
        assert_eq!(canvas.pixels.iter().filter(|byte| **byte != 0).count(), 3);
    }
}
