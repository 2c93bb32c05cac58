//! How evenly shares were met.

/// Jain's fairness index of allotments: (sum x)^2 / (n sum x^2), 1 if all are equal, 1/n if one has everything
/// (Jain, Chiu, Hawe, "A Quantitative Measure of Fairness", 1984). `None` if there are none, or all are 0.
/// For weighted shares, pass received over entitled service.
pub fn jain(allotments: &[f64]) -> Option<f64> {
    let sum: f64 = allotments.iter().sum();
    let squares: f64 = allotments.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (allotments.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(jain(&[3.0; 4]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!((jain(&[]), jain(&[0.0, 0.0])), (None, None));
    }
}
