#![allow(clippy::unwrap_used)]
use super::*;
use std::{collections::BTreeMap, thread};
use veracity_core::ErrorKind;
use veracity_mechanisms::{Bins, Bounds, Cell, Column, Rank};
use veracity_testkit::short::{count, delta, epsilon};

fn settings(most: f64, at: f64) -> SessionSettings {
    SessionSettings {
        budget: Budget { epsilon: epsilon(most), delta: delta(at) },
        adjacency: Adjacency::AddRemove,
        persons: None,
        dataset: "people".to_owned(),
        seed: Some(1),
    }
}

fn ask(session: &Session, statistic: Statistic, at: f64, rows: Rows<'_>) -> Result<Vec<Cell>, Refusal> {
    let column = (statistic != Statistic::Count).then_some("hours");
    let charged = session.charge(session.plan(&[statistic], column, None, epsilon(at))?)?;
    Ok(session.answer(charged, rows).unwrap().cells.concat())
}

fn numbers(values: &[f64]) -> Column {
    Column::from(values.to_vec())
}

fn plain(column: &Column) -> Rows<'_> {
    Rows { column, groups: None, persons: None }
}

#[test]
fn what_does_not_fit_is_denied_and_leaves_no_trace() {
    let column = numbers(&[1.0, 2.0, 3.0]);
    for (delta, fitting) in [(0.0, 6), (1e-6, 20)] {
        let session = Session::open(settings(3.0, delta)).unwrap();
        for _ in 0..6 {
            ask(&session, Statistic::Count, 0.5, plain(&column)).unwrap();
        }
        let planned = session.plan(&[Statistic::Count], None, None, epsilon(0.5)).unwrap();
        let more = (0..200).take_while(|_| session.charge(planned.clone()).is_ok()).count();
        if delta == 0.0 {
            assert_eq!(6 + more, fitting);
        } else {
            // 3 at 1e-6 is μ 0.62, 0.5 is 0.118.
            assert!(6 + more > fitting, "{more}");
        }
        let spent = session.spent().unwrap();
        let refusal = session.charge(planned).unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::OverBudget);
        assert!(!refusal.to_string().contains('\n'));
        assert_eq!(session.spent().unwrap(), spent);
        let remaining = session.remaining().unwrap();
        assert!(spent.epsilon <= 3.0 + 1e-9 && remaining.epsilon < 0.5, "{spent:?} {remaining:?}");
    }
}

/// What is said to remain can be asked for.
#[test]
fn what_remains_fits() {
    for delta in [0.0, 1e-9, 1e-5] {
        let session = Session::open(settings(2.0, delta)).unwrap();
        let column = numbers(&[0.0]);
        for at in [0.3, 0.9] {
            ask(&session, Statistic::Mean(Bounds::new(0.0, 1.0).unwrap()), at, plain(&column)).unwrap();
        }
        let fresh = Session::open(settings(2.0, delta)).unwrap().remaining().unwrap().epsilon;
        assert!(fresh > 1.999 && fresh <= 2.0, "{fresh}");
        let left = session.remaining().unwrap().epsilon;
        assert!(left > 0.5, "{left}");
        ask(&session, Statistic::Count, left, plain(&column)).unwrap();
        let after = session.remaining().unwrap();
        assert!(after.sum < 0.1 * after.limit, "{after:?}");
    }
}

#[test]
fn threads_cannot_overdraw() {
    let session = Session::open(settings(1.0, 1e-6)).unwrap();
    let planned = session.plan(&[Statistic::Count], None, None, epsilon(0.2)).unwrap();
    let alone = Session::open(settings(1.0, 1e-6)).unwrap();
    let fitting = (0..10_000).take_while(|_| alone.charge(planned.clone()).is_ok()).count();
    let granted: usize = thread::scope(|scope| {
        let work = || (0..50).filter(|_| session.charge(planned.clone()).is_ok()).count();
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, fitting);
    assert_eq!(session.composed().unwrap().mechanism.inside().len(), fitting);
}

#[test]
fn groups_are_answered_whether_they_occur_or_not_and_cost_one() {
    let session = Session::open(settings(2.0, 0.0)).unwrap();
    let column = numbers(&(0..3000).map(|i| f64::from(i % 2) * 10.0).collect::<Vec<_>>());
    let groups: Vec<Option<String>> = (0..3000)
        .map(|i| [Some("even"), Some("odd"), Some("else"), None][i % 2 + 2 * (i / 2900)])
        .map(|it| it.map(str::to_owned))
        .collect();
    let keys = ["even", "odd", "absent"].map(str::to_owned).to_vec();
    let grouping = Grouping::new("parity", keys).unwrap();
    let statistic = Statistic::Mean(Bounds::new(0.0, 10.0).unwrap());
    let planned = session.plan(&[statistic], Some("hours"), Some(grouping), epsilon(1.0)).unwrap();
    let charged = session.charge(planned).unwrap();
    let rows = Rows { column: &column, groups: Some(&groups), persons: None };
    let answered = session.answer(charged, rows).unwrap();
    assert_eq!(answered.cells.len(), 3);
    assert!(
        (answered.cells[0][0].value - 0.0).abs() < 0.5 && (answered.cells[1][0].value - 10.0).abs() < 0.5
    );
    assert!(session.spent().unwrap().epsilon <= 1.0);
    let note = answered.claim().unwrap().release.unwrap();
    assert_eq!(note.statistic, "mean by parity");
    assert_eq!(note.answer.unwrap()[2].bin.as_deref(), Some("absent"));
    assert!(Grouping::new("x", Vec::new()).is_err());
    assert!(Grouping::new("x", vec!["a".into(), "a".into()]).is_err());
    let other = SessionSettings { adjacency: Adjacency::ReplaceOne, ..settings(1.0, 0.0) };
    let grouping = Grouping::new("x", vec!["a".into()]).unwrap();
    let refused = Session::open(other).unwrap().plan(&[Statistic::Count], None, Some(grouping), epsilon(1.0));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::NoTheorem);
}

