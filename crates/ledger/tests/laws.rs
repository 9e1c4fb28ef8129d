//! What a ledger promises, one law for each test.

use crate::door::{Folder, budget, gaussian, named, new, of, pure, sums};
use veracity_core::{Adjacency, Delta, Epsilon, ErrorKind, GdpMu, Mechanism, SamplingRate};
use veracity_ledger::{Ledger, Request, Reserved, Rule, Terms};
use veracity_testkit::short::{count, delta, noise};

#[test]
fn a_request_is_charged_once_and_answered_the_same() {
    let folder = Folder::new("once");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    let request = named("a", pure(0.25));
    let reservation = new(ledger.reserve(request.clone()));
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
        assert!(refused.to_string().contains("another query"), "{refused}");
    }
    assert_eq!(ledger.status().unwrap().reserved, 1);
}

#[test]
fn what_was_charged_and_not_answered_stays_charged() {
    let folder = Folder::new("unanswered");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    let _ = new(ledger.reserve(named("crash", pure(0.25))));
    let refused = ledger.reserve(named("crash", pure(0.25))).unwrap_err();
    assert!(refused.to_string().ends_with("retry with a new request ID"), "{refused}");
    let reservation = new(ledger.reserve(named("left", pure(0.25))));
    ledger.abandon(reservation).unwrap();
    assert!(ledger.reserve(named("left", pure(0.25))).unwrap_err().to_string().contains("abandoned"));
    let status = ledger.status().unwrap();
    assert_eq!((status.reserved, status.answered, status.abandoned), (2, 0, 1));
    assert!(status.spent.epsilon >= 0.5 && status.remaining.epsilon <= 0.5);
    // A job that goes on with the noise it drew is not charged again.
    let reservation = new(ledger.resume(named("crash", pure(0.25))));
    assert_eq!(reservation.entry(), 1);
    ledger.commit(reservation, "2").unwrap();
    assert!(matches!(ledger.resume(named("crash", pure(0.25))).unwrap(), Reserved::Known { entry: 1, .. }));
    let refused = ledger.resume(Request::new(pure(0.25), "x")).unwrap_err().to_string();
    assert!(refused.contains("request ID is missing"), "{refused}");
    assert_eq!(ledger.status().unwrap().reserved, 2);
    assert!(ledger.verify(None).unwrap().holds());
}

#[test]
fn what_does_not_fit_is_over_budget_and_leaves_no_trace() {
    let folder = Folder::new("over");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    ledger.commit(new(ledger.reserve(named("a", pure(0.75)))), "1").unwrap();
    let (before, head) = (ledger.history().unwrap(), ledger.status().unwrap().head);
    let refused = ledger.reserve(named("b", pure(0.5))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::OverBudget, "{refused}");
    assert_eq!((ledger.history().unwrap(), ledger.status().unwrap().head), (before, head));
    // Its id was not used up.
    let _ = new(ledger.reserve(named("b", pure(0.125))));
}

/// Numbers that a person writes add up as that person adds: exactly.
#[test]
fn charges_that_add_up_to_the_budget_fit() {
    let folder = Folder::new("exactly");
    for (at, (budget, each, times)) in [
        (1.0, 0.5, 2),
        (1.0, 0.1, 10),
        (0.3, 0.1, 3),
        (1.0, 0.01, 100),
        (2.1, 0.7, 3),
        (1e-3, 1e-5, 100),
        (3e6, 1e6, 3),
    ]
    .into_iter()
    .enumerate()
    {
        let ledger = Ledger::create(&folder.file(&format!("l{at}")), sums(budget)).unwrap();
        for time in 1..=times {
            let reserved = ledger.reserve(Request::new(pure(each), "x"));
            assert!(reserved.is_ok(), "{each} for the {time}th time of {budget}: {}", reserved.unwrap_err());
        }
        let status = ledger.status().unwrap();
        assert_eq!((status.spent.epsilon, status.remaining.epsilon), (budget, 0.0));
        let refused = ledger.reserve(Request::new(pure(5e-324), "x")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::OverBudget);
        assert!(ledger.verify(None).unwrap().holds());
    }
    // What no person writes is charged as it is, or more: three thirds, each rounded up, are more than one.
    let ledger = Ledger::create(&folder.file("thirds"), sums(1.0)).unwrap();
    let third = (1.0f64 / 3.0).next_up();
    for _ in 0..2 {
        let _ = new(ledger.reserve(Request::new(pure(third), "x")));
    }
    assert_eq!(ledger.reserve(Request::new(pure(third), "x")).unwrap_err().kind(), ErrorKind::OverBudget);
}

#[test]
fn numbers_in_refusals_are_as_people_write_them() {
    let folder = Folder::new("written");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    let _ = new(ledger.reserve(Request::new(pure(0.75), "x")));
    let refused = ledger.reserve(Request::new(pure(0.5), "x")).unwrap_err().to_string();
    assert!(refused.contains("costs epsilon 0.5") && refused.contains("0.25 is left"), "{refused}");
}

