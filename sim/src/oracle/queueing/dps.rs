//! Discriminatory processor sharing: one CPU shared among all jobs in proportion to their classes' weights.

/// A class of jobs of exponential size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Arrival rate.
    pub lambda: f64,
    /// Inverse of the mean size.
    pub mu: f64,
    /// Weight.
    pub weight: f64,
}

/// The mean response of each class k, from the linear system of Fayolle, Mitrani and Iasnogorodski (1980):
/// T_k (1 - sum_j lambda_j w_j / (w_j mu_j + w_k mu_k)) - sum_j lambda_j w_j T_j / (w_j mu_j + w_k mu_k) = 1
/// / mu_k. The limit of a weighted fair scheduler as its quantum shrinks.
pub fn responses(classes: &[Class]) -> Vec<f64> {
    let n = classes.len();
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(n);
    for (k, own) in classes.iter().enumerate() {
        let term = |j: &Class| j.lambda * j.weight / (j.weight * j.mu + own.weight * own.mu);
        let mut row: Vec<f64> = classes.iter().map(|j| -term(j)).collect();
        row[k] += 1.0 - classes.iter().map(term).sum::<f64>();
        row.push(1.0 / own.mu);
        rows.push(row);
    }
    solve(rows)
}

/// Gaussian elimination with row pivots; each row ends with its right-hand side.
fn solve(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let n = rows.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        rows.swap(column, pivot.unwrap_or(column));
        let top = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|&(index, _)| index != column) {
            let factor = row[column] / top[column];
            row.iter_mut().zip(&top).for_each(|(x, t)| *x -= factor * t);
        }
    }
    rows.iter().enumerate().map(|(i, row)| row[n] / row[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6 * expected, "{found} is not {expected}");
    }

    const MIXED: [Class; 3] = [
        Class { lambda: 0.2, mu: 1.0, weight: 4.0 },
        Class { lambda: 0.1, mu: 0.5, weight: 2.0 },
        Class { lambda: 0.6, mu: 2.0, weight: 1.0 },
    ];

    /// Equal weights are PS: each class has its mean size over the idle share.
    #[test]
    fn equal_weights() {
        let equal = MIXED.map(|class| Class { weight: 3.0, ..class });
        for (response, class) in responses(&equal).into_iter().zip(equal) {
            near(response, 1.0 / class.mu / (1.0 - 0.7));
        }
    }

    /// Mean unfinished work is the same under every policy: with exponential sizes it is sum of lambda T /
    /// mu.
    #[test]
    fn unfinished_work_is_conserved() {
        let work: f64 = responses(&MIXED).iter().zip(MIXED).map(|(t, c)| c.lambda * t / c.mu).sum();
        let second_moments: f64 = MIXED.iter().map(|c| c.lambda * 2.0 / (c.mu * c.mu)).sum();
        near(work, second_moments / (2.0 * (1.0 - 0.7)));
    }

    /// An enormous weight is absolute priority: an M/M/1 queue of its own.
    #[test]
    fn great_weights_are_priority() {
        let mut classes = MIXED;
        classes[0].weight = 1e9;
        near(responses(&classes)[0], 1.0 / (1.0 - 0.2));
    }

    #[test]
    fn heavier_is_faster() {
        let two = [1.0, 5.0].map(|weight| Class { lambda: 0.35, mu: 1.0, weight });
        let response = responses(&two);
        assert!(response[1] < 1.0 / 0.3 && 1.0 / 0.3 < response[0]);
        near((response[0] + response[1]) / 2.0, 1.0 / 0.3);
    }
}