/// People with up to three rows in several groups: the noise is that of three rows in one.
#[test]
fn people_are_charged_for_all_their_rows() {
    let persons = Some(Persons::new("id", count(3)).unwrap());
    let session = Session::open(SessionSettings { persons, ..settings(2.0, 1e-6) }).unwrap();
    let single = Session::open(settings(2.0, 1e-6)).unwrap();
    let bins = Statistic::Histogram(Bins::Numeric { bounds: Bounds::new(0.0, 10.0).unwrap(), bins: 5 });
    let multiplier = |session: &Session| {
        let planned = session.plan(std::slice::from_ref(&bins), Some("hours"), None, epsilon(1.0)).unwrap();
        planned.designs[0].multiplier().get()
    };
    let ratio = multiplier(&session) / multiplier(&single);
    assert!((ratio - 3.0).abs() < 1e-2, "{ratio}");

    let column = numbers(&[1.0; 40]);
    let of: Vec<Option<String>> = (0..40).map(|i| (i < 30).then(|| (i / 10).to_string())).collect();
    let rows = Rows { column: &column, groups: None, persons: Some(&of) };
    let count = ask(&session, Statistic::Count, 1.0, rows).unwrap();
    // Three people with three rows each, and ten rows without a person: 9 and noise.
    assert!((count[0].value - 9.0).abs() < 6.0 * count[0].error_bar);
    let charged =
        session.charge(session.plan(&[Statistic::Count], None, None, epsilon(0.1)).unwrap()).unwrap();
    let spent = session.spent().unwrap();
    assert!(session.answer(charged, plain(&column)).is_err());
    assert_eq!(session.spent().unwrap(), spent, "what fails after the charge stays charged");
}

#[test]
fn several_quantiles_are_one_question() {
    let session = Session::open(settings(1.0, 0.0)).unwrap();
    let bounds = Bounds::new(0.0, 100.0).unwrap();
    let quantile = |below| Statistic::Quantile {
        bounds,
        rank: Rank::new(below, 4).unwrap(),
        steps: 1 << 10,
        bar: veracity_mechanisms::ErrorBar::Charged,
    };
    let three = [quantile(1), quantile(2), quantile(3)];
    let charged = session.charge(session.plan(&three, Some("hours"), None, epsilon(1.0)).unwrap()).unwrap();
    let column = numbers(&(0..10_000).map(|i| f64::from(i) / 100.0).collect::<Vec<_>>());
    let cells = session.answer(charged, plain(&column)).unwrap().cells.concat();
    for (cell, truth) in cells.iter().zip([25.0, 50.0, 75.0]) {
        assert!((cell.value - truth).abs() < 3.0, "{cell:?}");
    }
    assert_eq!(session.plan(&[], Some("hours"), None, epsilon(1.0)).unwrap_err().kind(), ErrorKind::Invalid);
}

/// Two sessions of one seed draw the same noise, two questions of one session do not.
#[test]
fn a_seed_repeats_a_session_and_no_question() {
    let column = numbers(&[1.0; 100]);
    let answers = || {
        let session = Session::open(settings(10.0, 0.0)).unwrap();
        (0..8)
            .map(|_| ask(&session, Statistic::Count, 0.1, plain(&column)).unwrap()[0].value as i64)
            .collect::<Vec<_>>()
    };
    let (one, other) = (answers(), answers());
    assert_eq!(one, other);
    let different: BTreeMap<i64, ()> = one.into_iter().map(|value| (value, ())).collect();
    assert!(different.len() > 3, "{different:?}");
}

/// From about the least ε to the largest, every statistic has its noise.
#[test]
fn small_and_large_epsilons_are_answered() {
    let bounds = Bounds::new(-3.0, 5.0).unwrap();
    let column = numbers(&[1.0, 2.0, 3.0]);
    for at in [1e-8, 1e-6, 1e-3, 1.0, 1000.0] {
        for statistic in [Statistic::Sum(bounds), Statistic::Mean(bounds), Statistic::Variance(bounds)] {
            let session = Session::open(settings(1000.0, 0.0)).unwrap();
            let cells = ask(&session, statistic.clone(), at, plain(&column));
            let told = cells.map_err(|why| why.to_string());
            assert!(
                told.as_ref().is_ok_and(|cells| cells[0].value.is_finite()),
                "{statistic:?} at {at}: {told:?}"
            );
            assert!(session.spent().unwrap().epsilon <= at);
        }
    }
}
