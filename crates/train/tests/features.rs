//! Fixed features against slow twins and against what others publish, and that a record's features are its own.

use rustfft::num_complex::Complex;
use std::f64::consts::PI;
use veracity_core::ClipNorm;
use veracity_noise::{Entropy, Key, Purpose, Stream};
use veracity_testkit::short;
use veracity_train::{
    Dataset, Labels, Noises, Shape,
    features::{Features, FrontEnd, private_mean, subtract_mean},
};

fn stream(seed: u64) -> Stream {
    Entropy::seeded(seed).stream(Purpose::Init, Key::default())
}

fn image(height: usize, width: usize) -> Shape {
    Shape::Image { channels: 1, height, width }
}

fn pattern(height: usize, width: usize) -> Vec<f32> {
    let value = |r: usize, c: usize| ((r * 7 + c * 13 + r * c) % 29) as f32 / 28.0;
    (0..height * width).map(|at| value(at / width, at % width)).collect()
}

fn dataset(rows: &[Vec<f32>]) -> Dataset {
    let labels = Labels::Classes { of: vec![0; rows.len()], classes: 2 };
    Dataset::new(rows.concat(), rows[0].len(), labels).unwrap()
}

fn apply(shape: Shape, features: &[Features], rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let front = FrontEnd::new(shape, features, &mut stream(1)).unwrap();
    let mapped = front.apply(&dataset(rows)).unwrap();
    assert_eq!(mapped.width(), front.output().size());
    (0..rows.len()).map(|at| mapped.row(at).to_vec()).collect()
}

const TWO_CHANNELS: Shape = Shape::Image { channels: 2, height: 12, width: 8 };

/// Every kind of map, alone and in chains, for [`TWO_CHANNELS`].
fn chains() -> Vec<Vec<Features>> {
    let scattering = Features::Scattering { scales: 1, angles: 4 };
    let patches = Features::Patches { filters: 5, side: 3, cells: 2 };
    vec![
        vec![scattering],
        vec![scattering, Features::Power { exponent: 0.5 }, Features::GroupNorm { groups: 5 }],
        vec![scattering, Features::GroupNorm { groups: 1 }, Features::UnitNorm { norm: 3.0 }],
        vec![patches, Features::UnitNorm { norm: 1.0 }],
        vec![Features::Fourier { count: 33, bandwidth: 2.0 }],
        vec![],
    ]
}

fn records(count: usize) -> Vec<Vec<f32>> {
    let value = |record: usize, at: usize| ((at * (record + 3) + 5 * record) % 17) as f32 / 16.0;
    (0..count).map(|record| (0..TWO_CHANNELS.size()).map(|at| value(record, at)).collect()).collect()
}

/// Scattering by its definition: sums over pixels, in double precision.
mod twin {
    use super::*;

    struct Plane {
        height: usize,
        width: usize,
        values: Vec<Complex<f64>>,
    }

    impl Plane {
        fn make(height: usize, width: usize, value: impl Fn(usize, usize) -> Complex<f64>) -> Plane {
            let values = (0..height * width).map(|at| value(at / width, at % width)).collect();
            Plane { height, width, values }
        }

        fn at(&self, row: usize, column: usize) -> Complex<f64> {
            self.values[row % self.height * self.width + column % self.width]
        }

        /// (self ⋆ filter) at every `step`-th pixel, all indices periodic.
        fn filtered(&self, filter: &Plane, step: usize) -> Plane {
            let (h, w) = (self.height, self.width);
            Plane::make(h / step, w / step, |row, column| {
                let pixels = (0..h).flat_map(|r| (0..w).map(move |c| (r, c)));
                pixels
                    .map(|(r, c)| self.at(r, c) * filter.at(row * step + h - r, column * step + w - c))
                    .sum()
            })
        }

        fn modulus(self) -> Plane {
            Plane { values: self.values.iter().map(|x| Complex::new(x.norm(), 0.0)).collect(), ..self }
        }

        /// Σ self(u) e^{sign·2πi k·u}, one side after the other.
        fn transformed(&self, sign: f64) -> Plane {
            let turn = |k: usize, u: usize, side: usize| {
                Complex::from_polar(1.0, sign * 2.0 * PI * (k * u % side) as f64 / side as f64)
            };
            let rows = Plane::make(self.height, self.width, |row, k| {
                (0..self.width).map(|u| self.at(row, u) * turn(k, u, self.width)).sum()
            });
            Plane::make(self.height, self.width, |k, column| {
                (0..self.height).map(|u| rows.at(u, column) * turn(k, u, self.height)).sum()
            })
        }

