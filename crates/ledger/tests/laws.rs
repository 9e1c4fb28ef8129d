//! What a ledger promises, one law for each test.

#![allow(clippy::unwrap_used)]

mod door;

use door::{Folder, budget, gaussian, named, of, pure, sums};
use veracity_core::{
    Adjacency, Count, Delta, Epsilon, ErrorKind, GdpMu, Mechanism, NoiseMultiplier, SamplingRate,
};
use veracity_ledger::{Ledger, Request, Reserved, Rule, Terms};

fn new(reserved: Reserved) -> veracity_ledger::Reservation {
    match reserved {
        Reserved::New(reservation) => reservation,
        Reserved::Known { answer, .. } => panic!("known: {answer}"),
    }
}

#[test]
fn a_request_is_charged_once_and_answered_the_same() {
    let folder = Folder::new("once");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    let request = named("a", pure(0.25));
    let reservation = new(ledger.reserve(request.clone()).unwrap());
    ledger.commit(reservation, "{\"answer\":1}").unwrap();
    let spent = ledger.status().unwrap().spent;
    // Also after the file was opened again, and by another handle.
    for ledger in [&ledger, &Ledger::open(&folder.file("l")).unwrap()] {
        let Reserved::Known { answer, entry } = ledger.reserve(request.clone()).unwrap() else { panic!() };
        assert_eq!((answer.as_str(), entry), ("{\"answer\":1}", 1));
    }
    assert_eq!(ledger.status().unwrap().spent, spent);
    // Another question, another line, another mechanism under the same id is a mistake.
    let other = Request { what: "another number".into(), ..request.clone() };
    for other in [named("a", pure(0.2)), other] {
        let refused = ledger.reserve(other).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("another question"), "{refused}");
    }
    assert_eq!(ledger.status().unwrap().reserved, 1);
}

#[test]
fn what_was_charged_and_not_answered_stays_charged() {
    let folder = Folder::new("unanswered");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    let _ = new(ledger.reserve(named("crash", pure(0.25))).unwrap());
    let refused = ledger.reserve(named("crash", pure(0.25))).unwrap_err();
    assert!(refused.to_string().ends_with("take a new request id"), "{refused}");
    let reservation = new(ledger.reserve(named("left", pure(0.25))).unwrap());
    ledger.abandon(reservation).unwrap();
    assert!(ledger.reserve(named("left", pure(0.25))).unwrap_err().to_string().contains("abandoned"));
    let status = ledger.status().unwrap();
    assert_eq!((status.reserved, status.answered, status.abandoned), (2, 0, 1));
    assert!(status.spent.epsilon >= 0.5 && status.remaining.epsilon <= 0.5);
    // A job that goes on with the noise it drew is not charged again.
    let reservation = new(ledger.resume(named("crash", pure(0.25))).unwrap());
    assert_eq!(reservation.entry(), 1);
    ledger.commit(reservation, "2").unwrap();
    assert!(matches!(ledger.resume(named("crash", pure(0.25))).unwrap(), Reserved::Known { entry: 1, .. }));
    assert!(
        ledger
            .resume(Request::new(pure(0.25), "x"))
            .unwrap_err()
            .to_string()
            .contains("request id is missing")
    );
    assert_eq!(ledger.status().unwrap().reserved, 2);
    assert!(ledger.verify(None).unwrap().holds());
}

#[test]
fn what_does_not_fit_is_over_budget_and_leaves_no_trace() {
    let folder = Folder::new("over");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    ledger.commit(new(ledger.reserve(named("a", pure(0.75))).unwrap()), "1").unwrap();
    let (before, head) = (ledger.history().unwrap(), ledger.status().unwrap().head);
    let refused = ledger.reserve(named("b", pure(0.5))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::OverBudget, "{refused}");
    assert_eq!((ledger.history().unwrap(), ledger.status().unwrap().head), (before, head));
    // Its id was not used up.
    let _ = new(ledger.reserve(named("b", pure(0.125))).unwrap());
}

/// A positive charge always leaves less, down to the smallest float (openmed #2457), and nothing fits into an empty budget.
#[test]
fn the_smallest_charge_is_not_lost() {
    let folder = Folder::new("smallest");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    let tiny = || Request::new(pure(5e-324), "tiny");
    let mut left = ledger.status().unwrap().remaining.sum;
    for _ in 0..5 {
        let _ = new(ledger.reserve(tiny()).unwrap());
        let now = ledger.status().unwrap().remaining.sum;
        assert!(now < left, "{now} {left}");
        left = now;
    }
    let _ = new(ledger.reserve(Request::new(pure(left), "the rest")).unwrap());
    let status = ledger.status().unwrap();
    assert!(status.spent.sum <= 1.0 && status.spent.sum > 1.0 - 1e-12);
    while ledger.reserve(tiny()).is_ok() {}
    assert_eq!(ledger.reserve(tiny()).unwrap_err().kind(), ErrorKind::OverBudget);
    assert!(ledger.verify(None).unwrap().holds());
}

