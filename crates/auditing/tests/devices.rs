//! Audits on a device: the same scores, shards, journals and verdicts as on the cores of this machine, in portions; and trials that are
//! run again on the cores, to the bit.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use veracity_auditing::{
    Attack, AttackRequest, AuditDone, AuditSettings, AuditSubject, CanaryKind, Case, Failure, Method,
    Opening, Outcome, Retention, Scoring, Shard, Start, TrainingAudit, audit,
    bound::sequential::Rounds,
    certificate::{Recomputation, VerifyOptions, recompute},
    device::{Cpu, Device, Trainings},
    merge, observe,
};
use veracity_core::{Count, Epsilon, Refusal};
use veracity_train::{Dataset, Labels, Layer, Network, Plan, Shape, cohort, integer::IntegerReference};
use veracity_training::TrainingPlan;

const SEED: u64 = 3;

/// The cores of this machine as a device of another name: it counts what it is asked for, and may be off by a known part.
#[derive(Debug)]
struct Probe {
    name: &'static str,
    portion: usize,
    /// Whether it computes in whole numbers, and not as these cores do.
    is_whole: bool,
    /// Everything that is read is off by this part of the larger of 1 and itself.
    off: f32,
    /// From this call on it is broken.
    breaks_at: usize,
    /// A trial that it will not train.
    refuses: Option<u64>,
    /// How many trainings each call was for.
    calls: Mutex<Vec<usize>>,
}

impl Probe {
    fn new() -> Probe {
        let (breaks_at, calls) = (usize::MAX, Mutex::default());
        Probe { name: "probe:0 X", portion: 7, is_whole: false, off: 0.0, breaks_at, refuses: None, calls }
    }

    fn calls(&self) -> Vec<usize> {
        self.calls.lock().unwrap().clone()
    }
}

impl Device for Probe {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn portion(&self, _: &Plan) -> usize {
        self.portion
    }

    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        if plan.steps.get() < 100 {
            return Ok(());
        }
        Err(Refusal::out_of_range("steps", plan.steps.get(), "fewer than 100 on this device"))
    }

    fn has_scores(&self) -> bool {
        self.is_whole
    }

    fn train(&self, trainings: &Trainings<'_>) -> Result<Vec<Vec<f32>>, Refusal> {
        let mut calls = self.calls.lock().unwrap();
        calls.push(trainings.trials.len());
        if calls.len() > self.breaks_at || self.refuses.is_some_and(|trial| trainings.trials.contains(&trial))
        {
            return Err(Refusal::invalid("the fan has stopped"));
        }
        drop(calls);
        let mut read = if self.is_whole { IntegerReference.train(trainings)? } else { Cpu.train(trainings)? };
        read.iter_mut().flatten().for_each(|x| *x += self.off * x.abs().max(1.0));
        Ok(read)
    }
}

/// The digits, in few steps.
fn plan(steps: u64) -> TrainingPlan {
    let text = format!(
        "[data]\nformat = \"digits\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
         [training]\nbatch_size = 64\nsteps = {steps}\nlearning_rate = 2.0\nmomentum = 0.5\n\
         [privacy]\nnoise_multiplier = 1\ndelta = 1e-5\n"
    );
    TrainingPlan::parse(&text, Path::new("")).unwrap()
}

/// An ε that is claimed without the mechanism: of a curve, each audit asks the accountant for longer than its trials take.
const ALONE: Option<f64> = Some(0.01);

const WHITE_BOX: Attack = Attack::WhiteBox { canaries: 1, copies: 1 };

fn by_model(scoring: Scoring) -> Attack {
    Attack::FinalModel { canary: CanaryKind::Mislabelled, copies: 2, scoring, start: Start::AsPlanned }
}

fn asked(
    device: Option<Arc<dyn Device>>,
    steps: u64,
    attack: impl Into<AttackRequest>,
    trials: u64,
) -> TrainingAudit {
    TrainingAudit::of(plan(steps))
        .attack(attack)
        .seed(SEED)
        .trials(Count::new(trials).unwrap())
        .device(device)
}

fn case(device: Option<Arc<Probe>>, attack: Attack, claimed: Option<f64>, trials: u64) -> Case {
    let device = device.map(|device| device as Arc<dyn Device>);
    let claimed = claimed.map(|epsilon| Epsilon::new(epsilon).unwrap());
    asked(device, 6, attack, trials).claimed(claimed).case().unwrap()
}