        /// The filter whose spectrum is the lower part of this one's.
        fn coarser(&self, times: usize) -> Plane {
            let (spectrum, (h, w)) = (self.transformed(-1.0), (self.height >> times, self.width >> times));
            let from = |k: usize, short: usize, side: usize| if k < short / 2 { k } else { side - short + k };
            let low = Plane::make(h, w, |row, column| {
                spectrum.at(from(row, h, self.height), from(column, w, self.width))
            });
            let mut filter = low.transformed(1.0);
            filter.values.iter_mut().for_each(|x| *x /= (h * w) as f64);
            filter
        }

        fn inner(&self) -> Vec<f64> {
            let inner = (1..self.height - 1).flat_map(|r| (1..self.width - 1).map(move |c| (r, c)));
            inner.map(|(r, c)| self.at(r, c).re).collect()
        }
    }

    /// An elliptic Gaussian with its long axis across the direction of its wave.
    fn gabor(h: usize, w: usize, spread: f64, theta: f64, frequency: f64, slant: f64) -> Plane {
        Plane::make(h, w, |row, column| {
            let mut sum = Complex::new(0.0, 0.0);
            for (a, b) in (-3..=3).flat_map(|a| (-3..=3).map(move |b| (a, b))) {
                let x = row as f64 + f64::from(a) * h as f64;
                let y = column as f64 + f64::from(b) * w as f64;
                let along = x * theta.cos() + y * theta.sin();
                let across = -x * theta.sin() + y * theta.cos();
                let square = along * along + slant * slant * across * across;
                sum += Complex::from_polar((-square / (2.0 * spread * spread)).exp(), frequency * along);
            }
            sum * slant / (2.0 * PI * spread * spread)
        })
    }

    fn morlet(h: usize, w: usize, scale: usize, angle: usize, angles: usize) -> Plane {
        let theta = (angles as f64 / 2.0 - 1.0 - angle as f64) * PI / angles as f64;
        let size = (1 << scale) as f64;
        let wave = gabor(h, w, 0.8 * size, theta, 0.75 * PI / size, 4.0 / angles as f64);
        let envelope = gabor(h, w, 0.8 * size, theta, 0.0, 4.0 / angles as f64);
        let mean = wave.values.iter().sum::<Complex<f64>>() / envelope.values.iter().sum::<Complex<f64>>();
        Plane::make(h, w, |r, c| wave.at(r, c) - mean * envelope.at(r, c))
    }

    pub fn scattering(pixels: &[f32], h: usize, w: usize, scales: usize, angles: usize) -> Vec<f64> {
        let padded = |side: usize| ((side >> scales) + 2) << scales;
        let (high, wide) = (padded(h), padded(w));
        let reflect = |at: usize, padded: usize, side: usize| {
            let from = (at as i64 - ((padded - side) / 2) as i64).unsigned_abs() as usize;
            if from < side { from } else { 2 * side - 2 - from }
        };
        let x = Plane::make(high, wide, |r, c| {
            Complex::new(f64::from(pixels[reflect(r, high, h) * w + reflect(c, wide, w)]), 0.0)
        });
        let low = gabor(high, wide, 0.8 * (1 << (scales - 1)) as f64, 0.0, 0.0, 1.0);
        let average =
            |plane: &Plane, level: usize| plane.filtered(&low.coarser(level), 1 << (scales - level)).inner();
        let filters: Vec<(usize, Plane)> = (0..scales * angles)
            .map(|at| (at / angles, morlet(high, wide, at / angles, at % angles, angles)))
            .collect();
        let (mut orders, mut second) = (average(&x, 0), Vec::new());
        for (j1, first) in &filters {
            let modulus = x.filtered(first, 1 << j1).modulus();
            orders.extend(average(&modulus, *j1));
            for (j2, filter) in filters.iter().filter(|(j2, _)| j2 > j1) {
                let inner = modulus.filtered(&filter.coarser(*j1), 1 << (j2 - j1)).modulus();
                second.extend(average(&inner, *j2));
            }
        }
        orders.extend(second);
        orders
    }
}