/// A positive charge always leaves less, down to the smallest float (openmed #2457), and nothing fits into an empty budget.
#[test]
fn the_smallest_charge_is_not_lost() {
    let folder = Folder::new("smallest");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    let tiny = || Request::new(pure(5e-324), "tiny");
    let mut left = ledger.status().unwrap().remaining.sum;
    for _ in 0..5 {
        let _ = new(ledger.reserve(tiny()));
        let now = ledger.status().unwrap().remaining.sum;
        assert!(now < left, "{now} {left}");
        left = now;
    }
    let _ = new(ledger.reserve(Request::new(pure(left), "the rest")));
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
    let _ = new(ledger.reserve(ask("ada", 0.375)));
    let refused = ledger.reserve(ask("ada", 0.25)).unwrap_err();
    assert!(refused.kind() == ErrorKind::OverBudget && refused.to_string().contains("cap"), "{refused}");
    let _ = new(ledger.reserve(ask("bob", 0.5)));
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
    let terms =
        Terms { rule: Rule::Gaussian { reserve: delta(1e-6) }, ..Terms::new(budget(4.0, 1e-5)).unwrap() };
    let ledger = Ledger::create(&folder.file("l"), terms).unwrap();
    let steps = Mechanism::sampled_gaussian(SamplingRate::new(0.01).unwrap(), noise(4.0), count(100));
    let _ = new(ledger.reserve(Request::new(of(steps), "training")));
    let entry = ledger.history().unwrap().remove(0);
    let Some(Mechanism::Approximate { epsilon, delta }) = entry.charge.charged else { panic!() };
    assert!(epsilon.get() > 0.0 && delta.get() == 1e-5 / 100.0);
    assert_eq!(entry.charge.cost.delta, delta.get());
    assert!(ledger.verify(None).unwrap().holds());
    // Without a δ there is no such pair for Gaussian noise.
    let ledger = Ledger::create(&folder.file("sums"), sums(4.0)).unwrap();
    assert!(ledger.reserve(Request::new(gaussian(4.0), "x")).is_err());
}

/// The default rule prices it as it is, beside what is left.
#[test]
fn a_union_charges_training_as_it_is() {
    let folder = Folder::new("union-training");
    let ledger = Ledger::create(&folder.file("l"), Terms::new(budget(3.0, 1e-5)).unwrap()).unwrap();
    // About (0.5, 1e-5) on its own.
    let steps = of(Mechanism::sampled_gaussian(SamplingRate::new(0.01).unwrap(), noise(2.4), count(1000)));
    for _ in 0..4 {
        let _ = new(ledger.reserve(Request::new(steps.clone(), "training")));
    }
    let entry = ledger.history().unwrap().remove(0);
    assert_eq!(entry.charge.charged, None);
    assert!(entry.charge.cost.pure.is_infinite() && entry.charge.cost.sum < 0.05);
    assert!(ledger.verify(None).unwrap().holds());
}

/// Counts that plain addition admits are admitted, and so is what the pool admits; the whole history is charged to both.
#[test]
fn a_union_admits_what_either_filter_admits() {
    let folder = Folder::new("union");
    let made =
        |name: &str| Ledger::create(&folder.file(name), Terms::new(budget(1.0, 1e-6)).unwrap()).unwrap();
    let granted = |ledger: &Ledger, question: &veracity_account::Question| {
        (0..100).take_while(|_| ledger.reserve(Request::new(question.clone(), "x")).is_ok()).count()
    };
    let laplace = |e: f64| of(Mechanism::Laplace { noise_multiplier: noise(1.0 / e) });
    for (name, epsilon, least) in [("small", 0.05, 20), ("middle", 0.09, 11), ("large", 0.3, 3)] {
        let ledger = made(name);
        assert!(granted(&ledger, &laplace(epsilon)) >= least, "{epsilon}");
        assert!(ledger.verify(None).unwrap().holds());
        // As a person adds: what is left of the sum can be used up.
        let status = ledger.status().unwrap();
        assert!(status.spent.fraction > 0.8 && status.spent.epsilon <= 1.0, "{:?}", status.spent);
    }
    // Ten tenths by the sum, then nothing: the pool was passed on the way and stays so.
    let ledger = made("tenths");
    let _ = new(ledger.reserve(Request::new(pure(0.5), "x")));
    assert_eq!(granted(&ledger, &pure(0.05)), 10);
    let refused = ledger.reserve(Request::new(gaussian(1000.0), "x")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::OverBudget, "{refused}");
    assert!(ledger.verify(None).unwrap().holds());
    // A message says what would fit.
    let ledger = made("message");
    let refused = ledger.reserve(Request::new(pure(1.5), "x")).unwrap_err().to_string();
    assert!(refused.contains("use an epsilon of at most 1,"), "{refused}");
    let _ = new(ledger.reserve(Request::new(gaussian(20.0), "x")));
    let refused = ledger.reserve(Request::new(pure(1.5), "x")).unwrap_err().to_string();
    assert!(refused.contains("use an epsilon of at most 0.1"), "{refused}");
}

