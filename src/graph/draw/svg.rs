//! Pictures as SVG.

use std::fmt;

use super::card::{Card, Look, counted};
use super::layout::{Layout, Size, Stop, layout};
use super::text::width;
use super::{Edge, Picture};

const MARGIN: f64 = 20.0;
/// Between a box's border and its text.
const PADDING: f64 = 10.0;
/// Heights of letters and lines.
const TITLE: f64 = 14.0;
const TEXT: f64 = 11.0;
const TITLE_LINE: f64 = 18.0;
const TEXT_LINE: f64 = 15.0;
const BOX_WIDTH_MIN: f64 = 110.0;
const LEGEND_LINE: f64 = 24.0;
/// The legend's lines are at least this wide before they break.
const LEGEND_WIDTH: f64 = 560.0;
const SWATCH: f64 = 26.0;
const SWATCH_HEIGHT: f64 = 15.0;
/// Radius of round corners.
const ROUND: f64 = 14.0;

const STYLE: &str = "text{font-family:'Helvetica Neue',Arial,'Liberation Sans','DejaVu Sans',sans-serif;\
font-size:11px;fill:#16191c}.t{font-size:14px;font-weight:bold}.w{font-style:italic}\
.n text{text-anchor:middle}\
.e path{fill:none;stroke:#4a535c;stroke-width:1.2;marker-end:url(#a)}.e .a{stroke-dasharray:6 4}";

/// The whole document.
pub(super) fn document(picture: &Picture) -> String {
    Document::new(picture).to_string()
}

pub(super) struct Document<'a> {
    picture: &'a Picture,
    sizes: Vec<Size>,
    pub(super) layout: Layout,
    legend: Vec<(Entry, f64, f64)>,
    /// Where the boxes begin.
    corner: (f64, f64),
    size: Size,
}

/// What the legend explains.
#[derive(Clone, Copy)]
enum Entry {
    Look(Look),
    Output,
    After,
}

impl<'a> Document<'a> {
    pub(super) fn new(picture: &'a Picture) -> Self {
        let sizes: Vec<Size> = picture.cards.iter().map(size).collect();
        let layout = layout(&sizes, &picture.edges);
        let (legend, legend_size) = legend(picture, layout.size.width);
        let width = layout.size.width.max(legend_size.width) + 2.0 * MARGIN;
        // Pictures that are narrower than their legend stand in the middle.
        let corner = ((width - layout.size.width) / 2.0, legend_size.height + 2.0 * MARGIN);
        let size = Size { width, height: corner.1 + layout.size.height + MARGIN };
        Document { picture, sizes, layout, legend, corner, size }
    }
}

impl fmt::Display for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { width, height } = self.size;
        let layers = counted(self.picture.cards.len(), "layer");
        write!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" \
             width=\"{width:.1}\" height=\"{height:.1}\" role=\"img\">\n<title>Graph of {layers}</title>\n\
             <style>{STYLE}</style>\n<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
             markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#4a535c\"/>\
             </marker></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        )?;
        self.legend.iter().try_for_each(|&(entry, x, y)| entry.write(f, x, y))?;
        let (x, y) = self.corner;
        writeln!(f, "<g class=\"e\" transform=\"translate({x:.1} {y:.1})\">")?;
        for (edge, stops) in self.picture.edges.iter().zip(&self.layout.routes) {
            write_arrow(f, edge, stops)?;
        }
        writeln!(f, "</g>\n<g class=\"n\" transform=\"translate({x:.1} {y:.1})\">")?;
        for (at, card) in self.picture.cards.iter().enumerate() {
            write_card(f, card, self.layout.corners[at], self.sizes[at])?;
        }
        f.write_str("</g>\n</svg>\n")
    }
}

/// How large a layer's box is.
fn size(card: &Card) -> Size {
    let lines = card.facts.iter().chain(&card.wishes);
    let widest = lines.map(|line| width(line, TEXT)).fold(width(&card.title, TITLE), f64::max);
    let lines = (card.facts.len() + card.wishes.len()) as f64;
    Size {
        width: (widest + 2.0 * PADDING).max(BOX_WIDTH_MIN).ceil(),
        height: 2.0 * PADDING + TITLE_LINE + lines * TEXT_LINE,
    }
}

