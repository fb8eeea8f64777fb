//! Colour tables of 256 entries.

/// How a level becomes a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Colormap {
    /// Black to white.
    Gray,
    /// Matplotlib's viridis: dark violet, green, yellow; evenly perceived.
    Viridis,
    /// Matplotlib's magma: black, purple, light yellow; evenly perceived.
    Magma,
    /// Matplotlib's terrain: sea, lowland, rock, snow.
    Terrain,
    /// Moreland's diverging map: blue, grey, red.
    Coolwarm,
}

impl Colormap {
    /// Every map.
    pub const ALL: [Colormap; 5] =
        [Colormap::Gray, Colormap::Viridis, Colormap::Magma, Colormap::Terrain, Colormap::Coolwarm];

    /// The name in a pipeline file.
    pub const fn name(self) -> &'static str {
        match self {
            Colormap::Gray => "gray",
            Colormap::Viridis => "viridis",
            Colormap::Magma => "magma",
            Colormap::Terrain => "terrain",
            Colormap::Coolwarm => "coolwarm",
        }
    }

    /// Red, green and blue of every level.
    pub fn table(self) -> [[u8; 3]; 256] {
        std::array::from_fn(|level| {
            let at = level as f64 / 255.0;
            match self {
                Colormap::Gray => [level as u8; 3],
                Colormap::Viridis => polynomial(&VIRIDIS, at),
                Colormap::Magma => polynomial(&MAGMA, at),
                Colormap::Terrain => between(&TERRAIN, at),
                Colormap::Coolwarm => between(&COOLWARM, at),
            }
        })
    }
}

/// Coefficients from the constant up, one column a colour: Matt Zucker's fits to Matplotlib's tables (2019,
/// <https://www.shadertoy.com/view/WlfXRN>, public domain), within 4 levels of them.
const VIRIDIS: [[f64; 3]; 7] = [
    [0.2777273272234177, 0.005407344544966578, 0.3340998053353061],
    [0.1050930431085774, 1.404613529898575, 1.384590162594685],
    [-0.3308618287255563, 0.214847559468213, 0.09509516302823659],
    [-4.634230498983486, -5.799100973351585, -19.33244095627987],
    [6.228269936347081, 14.17993336680509, 56.69055260068105],
    [4.776384997670288, -13.74514537774601, -65.35303263337234],
    [-5.435455855934631, 4.645852612178535, 26.3124352495832],
];

const MAGMA: [[f64; 3]; 7] = [
    [-0.002136485053939582, -0.000749655052795221, -0.005386127855323933],
    [0.2516605407371642, 0.6775232436837668, 2.494026599312351],
    [8.353717279216625, -3.577719514958484, 0.3144679030132573],
    [-27.66873308576866, 14.26473078096533, -13.64921318813922],
    [52.17613981234068, -27.94360607168351, 12.94416944238394],
    [-50.76852536473588, 29.04658282127291, 4.23415299384598],
    [18.65570506591883, -11.48977351997711, -5.601961508734096],
];

/// A position in [0, 1] and its colour.
type Stop = (f64, [f64; 3]);

/// Matplotlib's `_terrain_data` (lib/matplotlib/_cm.py), in levels.
const TERRAIN: [Stop; 6] = [
    (0.00, [51.0, 51.0, 153.0]),
    (0.15, [0.0, 153.0, 255.0]),
    (0.25, [0.0, 204.0, 102.0]),
    (0.50, [255.0, 255.0, 153.0]),
    (0.75, [128.0, 92.0, 84.0]),
    (1.00, [255.0, 255.0, 255.0]),
];

/// Every second entry of the 33-entry table in K. Moreland, "Diverging Color Maps for Scientific Visualization"
/// (ISVC 2009).
const COOLWARM: [Stop; 17] = [
    (0.0000, [59.0, 76.0, 192.0]),
    (0.0625, [77.0, 104.0, 215.0]),
    (0.1250, [98.0, 130.0, 234.0]),
    (0.1875, [119.0, 154.0, 247.0]),
    (0.2500, [141.0, 176.0, 254.0]),
    (0.3125, [163.0, 194.0, 255.0]),
    (0.3750, [184.0, 208.0, 249.0]),
    (0.4375, [204.0, 217.0, 238.0]),
    (0.5000, [221.0, 221.0, 221.0]),
    (0.5625, [236.0, 211.0, 197.0]),
    (0.6250, [245.0, 196.0, 173.0]),
    (0.6875, [247.0, 177.0, 148.0]),
    (0.7500, [244.0, 154.0, 123.0]),
    (0.8125, [236.0, 127.0, 99.0]),
    (0.8750, [222.0, 96.0, 77.0]),
    (0.9375, [203.0, 62.0, 56.0]),
    (1.0000, [180.0, 4.0, 38.0]),
];

fn polynomial(coefficients: &[[f64; 3]; 7], at: f64) -> [u8; 3] {
    std::array::from_fn(|channel| {
        let value = coefficients.iter().rev().fold(0.0, |sum, row| sum * at + row[channel]);
        (value * 255.0).round() as u8
    })
}

fn between(stops: &[Stop], at: f64) -> [u8; 3] {
    let upper = stops.iter().position(|(stop, _)| *stop >= at).unwrap_or(stops.len() - 1).max(1);
    let ((low, from), (high, to)) = (stops[upper - 1], stops[upper]);
    let share = (at - low) / (high - low);
    std::array::from_fn(|channel| (from[channel] + share * (to[channel] - from[channel])).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries 0, 127 and 255 of the published tables.
    #[test]
    fn tables_agree_with_the_published_ones() {
        let published = [
            (Colormap::Gray, [[0, 0, 0], [127, 127, 127], [255, 255, 255]]),
            (Colormap::Viridis, [[68, 1, 84], [33, 144, 140], [253, 231, 37]]),
            (Colormap::Magma, [[0, 0, 4], [182, 54, 121], [252, 253, 191]]),
            (Colormap::Terrain, [[51, 51, 153], [254, 254, 153], [255, 255, 255]]),
            (Colormap::Coolwarm, [[59, 76, 192], [221, 221, 221], [180, 4, 38]]),
        ];
        for (map, entries) in published {
            let table = map.table();
            for (level, want) in [0, 127, 255].into_iter().zip(entries) {
                for channel in 0..3 {
                    let apart = i32::from(table[level][channel]).abs_diff(want[channel]);
                    assert!(apart <= 5, "{map:?} at {level}: {:?}, published {want:?}", table[level]);
                }
            }
        }
    }

    #[test]
    fn no_step_is_abrupt() {
        for map in Colormap::ALL {
            for pair in map.table().windows(2) {
                let step = (0..3).map(|channel| pair[0][channel].abs_diff(pair[1][channel])).max();
                assert!(step <= Some(8), "{map:?}: {pair:?}");
            }
        }
    }
}
