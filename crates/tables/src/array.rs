//! Numbers in a box, as NPY and IDX files hold them, in row-major order.

use crate::{Scale, scale::scaled};
use veracity_core::Refusal;

/// Numbers of one kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Numbers {
    /// Bytes.
    U8(Vec<u8>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

impl Numbers {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Numbers::U8(all) => all.len(),
            Numbers::I32(all) => all.len(),
            Numbers::I64(all) => all.len(),
            Numbers::F32(all) => all.len(),
            Numbers::F64(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them as features, or nothing when one is not a finite number.
    pub(crate) fn features(&self, scale: Option<Scale>) -> Option<Vec<f32>> {
        match self {
            Numbers::U8(all) => {
                // A table of 256 scaled bytes: images are large, and a division each is not needed.
                let table: Option<Vec<f32>> = (0..=255).map(|byte| scaled(scale, f64::from(byte))).collect();
                let table = table?;
                Some(all.iter().map(|byte| table[usize::from(*byte)]).collect())
            }
            Numbers::I32(all) => all.iter().map(|x| scaled(scale, f64::from(*x))).collect(),
            Numbers::I64(all) => all.iter().map(|x| scaled(scale, *x as f64)).collect(),
            Numbers::F32(all) => all.iter().map(|x| scaled(scale, f64::from(*x))).collect(),
            Numbers::F64(all) => all.iter().map(|x| scaled(scale, *x)).collect(),
        }
    }

    /// All of them as classes from 0 to `classes` − 1, or nothing when one is not.
    pub(crate) fn classes(&self, classes: usize) -> Option<Vec<u32>> {
        let whole = |x: f64| (x.fract() == 0.0).then_some(x as i64);
        let class = |x: i64| u32::try_from(x).ok().filter(|class| (*class as usize) < classes);
        match self {
            Numbers::U8(all) => all.iter().map(|x| class(i64::from(*x))).collect(),
            Numbers::I32(all) => all.iter().map(|x| class(i64::from(*x))).collect(),
            Numbers::I64(all) => all.iter().map(|x| class(*x)).collect(),
            Numbers::F32(all) => all.iter().map(|x| whole(f64::from(*x)).and_then(class)).collect(),
            Numbers::F64(all) => all.iter().map(|x| whole(*x).and_then(class)).collect(),
        }
    }
}

/// Numbers in a box of some shape.
///
/// # Examples
///
/// Numbers that are there already become features and labels by the same road as those of a file:
///
/// ```
/// use veracity_tables::{Array, LabelKind, Limits, Numbers, assemble};
///
/// let points = Array::new(vec![2, 3], Numbers::F64(vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))?;
/// let classes = Array::new(vec![2], Numbers::U8(vec![1, 0]))?;
/// let labels = Some((&classes, &LabelKind::Counted(2)));
/// let table = assemble("points", &points, None, labels, &Limits::default())?;
/// assert_eq!((table.rows(), table.width), (2, 3));
/// assert!(Array::new(vec![2, 2], Numbers::U8(vec![1, 2, 3])).is_err());
/// # Ok::<(), veracity_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    numbers: Numbers,
}

impl Array {
    /// Checks that `numbers`, in row-major order, are as many as the sides of `shape` say.
    ///
    /// # Errors
    /// Refuses another number of them.
    pub fn new(shape: Vec<usize>, numbers: Numbers) -> Result<Array, Refusal> {
        let count = shape.iter().try_fold(1usize, |count, side| count.checked_mul(*side));
        if count == Some(numbers.len()) {
            return Ok(Array { shape, numbers });
        }
        Err(Refusal::out_of_range("numbers", numbers.len(), "the product of the dimensions of the array"))
    }

    /// As read: `numbers` are as many as `shape` says, in row-major order.
    pub(crate) fn as_read(shape: Vec<usize>, numbers: Numbers) -> Array {
        debug_assert_eq!(shape.iter().product::<usize>(), numbers.len());
        Array { shape, numbers }
    }

    /// Its sides.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its numbers, the last side running fastest.
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }
}

/// Numbers stored with the first side running fastest, put in row-major order.
pub(crate) fn row_major<T: Copy>(numbers: &[T], shape: &[usize]) -> Vec<T> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for side in shape {
        strides.push(stride);
        stride *= side;
    }
    let mut place = vec![0; shape.len()];
    let mut at = 0;
    let mut sorted = Vec::with_capacity(numbers.len());
    for _ in 0..numbers.len() {
        sorted.push(numbers[at]);
        for axis in (0..shape.len()).rev() {
            place[axis] += 1;
            at += strides[axis];
            if place[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            place[axis] = 0;
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_major_numbers_are_put_in_rows() {
        let shape = [2, 3, 4];
        let at = |i: usize, j: usize, k: usize| i + 2 * j + 6 * k;
        let stored: Vec<usize> = (0..24).collect();
        let rows = row_major(&stored, &shape);
        for (n, (i, j, k)) in
            (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| (i, j, k)))).enumerate()
        {
            assert_eq!(rows[n], at(i, j, k));
        }
        assert_eq!(row_major(&[7], &[]), [7]);
    }

    #[test]
    fn only_whole_numbers_in_range_are_classes() {
        assert_eq!(Numbers::F64(vec![0.0, 2.0]).classes(3), Some(vec![0, 2]));
        for bad in [3.0, -1.0, 0.5, f64::NAN, f64::INFINITY, 4_294_967_296.0] {
            assert_eq!(Numbers::F64(vec![bad]).classes(3), None, "{bad}");
        }
        assert_eq!(Numbers::I64(vec![1 << 32]).classes(3), None);
    }
}