/// Entries with their left upper corners, and how large they are together.
fn legend(picture: &Picture, wide: f64) -> (Vec<(Entry, f64, f64)>, Size) {
    let mut entries: Vec<Entry> = picture.looks().into_iter().map(Entry::Look).collect();
    let shows = |shown: bool, entry: Entry| shown.then_some(entry);
    entries.extend(shows(picture.cards.iter().any(|card| card.is_output), Entry::Output));
    entries.extend(shows(picture.edges.iter().any(|edge| edge.is_after), Entry::After));
    let (mut x, mut y, mut right) = (MARGIN, MARGIN, 0.0);
    let mut placed = Vec::new();
    for entry in entries {
        let wide_entry = SWATCH + 6.0 + width(entry.words(), TEXT) + 14.0;
        if x > MARGIN && x + wide_entry > MARGIN + wide.max(LEGEND_WIDTH) {
            (x, y) = (MARGIN, y + LEGEND_LINE);
        }
        placed.push((entry, x, y));
        x += wide_entry;
        right = f64::max(right, x - MARGIN);
    }
    (placed, Size { width: right, height: y - MARGIN + SWATCH_HEIGHT })
}

impl Entry {
    const fn words(self) -> &'static str {
        match self {
            Entry::Look(look) => look.words(),
            Entry::Output => "asked for",
            Entry::After => "waits, reads nothing",
        }
    }

    fn write(self, f: &mut fmt::Formatter<'_>, x: f64, y: f64) -> fmt::Result {
        let size = Size { width: SWATCH, height: SWATCH_HEIGHT };
        f.write_str("<g>")?;
        match self {
            Entry::Look(look) => write_outline(f, look, (x, y), size, 1.3)?,
            Entry::Output => write_outline(f, Look::Host, (x, y), size, 3.0)?,
            Entry::After => {
                let (end, middle) = (x + SWATCH, y + SWATCH_HEIGHT / 2.0);
                write!(f, "<g class=\"e\"><path class=\"a\" d=\"M{x:.1} {middle:.1}H{end:.1}\"/></g>")?;
            }
        }
        let (x, y) = (x + SWATCH + 6.0, y + SWATCH_HEIGHT - 4.0);
        writeln!(f, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text></g>", self.words())
    }
}

fn write_card(f: &mut fmt::Formatter<'_>, card: &Card, corner: (f64, f64), size: Size) -> fmt::Result {
    write!(f, "<g><title>{}</title>", escaped(&card.tooltip))?;
    write_outline(f, card.look, corner, size, if card.is_output { 3.0 } else { 1.3 })?;
    let x = corner.0 + size.width / 2.0;
    let mut y = corner.1 + PADDING + TITLE;
    write!(f, "<text class=\"t\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(&card.title))?;
    y += TITLE_LINE - TITLE + TEXT;
    let facts = card.facts.iter().map(|line| ("", line));
    for (class, line) in facts.chain(card.wishes.iter().map(|line| (" class=\"w\"", line))) {
        write!(f, "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(line))?;
        y += TEXT_LINE;
    }
    f.write_str("</g>\n")
}

/// Sources are round above, sinks below, waits on all sides and with a broken border: their part is told by their
/// shape too.
fn write_outline(
    f: &mut fmt::Formatter<'_>,
    look: Look,
    (x, y): (f64, f64),
    size: Size,
    border: f64,
) -> fmt::Result {
    let round = ROUND.min(size.height / 2.0);
    let (above, below) = match look {
        Look::Source => (round, 2.0),
        Look::Sink => (2.0, round),
        Look::Wait => (round, round),
        _ => (2.0, 2.0),
    };
    let (across, down) = (size.width - 2.0 * above, size.height - above - below);
    let back = size.width - 2.0 * below;
    let (fill, stroke) = look.colours();
    let (x, broken) = (x + above, if look == Look::Wait { " stroke-dasharray=\"3 3\"" } else { "" });
    write!(
        f,
        "<path d=\"M{x:.1} {y:.1}h{across:.1}a{above} {above} 0 0 1 {above} {above}v{down:.1}\
         a{below} {below} 0 0 1 -{below} {below}h-{back:.1}a{below} {below} 0 0 1 -{below} -{below}v-{down:.1}\
         a{above} {above} 0 0 1 {above} -{above}z\" fill=\"{fill}\" stroke=\"{stroke}\" \
         stroke-width=\"{border}\"{broken}/>"
    )
}

fn write_arrow(f: &mut fmt::Formatter<'_>, edge: &Edge, stops: &[Stop]) -> fmt::Result {
    f.write_str(if edge.is_after { "<path class=\"a\" d=\"" } else { "<path d=\"" })?;
    for (at, stop) in stops.iter().enumerate() {
        let Stop { x, top, bottom } = *stop;
        match at.checked_sub(1).map(|last| stops[last]) {
            None => write!(f, "M{x:.1} {top:.1}")?,
            Some(last) => {
                let middle = (last.bottom + top) / 2.0;
                write!(f, "C{:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {top:.1}", last.x)?;
            }
        }
        if bottom > top {
            write!(f, "V{bottom:.1}")?;
        }
    }
    f.write_str("\"/>\n")
}

/// As XML's text. What XML can't hold at all was written out before.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
