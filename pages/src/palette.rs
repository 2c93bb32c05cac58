//! One palette for SVG and HTML: eight colours that no two of look alike, also to colour-blind readers, and dashes that tell them
//! apart in black and white.

/// Colours on a light ground.
pub const LIGHT: [&str; 8] =
    ["#2a3fd0", "#f25c00", "#1f9a8f", "#7a0a6c", "#b08a52", "#a180ea", "#524343", "#960a06"];
/// The same on a dark ground.
pub const DARK: [&str; 8] =
    ["#3a96ff", "#ffc42c", "#41f693", "#d8209a", "#a9684f", "#b7a5e0", "#d0f8e6", "#f03418"];
/// Lengths of dashes and gaps. The first is a whole line.
pub const DASHES: [&str; 8] = ["none", "8 3", "3 2", "10 3 2 3", "14 3", "6 2 2 2 2 2", "5 2", "16 3 5 3"];

/// Colours that are no data, by name: on a light ground, and on a dark one.
pub const PLAIN: [(&str, &str, &str); 4] = [
    ("ground", "#ffffff", "#14171b"),
    ("ink", "#1b1f24", "#e8ebef"),
    ("faint", "#5a6472", "#a3adba"),
    ("grid", "#e3e7ec", "#2a3038"),
];

/// The colour that a role has on a light ground, which drawings in files have.
///
/// # Panics
/// If there is no such role.
#[must_use]
pub fn plain(role: &str) -> &'static str {
    PLAIN.iter().find(|(name, ..)| *name == role).expect("a role of the palette").1
}

/// The dash pattern of the n-th line. The ninth has the first one's colour, and another dash.
#[must_use]
pub fn dashes(n: usize) -> &'static str {
    DASHES[(n + 3 * (n / DASHES.len())) % DASHES.len()]
}

/// Variables of a page's style: `--hue0`, `--dash0` and so on.
#[must_use]
pub fn style() -> String {
    let light = variables(&LIGHT, |(_, light, _)| light);
    let dark = variables(&DARK, |(_, _, dark)| dark);
    let dashes: String = DASHES.iter().enumerate().map(|(n, dash)| format!("--dash{n}:{dash};")).collect();
    format!(
        ":root{{{light}{dashes}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=\"light\"]){{{dark}}}}}\n\
         :root[data-theme=\"dark\"]{{{dark}}}\n@media print{{:root,:root[data-theme=\"dark\"]{{{light}}}}}\n"
    )
}

fn variables(hues: &[&str; 8], of: fn((&'static str, &'static str, &'static str)) -> &'static str) -> String {
    let hues = hues.iter().enumerate().map(|(n, hue)| format!("--hue{n}:{hue};"));
    hues.chain(PLAIN.map(|plain| format!("--{}:{};", plain.0, of(plain)))).collect()
}

/// A drawing for a page: its colours are the page's, whatever the theme.
#[must_use]
pub fn themed(svg: &str) -> String {
    let hues = LIGHT.iter().enumerate().map(|(n, hue)| (*hue, format!("hue{n}")));
    let plain = PLAIN.map(|(name, light, _)| (light, name.to_owned()));
    hues.chain(plain).fold(svg.to_owned(), |svg, (colour, name)| {
        svg.replace(&format!("\"{colour}\""), &format!("\"var(--{name})\""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear red, green and blue.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("hexadecimal")) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: [[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>())
    }

    /// CIE L*a*b* under D65.
    fn lab(rgb: [f64; 3]) -> [f64; 3] {
        let xyz = times([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], rgb);
        let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let [x, y, z] = [f(xyz[0] / 0.9505), f(xyz[1]), f(xyz[2] / 1.089)];
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Least difference of two colours (CIE 1976) as seen through a matrix.
    fn least_difference(colours: &[&str; 8], eye: [[f64; 3]; 3]) -> f64 {
        let seen = colours.map(|colour| lab(times(eye, linear(colour)).map(|v| v.clamp(0.0, 1.0))));
        let pairs = (0..8).flat_map(|i| (0..i).map(move |j| (i, j)));
        let distance = |(i, j): (usize, usize)| {
            seen[i].iter().zip(seen[j]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        pairs.map(distance).fold(f64::INFINITY, f64::min)
    }

    /// Simulations of colour blindness by Machado, Oliveira and Fernandes (2009), severity 1. A difference of 2.3 is just
    /// noticed; 20 is another colour.
    #[test]
    fn no_two_colours_look_alike_to_any_eye() {
        let eyes = [
            ("all cones", 30.0, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
            (
                "no red cones",
                20.0,
                [
                    [0.152286, 1.052583, -0.204868],
                    [0.114503, 0.786281, 0.099216],
                    [-0.003882, -0.048116, 1.051998],
                ],
            ),
            (
                "no green cones",
                20.0,
                [
                    [0.367322, 0.860646, -0.227968],
                    [0.280085, 0.672501, 0.047413],
                    [-0.011820, 0.042940, 0.968881],
                ],
            ),
            (
                "no blue cones",
                20.0,
                [
                    [1.255528, -0.076749, -0.178779],
                    [-0.078411, 0.930809, 0.147602],
                    [0.004733, 0.691367, 0.303900],
                ],
            ),
        ];
        for colours in [&LIGHT, &DARK] {
            for (eye, least, matrix) in eyes {
                let found = least_difference(colours, matrix);
                assert!(found >= least, "{eye}: {found:.1} in {colours:?}");
            }
        }
    }

    /// WCAG 2 asks for 3 to 1 between what is drawn and its ground.
    #[test]
    fn colours_stand_out_from_their_ground() {
        let luminance =
            |colour| linear(colour).iter().zip([0.2126, 0.7152, 0.0722]).map(|(a, b)| a * b).sum::<f64>();
        for (colours, ground) in [(&LIGHT, PLAIN[0].1), (&DARK, PLAIN[0].2)] {
            for colour in colours {
                let (a, b) = (luminance(colour), luminance(ground));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= 3.0, "{colour} on {ground}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn sixteen_lines_differ_in_colour_or_dash() {
        let looks: Vec<(usize, &str)> = (0..16).map(|n| (n % 8, dashes(n))).collect();
        assert!((0..16).all(|i| (0..i).all(|j| looks[i] != looks[j])));
        assert!((0..8).all(|i| (0..i).all(|j| DASHES[i] != DASHES[j])));
    }

    #[test]
    fn a_drawing_takes_the_pages_colours() {
        assert_eq!(themed("<path stroke=\"#2a3fd0\"/>"), "<path stroke=\"var(--hue0)\"/>");
    }
}
