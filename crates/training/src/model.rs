//! A trained model as a file: its weights as safetensors, and in their metadata all that is needed to use them.

use super::{
    DataSpec, ModelSpec, TrainingPlan,
    chain::{Chain, Statistics},
    elsewhere::SCHEMA as ELSEWHERE,
    tensors::{Tensor, Tensors},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};
use veracity_account::claims::{ClaimFile, Provenance};
use veracity_core::{Error, Refusal};
use veracity_train::{Dataset, Layer, Loss, Network, Shape};

/// The schema of the card in a model's metadata.
pub const SCHEMA: &str = "veracity.model/1";
/// Under which word the card is in the metadata.
pub(super) const CARD: &str = "veracity";

/// What a model is: how records are read, what is computed of them, and whether it may be published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// How records are read; without paths.
    pub data: DataSpec,
    /// Features of a record, before those that are charged.
    pub width: usize,
    /// The features, and the layers or the convex model.
    pub model: ModelSpec,
    /// The loss it was trained for, by name.
    pub loss: String,
    /// Whether it was trained with noise that protects. See the claim beside it.
    pub for_release: bool,
}

impl ModelCard {
    pub(super) fn new(plan: &TrainingPlan, data: &Dataset) -> Result<ModelCard, Refusal> {
        let loss = match &plan.model().convex {
            Some(convex) => convex.loss.clone(),
            None => plan.training().loss()?.name().to_owned(),
        };
        Ok(ModelCard {
            schema: SCHEMA.to_owned(),
            data: plan.data().clone(),
            width: data.width(),
            model: plan.model().clone(),
            loss,
            for_release: false,
        })
    }

    /// What becomes of records before the model sees them.
    pub(super) fn chain(&self) -> Result<Chain, Refusal> {
        Chain::new(&self.data, &self.model)
    }

    /// What outputs of layers stand for.
    pub(super) fn loss(&self) -> Result<Loss, Refusal> {
        match self.loss.as_str() {
            "softmax-cross-entropy" => Ok(Loss::SoftmaxCrossEntropy),
            "logistic" => Ok(Loss::Logistic),
            // Predictions are the same for both, whatever the slope was limited to.
            "squared" | "huber" => Ok(Loss::Squared),
            _ => Err(Refusal::invalid("the loss of the model is unknown; it was written by another version")),
        }
    }
}

/// A model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What it is.
    pub card: ModelCard,
    /// Its parameters, as the network lays them out; of a convex model its weights, score after score.
    pub parameters: Vec<f32>,
    /// What was learnt of the training records beside them, privately, and is applied to every record.
    pub statistics: Statistics,
}

impl Model {
    /// The file's bytes, as [`Model::read`] takes them: weights that ran off to infinity are refused here, not there.
    ///
    /// # Errors
    /// Refuses weights that are not finite.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Refusal> {
        Ok(self.file()?.to_bytes())
    }

    /// SHA-256 of its tensors, which ties a claim to it.
    ///
    /// # Errors
    /// Refuses weights that are not finite.
    pub fn digest(&self) -> Result<String, Refusal> {
        Ok(self.file()?.digest())
    }

    /// A claim, tied to this model and to the data that it was trained on.
    ///
    /// # Errors
    /// Refuses weights that are not finite.
    pub fn claimed(&self, claim: ClaimFile, provenance: &Provenance) -> Result<ClaimFile, Refusal> {
        Ok(claim.of_model(self.digest()?, provenance))
    }

    /// SHA-256 of the tensors of a file, and whether it says that it is a model of ours; or what is wrong with it.
    ///
    /// # Errors
    /// Says why the bytes are no safetensors file.
    pub fn digest_of(bytes: &[u8]) -> Result<(String, bool), &'static str> {
        let found = Tensors::parse(bytes)?;
        Ok((found.digest(), is_model(&found)))
    }

    /// Whether a file is a model of ours.
    pub fn is_one(bytes: &[u8]) -> bool {
        Tensors::parse(bytes).is_ok_and(|found| is_model(&found))
    }

    fn file(&self) -> Result<Tensors, Refusal> {
        if !self.parameters.iter().chain(self.statistics.0.iter().flatten()).all(|value| value.is_finite()) {
            return Err(Refusal::invalid(
                "weights are not finite after the last step; use a smaller learning_rate (the cost of this run is spent)",
            ));
        }
        let card = serde_json::to_string(&self.card)
            .map_err(|error| Refusal::invalid(format!("model cannot be written: {error}")))?;
        let (mut statistics, mut weights) = self.card.tensors()?;
        for (tensor, values) in statistics.iter_mut().zip(&self.statistics.0) {
            tensor.values.clone_from(values);
        }
        let mut rest = &self.parameters[..];
        for tensor in &mut weights {
            let (values, others) = rest.split_at(tensor.shape.iter().product());
            tensor.values = values.to_vec();
            rest = others;
        }
        let tensors = [statistics, weights].concat();
        let about = BTreeMap::from([(CARD.to_owned(), card), ("format".to_owned(), "veracity".to_owned())]);
        Ok(Tensors { about, tensors })
    }

    /// Reads a model. Never panics, whatever the file.
    ///
    /// # Errors
    /// Refuses files that cannot be read or that are no model of this version.
    pub fn read(path: &Path) -> Result<Model, Error> {
        let refuse = |why: &str| Error::file("model", path, why);
        let found = Tensors::read("model", path)?;
        let card = found
            .about
            .get(CARD)
            .ok_or_else(|| refuse("a model that veracity wrote, found another safetensors file"))?;
        let card: ModelCard = serde_json::from_str(card)
            .map_err(|_| refuse("a model of this version, found damaged metadata"))?;
        if card.schema != SCHEMA {
            return Err(refuse("a model of this version, found another schema"));
        }
        let (statistics, weights) = card.tensors()?;
        let expected = statistics.iter().chain(&weights);
        let fits = statistics.len() + weights.len() == found.tensors.len()
            && expected.zip(&found.tensors).all(|(a, b)| a.name == b.name && a.shape == b.shape);
        if !fits {
            return Err(refuse("tensors that match the layers, found others"));
        }
        if found.tensors.iter().flat_map(|tensor| &tensor.values).any(|value| !value.is_finite()) {
            return Err(refuse("finite weights, found infinite or missing ones"));
        }
        let mut values = found.tensors.into_iter().map(|tensor| tensor.values);
        let statistics = Statistics(values.by_ref().take(statistics.len()).collect());
        Ok(Model { card, statistics, parameters: values.flatten().collect() })
    }

    /// The network its parameters belong to.
    pub(super) fn network(&self) -> Result<Network, Refusal> {
        self.card.model.network(self.card.width)
    }
}