#[test]
fn an_analyst_stays_within_the_cap_and_the_whole() {
    let folder = Folder::new("analysts");
    let caps = vec![("ada".to_owned(), budget(0.5, 0.0)), ("bob".to_owned(), budget(0.75, 0.0))];
    let ledger = Ledger::create(&folder.file("l"), Terms { analysts: caps, ..sums(1.0) }).unwrap();
    let ask =
        |name: &str, epsilon| Request { analyst: Some(name.into()), ..Request::new(pure(epsilon), "x") };
    let _ = new(ledger.reserve(ask("ada", 0.375)).unwrap());
    let refused = ledger.reserve(ask("ada", 0.25)).unwrap_err();
    assert!(refused.kind() == ErrorKind::OverBudget && refused.to_string().contains("cap"), "{refused}");
    let _ = new(ledger.reserve(ask("bob", 0.5)).unwrap());
    // Within bob's cap and beyond the whole.
    assert_eq!(ledger.reserve(ask("bob", 0.25)).unwrap_err().kind(), ErrorKind::OverBudget);
    // Nobody goes around the caps.
    for request in [Request::new(pure(0.01), "x"), ask("eve", 0.01)] {
        assert_eq!(ledger.reserve(request).unwrap_err().kind(), ErrorKind::Invalid);
    }
    let status = ledger.status().unwrap();
    let spent: Vec<f64> = status.analysts.iter().map(|analyst| analyst.spent.epsilon).collect();
    assert_eq!(spent, [0.375, 0.5]);
    assert!(ledger.verify(None).unwrap().holds());
    // Without caps there is nobody to name.
    let plain = Ledger::create(&folder.file("plain"), sums(1.0)).unwrap();
    assert!(plain.reserve(ask("ada", 0.1)).is_err());
}

#[test]
fn gaussian_noise_uses_its_budget_up_to_the_accountants_word() {
    let folder = Folder::new("gaussian");
    let ledger = Ledger::create(&folder.file("l"), Terms::new(budget(1.0, 1e-6)).unwrap()).unwrap();
    let mut answered = 0;
    while ledger.reserve(Request::new(gaussian(40.0), "x")).is_ok() {
        answered += 1;
    }
    let status = ledger.status().unwrap();
    assert_eq!(answered, status.reserved);
    assert_eq!(answered, (status.spent.limit * 1600.0) as u64);
    // All of it is nearly the budget, and never more; a single one is much less.
    assert!(status.spent.epsilon <= 1.0 && status.spent.epsilon > 0.98, "{}", status.spent.epsilon);
    assert!(status.remaining.epsilon < 0.11, "{}", status.remaining.epsilon);
    let composed = status.composed.epsilon.unwrap();
    assert!(composed <= 1.0 && composed > 0.98, "{composed}");
    assert!(ledger.verify(None).unwrap().holds());
}

/// What the sum of μ² has no number for is charged by the ε that an accountant certifies, at a hundredth of the δ.
#[test]
fn training_is_covered_by_its_pair() {
    let folder = Folder::new("training");
    let ledger = Ledger::create(&folder.file("l"), Terms::new(budget(4.0, 1e-5)).unwrap()).unwrap();
    let steps = Mechanism::dp_sgd(
        SamplingRate::new(0.01).unwrap(),
        NoiseMultiplier::new(4.0).unwrap(),
        Count::new(100).unwrap(),
    );
    let _ = new(ledger.reserve(Request::new(of(steps), "training")).unwrap());
    let entry = ledger.history().unwrap().remove(0);
    let Some(Mechanism::Approximate { epsilon, delta }) = entry.charge.charged else { panic!() };
    assert!(epsilon.get() > 0.0 && delta.get() == 1e-5 / 100.0);
    assert_eq!(entry.charge.cost.delta, delta.get());
    assert!(ledger.verify(None).unwrap().holds());
    // Without a δ there is no such pair for Gaussian noise.
    let ledger = Ledger::create(&folder.file("sums"), sums(4.0)).unwrap();
    assert!(ledger.reserve(Request::new(gaussian(4.0), "x")).is_err());
}