/// Caps count as the whole does: each analyst has a union of their own.
#[test]
fn a_cap_beside_a_union_is_a_union() {
    let folder = Folder::new("union-caps");
    let caps = vec![("ada".to_owned(), budget(0.5, 1e-6)), ("bob".to_owned(), budget(0.4, 0.0))];
    let terms = Terms { analysts: caps, ..Terms::new(budget(1.0, 1e-6)).unwrap() };
    let ledger = Ledger::create(&folder.file("l"), terms).unwrap();
    let ask = |name: &str, question| Request { analyst: Some(name.into()), ..Request::new(question, "x") };
    let _ = new(ledger.reserve(ask("ada", pure(0.25))));
    let _ = new(ledger.reserve(ask("ada", pure(0.25))));
    assert!(ledger.reserve(ask("ada", pure(0.01))).unwrap_err().to_string().contains("cap"));
    let _ = new(ledger.reserve(ask("bob", pure(0.4))));
    // Without a δ there is no pool.
    assert!(ledger.reserve(ask("bob", gaussian(100.0))).is_err());
    assert!(ledger.verify(None).unwrap().holds());
    assert!(Ledger::open(&folder.file("l")).unwrap().verify(None).unwrap().holds());
}

/// A ledger of the earlier default keeps the rule that it was made with.
#[test]
fn an_earlier_ledger_keeps_its_rule() {
    let folder = Folder::new("earlier");
    let terms =
        Terms { rule: Rule::Gaussian { reserve: delta(1e-7) }, ..Terms::new(budget(1.0, 1e-6)).unwrap() };
    drop(Ledger::create(&folder.file("l"), terms).unwrap());
    let ledger = Ledger::open(&folder.file("l")).unwrap();
    assert_eq!(ledger.terms().rule.name(), "gaussian");
    let _ = new(ledger.reserve(Request::new(pure(0.09), "x")));
    let cost = ledger.history().unwrap().remove(0).charge.cost;
    assert!(cost.pure == 0.0 && (cost.sum / 0.0081 - 1.57).abs() < 0.01, "{cost:?}");
    assert!(ledger.verify(None).unwrap().holds());
}

#[test]
fn a_product_is_used_up_slot_by_slot() {
    let folder = Folder::new("product");
    let slot = Mechanism::Laplace { noise_multiplier: noise(10.0) };
    let rule = Rule::Product {
        mu: GdpMu::new(0.25).unwrap(),
        reserve: delta(1e-7),
        slots: vec![(slot.clone(), count(3))],
    };
    let terms = Terms { rule, ..Terms::new(budget(2.0, 1e-5)).unwrap() };
    let ledger = Ledger::create(&folder.file("l"), terms).unwrap();
    for _ in 0..3 {
        let _ = new(ledger.reserve(Request::new(of(slot.clone()), "slot")));
    }
    let status = ledger.status().unwrap();
    assert_eq!((status.spent.slots, status.spent.sum, status.remaining.slots), (vec![3], 0.0, vec![0]));
    // The next goes to the pool, as does Gaussian noise.
    let _ = new(ledger.reserve(Request::new(of(slot), "pool")));
    let _ = new(ledger.reserve(Request::new(gaussian(8.0), "pool")));
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
    assert!(refused(cap("ada", 1.5)).contains("at most the budget"));
    assert!(refused(cap("two\nlines", 0.5)).contains("control characters"));
    let twice = vec![("ada".to_owned(), budget(0.5, 0.0)); 2];
    assert!(refused(Terms { analysts: twice, ..sums(1.0) }).contains("two caps"));
    assert!(refused(Terms { dataset: "x".repeat(1000), ..sums(1.0) }).starts_with("dataset"));
    // A reserve as large as the δ, and a product that costs more than the budget.
    let whole = Rule::Gaussian { reserve: delta(1e-6) };
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
    assert!(refused.contains("already exists"), "{refused}");
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
fn a_reservation_is_of_its_ledger_and_is_answered_once() {
    let folder = Folder::new("reservation");
    let one = Ledger::create(&folder.file("one"), sums(1.0)).unwrap();
    let other = Ledger::create(&folder.file("other"), sums(2.0)).unwrap();
    let reservation = new(one.reserve(named("a", pure(0.1))));
    assert_eq!(reservation.entry(), 1);
    assert!(other.commit(reservation, "1").unwrap_err().to_string().contains("another ledger"));
    let first = new(one.resume(named("a", pure(0.1))));
    // Nobody else answers it meanwhile.
    for again in [one.resume(named("a", pure(0.1))), one.reserve(named("a", pure(0.1)))] {
        assert!(again.unwrap_err().to_string().contains("answering this request ID right now"));
    }
    assert!(one.commit(first, "not json").unwrap_err().to_string().contains("JSON"));
    let first = new(one.resume(named("a", pure(0.1))));
    one.commit(first, "1").unwrap();
    assert!(
        matches!(one.reserve(named("a", pure(0.1))).unwrap(), Reserved::Known { answer, .. } if answer == "1")
    );
}
