//! How figures look: size, letters, black and white.

use clap::Args;
use divvy_pages::plot::{LARGEST_MM, Look};

/// The look of SVG figures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Figures")]
pub struct LookArgs {
    /// Width and height of the figure on paper, as in 85x60mm or 3.5x2.5in
    #[arg(long, value_name = "SIZE", value_parser = size_mm)]
    pub size: Option<(f64, f64)>,

    /// Family of the figure's letters, as in 'Times New Roman' [default: sans-serif]
    #[arg(long, value_name = "FAMILY", value_parser = family)]
    pub font: Option<String>,

    /// Size of the figure's letters in points; for figures with --size [default: 8]
    #[arg(long, value_name = "PT", value_parser = points, requires = "size")]
    pub font_size: Option<f64>,

    /// Black lines with dashes and marks, and hatches instead of colours
    #[arg(long)]
    pub bw: bool,
}

impl LookArgs {
    /// Whether any of them was given.
    pub fn is_given(&self) -> bool {
        self.look() != Look::default()
    }

    /// The look.
    pub fn look(&self) -> Look {
        let standard = Look::default();
        Look {
            size_mm: self.size,
            font: self.font.clone().unwrap_or(standard.font),
            font_pt: self.font_size.unwrap_or(standard.font_pt),
            is_black_and_white: self.bw,
        }
    }
}

/// Widths and heights in mm.
const SIZES_MM: std::ops::RangeInclusive<f64> = 10.0..=LARGEST_MM;
const POINTS: std::ops::RangeInclusive<f64> = 4.0..=48.0;

fn size_mm(text: &str) -> Result<(f64, f64), String> {
    const EXAMPLES: &str = "write width and height in mm or inches, as in 85x60mm or 3.5x2.5in";
    let wrong = || EXAMPLES.to_owned();
    let (numbers, unit_mm) = match (text.strip_suffix("mm"), text.strip_suffix("in")) {
        (Some(numbers), _) => (numbers, 1.0),
        (_, Some(numbers)) => (numbers, 25.4),
        _ => return Err(wrong()),
    };
    let (width, height) = numbers.split_once('x').ok_or_else(wrong)?;
    let length = |text: &str| {
        let length: f64 = text.trim().parse().map_err(|_| wrong())?;
        let mm = length * unit_mm;
        if SIZES_MM.contains(&mm) { Ok(mm) } else { Err("a figure is 10 mm to 2 m wide and high".to_owned()) }
    };
    Ok((length(width)?, length(height)?))
}

fn points(text: &str) -> Result<f64, String> {
    let size = text.strip_suffix("pt").unwrap_or(text).trim().parse().ok();
    size.filter(|size| POINTS.contains(size)).ok_or_else(|| "letters have 4 to 48 points, as in 8".to_owned())
}

fn family(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err("write the name of a family, as in serif or 'Times New Roman'".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_mm_or_inches() {
        assert_eq!(size_mm("85x60mm"), Ok((85.0, 60.0)));
        assert_eq!(size_mm("3.5x2in"), Ok((3.5 * 25.4, 50.8)));
        for wrong in [
            "85x60",
            "85mm",
            "x60mm",
            "85x-60mm",
            "NaNxNaNmm",
            "infx60mm",
            "85x60px",
            "1x1mm",
            "9e9x60mm",
            "",
        ] {
            assert!(size_mm(wrong).is_err(), "{wrong}");
        }
        assert_eq!((points("8"), points("9.5pt")), (Ok(8.0), Ok(9.5)));
        assert!(["0", "-8", "NaN", "1e9", "pt"].iter().all(|wrong| points(wrong).is_err()));
    }
}