#[test]
fn a_product_is_used_up_slot_by_slot() {
    let folder = Folder::new("product");
    let slot = Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(10.0).unwrap() };
    let rule = Rule::Product {
        mu: GdpMu::new(0.25).unwrap(),
        reserve: Delta::new(1e-7).unwrap(),
        slots: vec![(slot.clone(), Count::new(3).unwrap())],
    };
    let terms = Terms { rule, ..Terms::new(budget(2.0, 1e-5)).unwrap() };
    let ledger = Ledger::create(&folder.file("l"), terms).unwrap();
    for _ in 0..3 {
        let _ = new(ledger.reserve(Request::new(of(slot.clone()), "slot")).unwrap());
    }
    let status = ledger.status().unwrap();
    assert_eq!((status.spent.slots, status.spent.sum, status.remaining.slots), (vec![3], 0.0, vec![0]));
    // The next goes to the pool, as does Gaussian noise.
    let _ = new(ledger.reserve(Request::new(of(slot), "pool")).unwrap());
    let _ = new(ledger.reserve(Request::new(gaussian(8.0), "pool")).unwrap());
    let status = ledger.status().unwrap();
    assert!(status.spent.sum > 0.0 && status.spent.epsilon <= 2.0 && status.spent.epsilon > 0.3);
    assert!(ledger.verify(None).unwrap().holds());
    assert!(Ledger::open(&folder.file("l")).unwrap().verify(Some(status.head)).unwrap().holds());
}

#[test]
fn terms_that_no_ledger_may_have_are_refused() {
    let folder = Folder::new("terms");
    let path = folder.file("l");
    let refused = |terms: Terms| Ledger::create(&path, terms).unwrap_err().to_string();
    assert!(Epsilon::new(f64::NAN).is_err() && Delta::new(f64::NAN).is_err());
    assert!(Delta::new(f64::INFINITY).is_err());
    for epsilon in [f64::INFINITY, 0.0].map(Epsilon::new).into_iter().flatten() {
        let mut terms = sums(1.0);
        terms.budget.epsilon = epsilon;
        assert!(refused(terms).contains("finite epsilon > 0"));
    }
    let cap =
        |name: &str, epsilon| Terms { analysts: vec![(name.into(), budget(epsilon, 0.0))], ..sums(1.0) };
    assert!(refused(cap("ada", 1.5)).contains("no more than the budget"));
    assert!(refused(cap("two\nlines", 0.5)).contains("control characters"));
    let twice = vec![("ada".to_owned(), budget(0.5, 0.0)); 2];
    assert!(refused(Terms { analysts: twice, ..sums(1.0) }).contains("two caps"));
    assert!(refused(Terms { dataset: "x".repeat(1000), ..sums(1.0) }).starts_with("dataset"));
    // A reserve as large as the δ, and a product that costs more than the budget.
    let whole = Rule::Gaussian { reserve: Delta::new(1e-6).unwrap() };
    assert!(refused(Terms { rule: whole, ..Terms::new(budget(1.0, 1e-6)).unwrap() }).starts_with("reserve"));
    let large = Rule::Product { mu: GdpMu::new(3.0).unwrap(), reserve: Delta::ZERO, slots: vec![] };
    assert!(
        refused(Terms { rule: large, ..Terms::new(budget(1.0, 1e-6)).unwrap() })
            .contains("the product has delta")
    );
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "something was written");
}

#[test]
fn a_ledger_is_never_made_over_a_file() {
    let folder = Folder::new("never");
    let path = folder.file("l");
    std::fs::write(&path, "precious").unwrap();
    assert!(Ledger::create(&path, sums(1.0)).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    let other = folder.file("other");
    drop(Ledger::create(&other, sums(1.0)).unwrap());
    let refused = Ledger::create(&other, sums(2.0)).unwrap_err().to_string();
    assert!(refused.contains("there already"), "{refused}");
    assert_eq!(Ledger::open(&other).unwrap().terms().budget.epsilon.get(), 1.0);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2, "a part was left behind");
}

#[test]
fn questions_of_another_adjacency_are_refused() {
    let folder = Folder::new("adjacency");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    let mut question = pure(0.1);
    question.adjacency = Adjacency::ReplaceOne;
    assert_eq!(ledger.reserve(Request::new(question, "x")).unwrap_err().kind(), ErrorKind::NoTheorem);
}

#[test]
fn a_reservation_is_of_its_ledger_and_ends_once() {
    let folder = Folder::new("reservation");
    let one = Ledger::create(&folder.file("one"), sums(1.0)).unwrap();
    let other = Ledger::create(&folder.file("other"), sums(2.0)).unwrap();
    let reservation = new(one.reserve(named("a", pure(0.1))).unwrap());
    assert!(other.commit(reservation, "1").unwrap_err().to_string().contains("another ledger"));
    let [first, second] = [(); 2].map(|()| new(one.resume(named("a", pure(0.1))).unwrap()));
    assert!(one.commit(first, "not json").unwrap_err().to_string().contains("JSON"));
    let first = new(one.resume(named("a", pure(0.1))).unwrap());
    one.commit(first, "1").unwrap();
    assert!(one.commit(second, "2").unwrap_err().to_string().contains("before"));
    assert!(
        matches!(one.reserve(named("a", pure(0.1))).unwrap(), Reserved::Known { answer, .. } if answer == "1")
    );
}