#[test]
fn scattering_is_that_of_its_definition() {
    for (height, width, scales, angles) in [(8, 8, 1, 8), (12, 8, 2, 4), (13, 10, 2, 2), (16, 17, 3, 2)] {
        let pixels = pattern(height, width);
        let features = [Features::Scattering { scales, angles }];
        let fast = apply(image(height, width), &features, std::slice::from_ref(&pixels)).remove(0);
        let slow = twin::scattering(&pixels, height, width, scales, angles);
        let paths = 1 + scales * angles + angles * angles * scales * (scales - 1) / 2;
        assert_eq!(fast.len(), paths * (height >> scales) * (width >> scales));
        assert_eq!(fast.len(), slow.len());
        let apart = |a: &[f32], b: &[f64]| {
            a.iter().zip(b).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max)
        };
        let largest = slow.iter().copied().fold(0.0, f64::max);
        assert!(
            apart(&fast, &slow) < 1e-6 * largest,
            "{height}×{width}: {} of {largest}",
            apart(&fast, &slow)
        );
        // The comparison can fail: one pixel more or less is seen.
        let mut other = pixels.clone();
        other[width + 3] = 0.0;
        assert!(apart(&fast, &twin::scattering(&other, height, width, scales, angles)) > 1e-3 * largest);
    }
}

/// # kymatio 0.3.0, numpy backend: for (h, w, J, L) below,
/// #   x = np.array([[((r*7+c*13+r*c)%29)/28.0 for c in range(w)] for r in range(h)])
/// #   y = kymatio.numpy.Scattering2D(J=J, shape=(h, w), L=L)(x); y.sum(), (y**2).sum(), y[k]
/// Kymatio takes 3.1415 for π and single precision for rotations, hence the tolerance.
#[test]
fn scattering_is_that_of_kymatio() {
    type Golden = ([usize; 4], f64, f64, [([usize; 3], f64); 5]);
    let golden: [Golden; 2] = [
        (
            [28, 28, 2, 8],
            7.616363e+01,
            1.533304e+01,
            [
                ([0, 0, 0], 4.356271e-01),
                ([1, 2, 1], 4.797748e-02),
                ([16, 1, 2], 2.144651e-02),
                ([40, 0, 1], 2.896696e-03),
                ([80, 1, 1], 3.024010e-03),
            ],
        ),
        (
            [32, 24, 3, 4],
            1.660392e+01,
            3.489004e+00,
            [
                ([0, 0, 0], 4.613653e-01),
                ([1, 2, 1], 7.630830e-02),
                ([12, 1, 2], 1.993767e-02),
                ([30, 0, 1], 6.833877e-03),
                ([60, 1, 1], 2.734046e-03),
            ],
        ),
    ];
    for ([height, width, scales, angles], sum, squares, places) in golden {
        let features = [Features::Scattering { scales, angles }];
        let rows = apply(image(height, width), &features, &[pattern(height, width)]);
        let ours: Vec<f64> = rows[0].iter().map(|x| f64::from(*x)).collect();
        let (high, wide) = (height >> scales, width >> scales);
        let near = |ours: f64, theirs: f64| assert!((ours / theirs - 1.0).abs() < 2e-4, "{ours} {theirs}");
        near(ours.iter().sum(), sum);
        near(ours.iter().map(|x| x * x).sum(), squares);
        for ([channel, row, column], theirs) in places {
            near(ours[(channel * high + row) * wide + column], theirs);
        }
    }
}

#[test]
fn a_record_changes_its_own_features_only() {
    for chain in chains() {
        let before = records(6);
        let mut after = before.clone();
        after[2].reverse();
        let (features, changed) = (apply(TWO_CHANNELS, &chain, &before), apply(TWO_CHANNELS, &chain, &after));
        for at in 0..6 {
            assert_eq!(features[at] == changed[at], at != 2, "{chain:?}, record {at}");
        }
        after.remove(2);
        let fewer = apply(TWO_CHANNELS, &chain, &after);
        let others = [&features[..2], &features[3..]].concat();
        assert_eq!(fewer, others, "{chain:?}");
    }
}

#[test]
fn features_do_not_depend_on_the_number_of_threads() {
    for chain in chains() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| apply(TWO_CHANNELS, &chain, &records(20)))
        };
        assert_eq!(on(1), on(3), "{chain:?}");
    }
}

#[test]
fn blank_and_extreme_images_have_finite_features() {
    for chain in chains() {
        for value in [0.0, -0.0, 1.0, 1e-30, 1e-40, 1e6] {
            let rows = apply(TWO_CHANNELS, &chain, &[vec![value; TWO_CHANNELS.size()]]);
            assert!(rows[0].iter().all(|x| x.is_finite()), "{chain:?} of {value}");
        }
    }
}

