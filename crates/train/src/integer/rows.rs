//! Records as a device reads them: whole numbers in one byte or in three, rows padded to 64, and for each its norm and its label.

use crate::{Dataset, Labels};
use veracity_core::Refusal;

/// Bits of a feature that is no byte, without its sign.
const BITS: i32 = 22;

/// All records of a job, one dataset after another.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Bytes of a feature: one, or three with the lowest first.
    pub planes: usize,
    /// Features of a row, padding included.
    pub width: usize,
    pub bytes: Vec<u8>,
    /// Squared norm with the bias, never below the true one, and the label's bits.
    pub about: Vec<[f32; 2]>,
    /// What a level is worth.
    pub unit: f64,
}

impl Rows {
    /// The records of several datasets of one width.
    ///
    /// # Numerics  Bytes are exact. Other features are rounded to multiples of 2^-22 of the least power of two above all of them
    pub fn new(parts: &[&Dataset]) -> Result<Rows, Refusal> {
        let inputs = parts.first().map_or(0, |part| part.width());
        let width = inputs.next_multiple_of(64);
        let levels: Option<Vec<(Vec<u8>, f64)>> = parts.iter().map(|part| levels(part)).collect();
        // Datasets without records or with nothing but zeros are levels of any unit.
        let unit_of = |levels: &[(Vec<u8>, f64)]| {
            let units: Vec<f64> = levels
                .iter()
                .filter(|(bytes, _)| bytes.iter().any(|b| *b > 0))
                .map(|(_, unit)| *unit)
                .collect();
            let first = units.first().copied().unwrap_or(1.0);
            units.iter().all(|unit| *unit == first).then_some(first)
        };
        let mut rows = Rows { planes: 1, width, bytes: Vec::new(), about: Vec::new(), unit: 1.0 };
        if let Some(levels) = levels
            && let Some(unit) = unit_of(&levels)
        {
            rows.unit = unit;
            for (part, (bytes, _)) in parts.iter().zip(&levels) {
                for (at, row) in bytes.chunks_exact(inputs).enumerate() {
                    let start = rows.bytes.len();
                    rows.bytes.extend_from_slice(row);
                    rows.bytes.resize(start + width, 0);
                    let square: u64 = row.iter().map(|b| u64::from(*b).pow(2)).sum();
                    rows.about.push([norm(square as f64, unit)?, label(part, at)]);
                }
            }
            return Ok(rows);
        }
        rows.planes = 3;
        let all = || parts.iter().flat_map(|part| (0..part.len()).flat_map(|at| part.row(at)));
        let most = all().fold(0.0f64, |most, x| most.max(f64::from(x.abs())));
        let exponent = if most > 0.0 { most.log2().floor() as i32 + 1 } else { 0 };
        rows.unit = 2f64.powi(exponent - BITS);
        for part in parts {
            for at in 0..part.len() {
                let numbers: Vec<i32> =
                    part.row(at).iter().map(|x| (f64::from(*x) / rows.unit).round() as i32).collect();
                for plane in 0..3 {
                    let start = rows.bytes.len();
                    rows.bytes.extend(numbers.iter().map(|number| (number >> (8 * plane)) as u8));
                    rows.bytes.resize(start + width, 0);
                }
                let square: f64 = numbers.iter().map(|number| f64::from(*number).powi(2)).sum();
                rows.about.push([norm(square, rows.unit)?, label(part, at)]);
            }
        }
        Ok(rows)
    }
}

fn levels(data: &Dataset) -> Option<(Vec<u8>, f64)> {
    if data.is_empty() {
        return Some((Vec::new(), 1.0));
    }
    data.levels()
}

/// The squared norm of a record and its bias, rounded up.
fn norm(square: f64, unit: f64) -> Result<f32, Refusal> {
    let exact = square * unit * unit + 1.0;
    let up = (exact * (1.0 + 1e-7)) as f32;
    if up.is_finite() {
        return Ok(up);
    }
    Err(Refusal::Invalid(
        "the norm of a record is too large for this device; scale features below 1e18".into(),
    ))
}

/// The bits of a class, or a number.
fn label(data: &Dataset, at: usize) -> f32 {
    match data.labels() {
        Labels::Classes { of, .. } => f32::from_bits(of[at]),
        Labels::Values(values) => values[at],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(features: Vec<f32>, width: usize) -> Dataset {
        let labels = vec![0.5; features.len() / width];
        Dataset::of_values(features, width, labels).unwrap()
    }

    #[test]
    fn levels_are_bytes_and_norms_are_never_short() {
        let data = values(vec![0.0, 1.0 / 255.0, 1.0, 3.0 / 255.0], 2);
        let rows = Rows::new(&[&data, &values(vec![0.0, 0.0], 2)]).unwrap();
        assert_eq!((rows.planes, rows.width, rows.bytes.len()), (1, 64, 3 * 64));
        assert_eq!((rows.bytes[0], rows.bytes[1], rows.bytes[64], rows.bytes[65]), (0, 1, 255, 3));
        assert!((rows.unit * 255.0 - 1.0).abs() < 1e-12);
        for (row, about) in [(0.0, 1.0 / 255.0), (1.0, 3.0 / 255.0), (0.0, 0.0)].into_iter().zip(&rows.about)
        {
            let true_norm: f64 = row.0 * row.0 + row.1 * row.1 + 1.0;
            assert!(f64::from(about[0]) >= true_norm && f64::from(about[0]) < true_norm * (1.0 + 1e-6));
            assert_eq!(about[1], 0.5);
        }
    }

    #[test]
    fn other_features_are_rounded_to_three_bytes() {
        let features = vec![-3.9, 0.1, 2.0, -1e-6, 3.999_999, 0.0];
        let rows = Rows::new(&[&values(features.clone(), 3)]).unwrap();
        assert_eq!((rows.planes, rows.unit), (3, 2f64.powi(2 - BITS)));
        for (at, x) in features.iter().enumerate() {
            let (row, column) = (at / 3, at % 3);
            let byte = |plane: usize| rows.bytes[(3 * row + plane) * rows.width + column];
            let number = i32::from(byte(2) as i8) * 65_536 + i32::from(byte(1)) * 256 + i32::from(byte(0));
            assert!((f64::from(number) * rows.unit - f64::from(*x)).abs() <= rows.unit / 2.0 + 1e-12, "{x}");
        }
        // Levels of two units are no bytes of one.
        let two = Rows::new(&[&values(vec![1.0 / 255.0], 1), &values(vec![1.0 / 16.0], 1)]).unwrap();
        assert_eq!(two.planes, 3);
    }
}
