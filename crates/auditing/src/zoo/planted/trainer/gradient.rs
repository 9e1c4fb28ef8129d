//! One example's gradient, written out in doubles, for linear–relu–linear with softmax cross-entropy.

/// Features of a record.
pub const INPUTS: usize = 3;
/// Units between the two layers.
pub const HIDDEN: usize = 4;
/// Classes.
pub const CLASSES: usize = 2;
/// Where the second layer's parameters begin.
pub const SECOND: usize = (INPUTS + 1) * HIDDEN;
/// Parameters of both layers: for each the weights, those of one output side by side, then the biases.
pub const PARAMETERS: usize = SECOND + (HIDDEN + 1) * CLASSES;

/// Features and a class.
pub type Record = ([f32; INPUTS], usize);

/// What one example does to a layer: its input, and what comes back to its outputs.
#[derive(Debug, Clone)]
pub struct Signals {
    /// The inputs of both layers.
    pub inputs: [Vec<f64>; 2],
    /// The derivatives of the loss by the outputs of both layers.
    pub back: [Vec<f64>; 2],
    /// The loss.
    pub loss: f64,
}

impl Signals {
    /// Forward and back.
    pub fn of(record: &Record, parameters: &[f32]) -> Signals {
        let w = |at: usize| f64::from(parameters[at]);
        let x = record.0.map(f64::from);
        let hidden: Vec<f64> = (0..HIDDEN)
            .map(|j| (0..INPUTS).map(|i| x[i] * w(j * INPUTS + i)).sum::<f64>() + w(INPUTS * HIDDEN + j))
            .collect();
        let active: Vec<f64> = hidden.iter().map(|h| h.max(0.0)).collect();
        let weight = |j: usize, k: usize| w(SECOND + k * HIDDEN + j);
        let outputs: Vec<f64> = (0..CLASSES)
            .map(|k| {
                (0..HIDDEN).map(|j| active[j] * weight(j, k)).sum::<f64>() + w(SECOND + HIDDEN * CLASSES + k)
            })
            .collect();
        let largest = outputs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = outputs.iter().map(|o| (o - largest).exp()).sum();
        let slope: Vec<f64> = (0..CLASSES)
            .map(|k| (outputs[k] - largest).exp() / total - f64::from(u8::from(k == record.1)))
            .collect();
        let back = (0..HIDDEN)
            .map(|j| {
                let whole: f64 = (0..CLASSES).map(|k| slope[k] * weight(j, k)).sum();
                if hidden[j] > 0.0 { whole } else { 0.0 }
            })
            .collect();
        let loss = total.ln() + largest - outputs[record.1];
        Signals { inputs: [x.to_vec(), active], back: [back, slope], loss }
    }

    /// The gradient by all parameters.
    pub fn gradient(&self) -> Vec<f64> {
        let mut gradient = Vec::with_capacity(PARAMETERS);
        for (inputs, back) in self.inputs.iter().zip(&self.back) {
            for slope in back {
                gradient.extend(inputs.iter().map(|input| input * slope));
            }
            gradient.extend(back);
        }
        gradient
    }
}

/// Whether a parameter is a bias.
pub fn is_bias(at: usize) -> bool {
    (INPUTS * HIDDEN..SECOND).contains(&at) || at >= SECOND + HIDDEN * CLASSES
}