/// The mean of a wavelet is zero, so a flat image has an average and nothing else.
#[test]
fn a_flat_image_has_order_0_only() {
    let rows = apply(image(28, 28), &[Features::Scattering { scales: 2, angles: 8 }], &[vec![0.75; 784]]);
    let (average, waves) = rows[0].split_at(49);
    assert!(average.iter().all(|x| (x - 0.75).abs() < 1e-4));
    assert!(waves.iter().all(|x| x.abs() < 1e-6));
}

#[test]
fn groups_get_mean_0_and_variance_1_and_rows_their_norm() {
    for row in apply(TWO_CHANNELS, &[Features::GroupNorm { groups: 2 }], &records(3)) {
        for group in row.chunks_exact(96) {
            let mean = group.iter().sum::<f32>() / 96.0;
            let variance = group.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 96.0;
            assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-3, "{mean} {variance}");
        }
    }
    let chain = [Features::Power { exponent: 0.5 }, Features::UnitNorm { norm: 3.0 }];
    for row in apply(TWO_CHANNELS, &chain, &records(3)) {
        assert!((row.iter().map(|x| x * x).sum::<f32>().sqrt() - 3.0).abs() < 1e-5);
    }
    let signed = apply(Shape::Flat(3), &[Features::Power { exponent: 0.5 }], &[vec![-4.0, 0.0, 9.0]]);
    assert_eq!(signed[0], [-2.0, 0.0, 3.0]);
}

/// An inner product of random Fourier features is the mean of 20,000 independent numbers within ±2 whose expectation is the
/// kernel: by Hoeffding it is off by more than 0.065 with chance below 2 exp(−2·20,000·0.065²/16) < 6e-5. One seed.
#[test]
fn fourier_features_have_the_gaussian_kernel_and_no_other() {
    let rows = vec![vec![0.0, 0.0], vec![1.0, 0.5], vec![-1.0, 1.0]];
    let mapped = apply(Shape::Flat(2), &[Features::Fourier { count: 20_000, bandwidth: 1.5 }], &rows);
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        let inner: f32 = mapped[a].iter().zip(&mapped[b]).map(|(x, y)| x * y).sum();
        let square: f32 = rows[a].iter().zip(&rows[b]).map(|(x, y)| (x - y) * (x - y)).sum();
        let kernel = |bandwidth: f32| (-square / (2.0 * bandwidth * bandwidth)).exp();
        assert!((inner - kernel(1.5)).abs() < 0.065, "{inner} {}", kernel(1.5));
        assert!((inner - kernel(1.0)).abs() > 0.065, "the test must tell bandwidth 1.5 from 1");
    }
}

/// Over random directions of norm 1 in 9 dimensions, a squared response to a patch averages to a ninth of its squared norm,
/// with a standard deviation below √2 times that. One patch a cell leaves nothing averaged. One seed, 5 standard deviations.
#[test]
fn patches_are_normalised_averaged_and_split_by_sign() {
    let (pixels, filters) = (pattern(8, 8), 4_000);
    let patches = |cells: usize| {
        let features = [Features::Patches { filters, side: 3, cells }];
        apply(image(8, 8), &features, std::slice::from_ref(&pixels)).remove(0)
    };
    let fine = patches(6);
    for place in [0, 7, 35] {
        let (row, column) = (place / 6, place % 6);
        let patch: Vec<f32> = (0..9).map(|at| pixels[(row + at / 3) * 8 + column + at % 3]).collect();
        let mean = patch.iter().sum::<f32>() / 9.0;
        let square: f32 = patch.iter().map(|x| (x - mean) * (x - mean)).sum();
        let expected = square / (square / 9.0 + 0.01) / 9.0;
        let response = |channel: usize| fine[channel * 36 + place];
        let squares = (0..filters).map(|f| (response(f) + response(f + filters)).powi(2));
        let found = squares.sum::<f32>() / filters as f32;
        assert!((found / expected - 1.0).abs() < 5.0 * (2.0 / filters as f32).sqrt(), "{found} {expected}");
        assert!((0..filters).all(|f| response(f) == 0.0 || response(f + filters) == 0.0));
    }
    // Coarser cells are means of finer ones, from the same filters; here the one at the upper right.
    let coarse = patches(2);
    for channel in [0, 17, filters + 5] {
        let places = (0..3).flat_map(|r| (3..6).map(move |c| r * 6 + c));
        let mean = places.map(|place| fine[channel * 36 + place]).sum::<f32>() / 9.0;
        assert!((coarse[channel * 4 + 1] - mean).abs() < 1e-5);
    }
}