fn subject(case: &Case) -> &dyn AuditSubject {
    case.subject().unwrap()
}

fn observed(case: &Case, trials: u64) -> Vec<Outcome> {
    observe(subject(case), SEED, &(0..trials).collect::<Vec<_>>(), 2)
}

fn room(name: &str) -> PathBuf {
    let room = std::env::temp_dir().join(format!("veracity-devices-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&room);
    room
}

fn kept(folder: &Path, opening: Opening, shard: Shard) -> AuditSettings {
    AuditSettings {
        keep: Retention::Everything(folder.to_owned(), opening),
        shard,
        ..AuditSettings::default()
    }
}

fn certificate(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("certificate.json")).unwrap()
}

/// What is read of every attack is scored by one road, whoever trained.
#[test]
fn portions_on_a_device_have_the_bits_of_the_cores() {
    let scorings = [
        Scoring::Loss,
        Scoring::Margin { against_blank: true },
        Scoring::Margin { against_blank: false },
        Scoring::LikelihoodRatio { shadows: 9 },
    ];
    let attacks = [WHITE_BOX, Attack::WhiteBox { canaries: 20, copies: 2 }];
    for attack in attacks.into_iter().chain(scorings.map(by_model)) {
        let probe = Arc::new(Probe::new());
        let here = observed(&case(None, attack, None, 16), 16);
        assert!(here.iter().all(|outcome| outcome.failure.is_none()));
        assert_eq!(observed(&case(Some(probe.clone()), attack, None, 16), 16), here, "{attack:?}");
        let mut calls = probe.calls();
        // Shadows come first.
        let shadows = calls.len() - 3;
        calls[shadows..].sort_unstable();
        assert_eq!(calls, [vec![7, 2][..shadows].to_vec(), vec![2, 7, 7]].concat(), "{attack:?}");
    }
    let one_run = |device: Option<Arc<dyn Device>>| {
        asked(device, 6, AttackRequest::OneRun { canary: CanaryKind::Mislabelled, canaries: Some(50) }, 1)
            .case()
            .unwrap()
    };
    let probe = Arc::new(Probe::new());
    assert_eq!(observed(&one_run(Some(probe.clone())), 1), observed(&one_run(None), 1));
    assert_eq!(probe.calls(), [1]);
}

#[test]
fn shards_on_two_devices_of_a_kind_are_one_audit_and_another_device_is_refused() {
    let [whole, first, second, merged] = ["whole", "first", "second", "merged"].map(room);
    let on = |name| Some(Arc::new(Probe { name, ..Probe::new() }));
    let run = |device, folder: &Path, shard| {
        audit(&case(device, WHITE_BOX, ALONE, 40), &kept(folder, Opening::Resume, shard))
    };
    run(on("probe:0 X"), &whole, Shard::WHOLE).unwrap();
    run(on("probe:0 X"), &first, Shard::new(0, 2).unwrap()).unwrap();
    run(on("probe:1 X"), &second, Shard::new(1, 2).unwrap()).unwrap();
    merge(&[first.clone(), second.clone()], &merged, None).unwrap();
    assert_eq!(certificate(&merged), certificate(&whole));
    let stated: serde_json::Value = serde_json::from_str(&certificate(&whole)).unwrap();
    assert_eq!(stated["subject"]["settings"]["device"], serde_json::json!({ "name": "probe X" }));
    for device in [None, on("probe:0 Y")] {
        let refused = run(device, &first, Shard::new(0, 2).unwrap()).unwrap_err().to_string();
        assert!(
            refused.contains("contains an audit with a different device;") && !refused.contains('\n'),
            "{refused}"
        );
    }
    // On the cores nothing is stated, and what ran on a device is not put together with what did not.
    let third = room("third");
    run(None, &third, Shard::new(1, 2).unwrap()).unwrap();
    assert!(!std::fs::read_to_string(third.join("order.json")).unwrap().contains("device"));
    let refused = merge(&[first.clone(), third.clone()], &room("mixed"), None).unwrap_err().to_string();
    assert!(refused.contains("a different device"), "{refused}");
    for folder in [whole, first, second, merged, third] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// A device that breaks after some portions: those are kept, and whoever resumes comes to the same bytes.
#[test]
fn a_device_that_breaks_between_portions_loses_none_of_them() {
    let [whole, broken] = ["unbroken", "broken"].map(room);
    let run = |breaks_at, folder: &Path| {
        let probe = Arc::new(Probe { breaks_at, ..Probe::new() });
        let settings =
            AuditSettings { jobs: Some(Count::ONE), ..kept(folder, Opening::Resume, Shard::WHOLE) };
        audit(&case(Some(probe), WHITE_BOX, ALONE, 40), &settings)
    };
    run(usize::MAX, &whole).unwrap();
    let refused = run(3, &broken).unwrap_err().to_string();
    assert!(refused.contains("probe:0 X: the fan has stopped; fix that and resume"), "{refused}");
    let (_, trials) = veracity_auditing::journal::read(&broken).unwrap();
    assert_eq!((trials.observations().len(), trials.failures()), (21, 0));
    run(usize::MAX, &broken).unwrap();
    assert_eq!(certificate(&broken), certificate(&whole));
    for folder in [whole, broken] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// One training that the device alone refuses is a fault of the machine, and fails no other; a broken device is not asked again and again.
#[test]
fn what_a_device_alone_refuses_is_a_fault_of_the_machine() {
    let faults = |outcomes: &[Outcome]| -> Vec<bool> {
        outcomes.iter().map(|outcome| matches!(outcome.failure, Some(Failure::Machine(_)))).collect()
    };
    let probe = Arc::new(Probe { refuses: Some(6), portion: 8, ..Probe::new() });
    let outcomes = observed(&case(Some(probe.clone()), WHITE_BOX, None, 8), 8);
    assert_eq!(faults(&outcomes), [false, false, false, false, false, false, true, true]);
    assert_eq!(outcomes[..6], observed(&case(None, WHITE_BOX, None, 8), 6));
    assert_eq!(probe.calls(), [8, 4, 4, 2, 2, 1]);
    let probe = Arc::new(Probe { breaks_at: 0, portion: 8, ..Probe::new() });
    assert_eq!(faults(&observed(&case(Some(probe.clone()), WHITE_BOX, None, 8), 8)), [true; 8]);
    assert_eq!(probe.calls(), [8, 4, 2, 1]);
}

/// A claim that falls at once: no more is trained than the portions that were under way, and what is kept is what one by one would have.
#[test]
fn an_audit_that_falls_early_stops_after_the_portion() {
    let run = |device| {
        let settings = AuditSettings {
            method: Some(Method::Sequential { group: Count::ONE, rounds: Rounds::Trials }),
            jobs: Some(Count::ONE),
            ..AuditSettings::default()
        };
        match audit(&case(device, WHITE_BOX, ALONE, 20_000), &settings).unwrap() {
            AuditDone::Judged { audited, trials, .. } => (audited.is_refuted(), trials),
            AuditDone::Share { .. } => panic!("all of it"),
        }
    };
    let probe = Arc::new(Probe { portion: 100, ..Probe::new() });
    let (refuted, trials) = run(Some(probe.clone()));
    assert!(refuted);
    assert_eq!(trials.to_csv(), run(None).1.to_csv());
    let (ran, needed) = (probe.calls().iter().sum::<usize>(), trials.observations().len());
    // One thread may be some portions ahead of the one that looks: as many as wait between them.
    assert!(needed <= ran && ran <= needed + 700, "{ran} for {needed}");
}

#[test]
fn a_portion_holds_no_more_than_it_may_and_a_plan_that_cannot_be_trained_is_refused_first() {
    let probe = Arc::new(Probe { portion: usize::MAX, ..Probe::new() });
    let many = case(Some(probe.clone()), Attack::WhiteBox { canaries: 300, copies: 1 }, None, 4);
    let one = case(Some(probe.clone()), by_model(Scoring::Loss), None, 4);
    for (case, least) in [(&many, 4 * 6 * 300 + 8 * 300), (&one, 4 * 10)] {
        let portion = subject(case).portion();
        assert!((1000..=(1 << 29) / least).contains(&portion), "{portion}");
    }
    assert_eq!(subject(&case(None, WHITE_BOX, None, 4)).portion(), 1);
    for attack in [WHITE_BOX, by_model(Scoring::LikelihoodRatio { shadows: 8 })] {
        let device: Arc<dyn Device> = probe.clone();
        let refused = asked(Some(device), 100, attack, 4).case();
        assert_eq!(
            refused.err().unwrap().to_string(),
            "steps is 100, expected fewer than 100 on this device"
        );
    }
    assert_eq!(probe.calls(), [0; 0]);
}

/// The trials of a device in whole numbers that is off by `off`, run again on the cores.
fn verified(attack: Attack, is_whole: bool, off: f32) -> Recomputation {
    let folder = room(&format!("rerun-{is_whole}-{off}-{}", matches!(attack, Attack::WhiteBox { .. })));
    let probe = Arc::new(Probe { off, is_whole, ..Probe::new() });
    audit(&case(Some(probe), attack, ALONE, 30), &kept(&folder, Opening::Fresh, Shard::WHOLE)).unwrap();
    let demands = VerifyOptions { rerun: Some(Count::new(30).unwrap()), ..VerifyOptions::default() };
    let found = recompute(&certificate(&folder), &folder, &demands).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    found
}

#[test]
fn trials_of_a_device_are_run_again_on_the_cores_to_the_bit() {
    let ratio = by_model(Scoring::LikelihoodRatio { shadows: 12 });
    for attack in
        [WHITE_BOX, by_model(Scoring::Margin { against_blank: true }), by_model(Scoring::Loss), ratio]
    {
        let found = verified(attack, true, 0.0);
        assert_eq!((found.failure(), found.rerun), (None, 30), "{attack:?}");
        let said = found.statements.last().unwrap();
        assert!(said.stated.ends_with("in integer arithmetic on the CPU"), "{}", said.stated);
        assert!(found.unknown.iter().any(|line| line.contains("states probe X")));
        // A last digit is found, and so is a device that is none: one that computes as these cores do. At a parameter that no record
        // moves, where the canary of a white-box audit is, both do the same.
        let is_quiet = matches!(attack, Attack::WhiteBox { .. });
        for (is_whole, off) in [(true, 1e-6), (true, -1e-3), (false, 0.0)] {
            if !is_whole && is_quiet {
                continue;
            }
            let found = verified(attack, is_whole, off);
            let wrong = found.failure().unwrap();
            assert!(wrong.what.starts_with("trial ") && wrong.stated != wrong.found, "{wrong:?}");
        }
    }
}

/// Another device, or none, or one with a tolerance, is another order.
#[test]
fn a_device_cannot_be_changed_afterwards() {
    let folder = room("changed");
    let probe = Arc::new(Probe::new());
    audit(&case(Some(probe), WHITE_BOX, ALONE, 12), &kept(&folder, Opening::Fresh, Shard::WHOLE)).unwrap();
    let text = certificate(&folder);
    assert!(recompute(&text, &folder, &VerifyOptions::default()).unwrap().failure().is_none());
    let other = text.replace("probe X", "probe Y");
    assert_ne!(other, text);
    let found = recompute(&other, &folder, &VerifyOptions::default()).unwrap();
    assert_eq!(found.failure().unwrap().found, "another device");
    let tolerant = text.replace("\"name\": \"probe X\"", "\"name\": \"probe X\", \"tolerance\": 0.5");
    assert_ne!(tolerant, text);
    let found = recompute(&tolerant, &folder, &VerifyOptions::default());
    assert!(found.is_err() || found.unwrap().failure().is_some());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Records are asked about together: that must change no bit of what is said of each.
#[test]
fn what_a_model_says_of_a_record_does_not_depend_on_what_else_is_asked() {
    let layers = [vec![Layer::Linear { outputs: 2 }], {
        vec![Layer::Linear { outputs: 32 }, Layer::Relu, Layer::Linear { outputs: 2 }]
    }];
    let of = |first: usize, records: usize| {
        let features =
            (0..records * 784).map(|at| (((first * 784 + at) * 37) % 256) as f32 / 255.0).collect();
        Dataset::new(features, 784, Labels::Classes { of: vec![0; records], classes: 2 }).unwrap()
    };
    for layers in layers {
        let network = Network::new(Shape::Flat(784), layers).unwrap();
        let parameters: Vec<f32> = (0..network.parameters()).map(|at| (at as f32 * 0.7).sin()).collect();
        let together = cohort::predict(&network, &parameters, &of(0, 3)).unwrap();
        for record in 0..3 {
            let alone = cohort::predict(&network, &parameters, &of(record, 1)).unwrap();
            assert_eq!(together[2 * record..][..2], alone, "record {record}");
        }
    }
}