/// Whether tensors are said to be a model, in words that this version knows or a later one may.
fn is_model(found: &Tensors) -> bool {
    #[derive(Deserialize)]
    struct Named {
        schema: String,
    }
    let named = found.about.get(CARD).and_then(|card| serde_json::from_str::<Named>(card).ok());
    named.is_some_and(|card| {
        [SCHEMA, ELSEWHERE]
            .iter()
            .any(|ours| card.schema.starts_with(ours.trim_end_matches(char::is_numeric)))
    })
}

impl ModelCard {
    /// How many bytes the file of such a model takes, at most.
    pub(super) fn file_size(&self) -> Result<u64, Refusal> {
        let card = serde_json::to_string(self)
            .map_err(|error| Refusal::invalid(format!("model cannot be written: {error}")))?;
        let (statistics, weights) = self.tensors()?;
        let tensor = |tensor: &Tensor| {
            let numbers: usize = tensor.shape.iter().product();
            // Name, shape and place in the header.
            4 * numbers + tensor.name.len() + 20 * tensor.shape.len() + 100
        };
        let tensors: usize = statistics.iter().chain(&weights).map(tensor).sum();
        // The card is a string in JSON, in which a quotation mark takes two bytes.
        Ok((2 * card.len() + tensors + 200) as u64)
    }

    /// Names and shapes of its tensors: those of what was learnt of all records, and those of the parameters in their order;
    /// without values.
    fn tensors(&self) -> Result<(Vec<Tensor>, Vec<Tensor>), Refusal> {
        let chain = self.chain()?;
        let weights = match &self.model.convex {
            Some(convex) => {
                let shape = vec![self.data.scores()?, convex.dimension(chain.width(self.width))];
                vec![Tensor { name: "convex.weight".to_owned(), shape, values: Vec::new() }]
            }
            None => self.layers()?,
        };
        Ok((chain.tensors(), weights))
    }

    fn layers(&self) -> Result<Vec<Tensor>, Refusal> {
        let network = self.model.network(self.width)?;
        let layers = network.layers();
        let mut tensors = Vec::new();
        let mut start = 0;
        let mut input = network.input();
        for (at, layer) in layers.iter().enumerate() {
            // A network of the first layers has their parameters and ends in their shape.
            let so_far = Network::new(network.input(), layers[..=at].to_vec())?;
            let own = so_far.parameters() - start;
            let mut add = |part: &str, shape: Vec<usize>| {
                let name = format!("{at}.{}{part}", layer.name());
                tensors.push(Tensor { name, shape, values: Vec::new() });
            };
            match (layer, input) {
                (Layer::Linear { outputs }, Shape::Flat(inputs)) => {
                    add(".weight", vec![*outputs, inputs]);
                    add(".bias", vec![*outputs]);
                }
                _ if own > 0 => add("", vec![own]),
                _ => {}
            }
            start = so_far.parameters();
            input = so_far.output();
        }
        Ok(tensors)
    }
}