#[test]
fn what_does_not_fit_is_refused_in_one_line() {
    let refused = |shape: Shape, features: Features| {
        let message = FrontEnd::new(shape, &[features], &mut stream(1)).unwrap_err().to_string();
        let says = ["expected", "but the input is"].iter().any(|word| message.contains(word));
        let is_plain = says && !message.contains('\n') && !message.ends_with('.');
        assert!(is_plain, "{message}");
    };
    for (scales, angles) in [(0, 8), (9, 8), (2, 0), (2, 65), (4, 8)] {
        refused(image(12, 12), Features::Scattering { scales, angles });
    }
    refused(Shape::Flat(784), Features::Scattering { scales: 2, angles: 8 });
    refused(Shape::Flat(784), Features::Patches { filters: 1, side: 1, cells: 1 });
    for (filters, side, cells) in [(0, 3, 1), (1, 0, 1), (1, 13, 1), (1, 3, 0), (1, 3, 11)] {
        refused(image(12, 12), Features::Patches { filters, side, cells });
    }
    for (count, bandwidth) in [(0, 1.0), (usize::MAX, 1.0), (1, 0.0), (1, f32::NAN), (1, f32::INFINITY)] {
        refused(image(12, 12), Features::Fourier { count, bandwidth });
    }
    for groups in [0, 2, 5] {
        refused(Shape::Image { channels: 3, height: 4, width: 4 }, Features::GroupNorm { groups });
    }
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        refused(Shape::Flat(3), Features::Power { exponent: bad });
        refused(Shape::Flat(3), Features::UnitNorm { norm: bad });
    }
    let front = FrontEnd::new(image(8, 8), &[], &mut stream(1)).unwrap();
    assert!(front.apply(&dataset(&[vec![0.0; 63]])).unwrap_err().to_string().contains("63"));
}

fn mean_of(data: &Dataset, population: u64, noise: f64, seed: u64) -> Vec<f32> {
    let rng = Noises::new(Entropy::seeded(seed).family(Purpose::Preprocess, 0, 0));
    let clip = ClipNorm::new(1.0).unwrap();
    private_mean(data, short::count(population), clip, short::noise(noise), rng).unwrap()
}

/// With hardly any noise the mean shows what one record can do: at most the clip norm over the population, however long the
/// record is.
#[test]
fn one_record_moves_the_sum_behind_a_mean_by_its_clip_norm_at_most() {
    let rows: Vec<Vec<f32>> = records(50);
    let mut with_long = rows.clone();
    with_long.push(records(51).remove(50).iter().map(|x| 1e20 * x).collect());
    let [few, many] = [&rows, &with_long].map(|rows| mean_of(&dataset(rows), 50, 1e-3, 3));
    let moved = few.iter().zip(&many).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    assert!(moved * 50.0 <= 1.0 && moved * 50.0 > 0.99, "{}", moved * 50.0);
    // Subtracting it leaves the rest as it was.
    let data = dataset(&rows);
    let centred = subtract_mean(&few, data.clone()).unwrap();
    for (at, x) in centred.row(7).iter().enumerate() {
        assert_eq!(*x, data.row(7)[at] - few[at]);
    }
    let narrow = dataset(&[vec![0.0; 3]]);
    assert!(subtract_mean(&few, narrow).unwrap_err().to_string().contains("3 features"));
}

/// No records, so the mean is noise of standard deviation 5/100 in 20,000 places: the mean square is within 5 % of its
/// expectation except with a chance below 1e-6 (5 standard deviations, √(2/20,000) each). One seed.
#[test]
fn a_private_mean_has_the_noise_of_its_mechanism() {
    let labels = Labels::Classes { of: vec![], classes: 2 };
    let nothing = Dataset::new(vec![], 20_000, labels).unwrap();
    let mean = mean_of(&nothing, 100, 5.0, 4);
    let square = mean.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / 20_000.0;
    assert!((square / 0.05f64.powi(2) - 1.0).abs() < 0.05, "{square}");
    assert!((square / 0.06f64.powi(2) - 1.0).abs() > 0.05, "the test must tell a multiplier of 5 from 6");
}
