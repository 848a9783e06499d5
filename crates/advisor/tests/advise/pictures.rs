//! The picture of the heat, looked at as a person would: two framed maps, and where they are dark.

use std::io::Cursor;
use std::ops::Range;

use advisor::advise::{COLUMNS, HeatMap, ROWS};
use advisor::{Options, advise};
use partitions::Random;

use crate::tables::events;

/// The colour of frames.
const FRAME: [u8; 3] = [170, 170, 170];

struct Image {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Image {
    fn decoded(bytes: &[u8]) -> Self {
        let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        Self {
            width: usize::try_from(info.width).unwrap(),
            height: usize::try_from(info.height).unwrap(),
            pixels,
        }
    }

    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let at = (y * self.width + x) * 3;
        self.pixels[at..at + 3].try_into().unwrap()
    }

    /// The insides of the two maps, by the frames around them.
    fn maps(&self) -> Vec<(Range<usize>, Range<usize>)> {
        let is_frame = |x: usize, y: usize| self.at(x, y) == FRAME;
        let top = (0..self.height).find(|y| (0..self.width).any(|x| is_frame(x, *y)));
        let top = top.unwrap();
        let corners = (0..self.width).filter(|x| is_frame(*x, top) && !is_frame(*x - 1, top));
        let map = |left: usize| {
            let right = (left..self.width).find(|x| !is_frame(*x, top)).unwrap();
            let bottom = (top..self.height).find(|y| !is_frame(left, *y)).unwrap();
            (left + 1..right - 1, top + 1..bottom - 1)
        };
        corners.map(map).collect()
    }

    /// The darkest place of each moment in a map, the first rows being 0.
    fn darkest(&self, (across, down): &(Range<usize>, Range<usize>)) -> Vec<usize> {
        let (wide, high) = (across.len() / COLUMNS, down.len() / ROWS);
        let light = |column: usize, row: usize| {
            let x = across.start + column * wide + wide / 2;
            let y = down.end - 1 - row * high - high / 2;
            self.at(x, y).into_iter().map(u32::from).sum::<u32>()
        };
        let columns = 0..COLUMNS;
        let darkest = columns.map(|column| (0..ROWS).min_by_key(|row| light(column, *row)));
        darkest.map(Option::unwrap).collect()
    }
}

fn hottest(heat: &HeatMap) -> Vec<usize> {
    let columns = 0..COLUMNS;
    let hottest = columns.map(|column| {
        let busy = |row: &usize| heat.busy_us(column, *row);
        (0..ROWS).max_by(|a, b| busy(a).total_cmp(&busy(b)))
    });
    hottest.map(Option::unwrap).collect()
}

#[test]
fn a_key_that_grows_is_a_stripe_that_climbs() {
    let trace = events(300, |random| random.below(500));
    let advice = advise(&trace, "events", &Options::default()).unwrap();
    let image = Image::decoded(&advice.png());
    assert!((1_000..1_600).contains(&image.width), "{}", image.width);
    assert!((300..600).contains(&image.height), "{}", image.height);
    let maps = image.maps();
    assert_eq!(maps.len(), 2);
    for (across, down) in &maps {
        assert_eq!((across.len() % COLUMNS, down.len() % ROWS), (0, 0));
    }
    let stripe = image.darkest(&maps[0]);
    assert_eq!(
        stripe,
        hottest(advice.current().unwrap().heat.as_ref().unwrap())
    );
    assert!(stripe.is_sorted(), "{stripe:?}");
    assert_eq!((stripe[0], stripe[COLUMNS - 1]), (0, ROWS - 1));
    // Under the best key there is none: dark places lie anywhere.
    let spread = image.darkest(&maps[1]);
    assert!(!spread.is_sorted(), "{spread:?}");
}

#[test]
fn svg_and_png_are_one_picture() {
    let trace = events(30, |random| random.below(20));
    let advice = advise(&trace, "events", &Options::default()).unwrap();
    let (svg, image) = (advice.svg(), Image::decoded(&advice.png()));
    let size = format!("width=\"{}\" height=\"{}\"", image.width, image.height);
    assert!(svg.contains(&size), "{size}");
    let mut areas = 0;
    // The last mark over a place is the one that is seen, and cells lie over everything.
    for line in svg.lines().filter(|line| line.contains("width=\"12\"")) {
        let field = |name: &str| {
            let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
            rest.split_once('"').unwrap().0
        };
        let [x, y] = ["x", "y"].map(|name| field(name).parse::<usize>().unwrap());
        let [r, g, b] = image.at(x + 6, y + 8);
        assert_eq!(field("fill"), format!("#{r:02x}{g:02x}{b:02x}"));
        areas += 1;
    }
    assert!(areas >= 2 * COLUMNS * ROWS, "{areas}");
}
