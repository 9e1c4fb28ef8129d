//! The report format: round trips, and lines that someone made up.

use proptest::{prelude::*, test_runner::RngSeed};
use std::io::Cursor;
use veracity_mechanisms::local::{Domain, Kind, Mean, Reader, Report, ReportShape, Survey};
use veracity_noise::{Entropy, Key, Purpose, Stream};
use veracity_testkit::short;

fn rng(seed: u64) -> Stream {
    Entropy::seeded(seed).stream(Purpose::Report, Key::default())
}

fn surveys(eps: f64) -> Vec<Survey> {
    let epsilon = short::epsilon(eps);
    let names =
        || Domain::categories(["red", "gr\"een", "blau ß", "", "x"].map(String::from).to_vec()).unwrap();
    let mut surveys: Vec<Survey> = Kind::ALL
        .iter()
        .map(|kind| Survey::frequency(names(), *kind, epsilon, 0xfeed_0000_0000_0001).unwrap())
        .collect();
    surveys.extend(
        Kind::ALL
            .iter()
            .map(|kind| Survey::frequency(Domain::range(70).unwrap(), *kind, epsilon, u64::MAX).unwrap()),
    );
    surveys.extend(
        [ReportShape::OneBit, ReportShape::Window]
            .map(|shape| Survey::Mean(Mean::shaped(-0.1, 12.3, epsilon, shape).unwrap())),
    );
    surveys
}

fn some_reports(survey: &Survey, rng: &mut Stream) -> Vec<Report> {
    match survey {
        Survey::Frequency { protocol, domain } => {
            (0..20).map(|i| protocol.encode(i % domain.size(), rng).unwrap()).collect()
        }
        Survey::Mean(mean) => (0..20).map(|i| mean.encode(f64::from(i) / 2.0, rng).unwrap()).collect(),
    }
}

#[test]
fn headers_and_reports_come_back_as_they_were() {
    for survey in surveys(1.0 / 3.0) {
        let reports = some_reports(&survey, &mut rng(1));
        let mut file = survey.header() + "\n";
        for report in &reports {
            file += &(survey.line(report) + "\n");
        }
        let reader = Reader::new(Cursor::new(&file)).unwrap();
        assert_eq!(*reader.survey(), survey, "{}", survey.header());
        let back: Vec<Report> = reader.collect::<Result<_, _>>().unwrap();
        assert_eq!(back, reports);
        // The last line may lack its end, and lines may end as on Windows.
        let windows = file.trim_end().replace('\n', "\r\n");
        assert_eq!(Reader::new(Cursor::new(windows)).unwrap().count(), 20);
    }
}

/// 200 reports of each survey, seed 3: numbers of one digit and of several, both signs. Twin: without the spaces at the end
/// lengths differ.
#[test]
fn all_lines_of_a_survey_have_one_length() {
    let mut differ = 0;
    for survey in surveys(1.0) {
        let mut rng = rng(3);
        let lines: Vec<String> = (0..10)
            .flat_map(|_| some_reports(&survey, &mut rng))
            .map(|report| survey.line(&report))
            .collect();
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{}: {lines:?}", survey.name());
        differ += usize::from(lines.iter().any(|line| line.trim_end().len() != lines[0].trim_end().len()));
    }
    assert!(differ >= 5, "{differ}");
}

#[test]
fn the_format_is_a_promise() {
    let one = short::epsilon(1.0);
    let survey = Survey::frequency(Domain::range(12).unwrap(), Kind::OptimisedUnary, one, 0).unwrap();
    assert_eq!(survey.header(), r#"{"schema":"veracity.local/1","protocol":"oue","epsilon":1.0,"size":12}"#);
    assert_eq!(
        survey.report(2, r#"{"bits":"ff0f"}"#).unwrap(),
        survey.report(3, r#" { "bits" : "ff0f" } "#).unwrap()
    );
    let olh = Survey::frequency(Domain::range(12).unwrap(), Kind::LocalHashing, one, 0).unwrap();
    let report = Report::Hashed { seed: 0xabc, cell: 3 };
    assert_eq!(olh.line(&report), r#"{"seed":"0000000000000abc","cell":3}"#);
    let hadamard = Survey::frequency(Domain::range(12).unwrap(), Kind::Hadamard, one, 0).unwrap();
    assert_eq!(hadamard.line(&Report::Sign { row: 15, negative: true }), r#"{"row":15,"sign":-1}"#);
}

#[test]
fn a_report_that_does_not_fit_is_refused_with_its_line_and_without_its_content() {
    let one = short::epsilon(1.0);
    let survey = |kind| Survey::frequency(Domain::range(12).unwrap(), kind, one, 0).unwrap();
    let cases: [(Kind, &[&str]); 5] = [
        (
            Kind::RandomizedResponse,
            &[
                r#"{"value":12}"#,
                r#"{"value":-1}"#,
                r#"{"value":7777777777777}"#,
                r#"{"value":1.5}"#,
                r#"{"value":"7777"}"#,
                r#"{"value":1,"value":1}"#,
                r#"{"value":1,"extra":7777}"#,
                r#"{"value":1,"cell":1}"#,
                r#"{"value":null}"#,
                r#"[7777]"#,
                "{}",
                "",
                "7777",
                "{\"value\":1",
                "\u{0}",
            ],
        ),
        (
            Kind::OptimisedUnary,
            &[
                r#"{"bits":"ff1f"}"#,
                r#"{"bits":"ff"}"#,
                r#"{"bits":"ff0f00"}"#,
                r#"{"bits":"FF0F"}"#,
                r#"{"bits":"+f0f"}"#,
                r#"{"function":0,"bits":"ff0f"}"#,
            ],
        ),
        (
            Kind::LocalHashing,
            &[
                r#"{"seed":"0000000000000abc","cell":4}"#,
                r#"{"seed":"abc","cell":1}"#,
                r#"{"seed":"+000000000000abc","cell":1}"#,
                r#"{"seed":12,"cell":1}"#,
                r#"{"seed":"0000000000000abc"}"#,
            ],
        ),
        (
            Kind::Hadamard,
            &[r#"{"row":16,"sign":1}"#, r#"{"row":1,"sign":0}"#, r#"{"row":1,"sign":2}"#, r#"{"row":1}"#],
        ),
        (
            Kind::Sketch,
            &[r#"{"function":1024,"bits":"00"}"#, r#"{"bits":"ff0f"}"#, r#"{"function":0,"row":0,"sign":1}"#],
        ),
    ];
    for (kind, lines) in cases {
        for line in lines {
            let refusal = survey(kind).report(41, line).unwrap_err().to_string();
            assert!(refusal.starts_with("line 41: "), "{refusal}");
            assert!(!refusal.contains("7777") && !refusal.contains('\n'), "{refusal}");
        }
    }
}

#[test]
fn a_header_that_means_nothing_is_refused() {
    for header in [
        "",
        "{}",
        "null",
        r#"{"schema":"veracity.local/2","protocol":"oue","epsilon":1.0,"size":12}"#,
        r#"{"schema":"veracity.local/1","protocol":"oue","epsilon":1.0}"#,
        r#"{"schema":"veracity.local/1","protocol":"oue","epsilon":1.0,"size":12,"categories":["a","b"]}"#,
        r#"{"schema":"veracity.local/1","protocol":"oue","epsilon":1.0,"size":1}"#,
        r#"{"schema":"veracity.local/1","protocol":"oue","epsilon":1.0,"size":4294967295}"#,
        r#"{"schema":"veracity.local/1","protocol":"oue","epsilon":-1.0,"size":12}"#,
        r#"{"schema":"veracity.local/1","protocol":"oue","epsilon":1e999,"size":12}"#,
        r#"{"schema":"veracity.local/1","protocol":"oue","epsilon":99,"size":12}"#,
        r#"{"schema":"veracity.local/1","protocol":"xyz","epsilon":1.0,"size":12}"#,
        r#"{"schema":"veracity.local/1","protocol":"cms","epsilon":1.0,"size":12}"#,
        r#"{"schema":"veracity.local/1","protocol":"oue","epsilon":1.0,"size":12,"sketch":{"width":2,"functions":1,"seed":"0000000000000000"}}"#,
        r#"{"schema":"veracity.local/1","protocol":"cms","epsilon":1.0,"size":12,"sketch":{"width":65536,"functions":16384,"seed":"0000000000000000"}}"#,
        r#"{"schema":"veracity.local/1","protocol":"rappor","epsilon":1.0,"size":12}"#,
        r#"{"schema":"veracity.local/1","protocol":"rappor","epsilon":1.0,"size":12,"rappor":{"bits":4294967295,"hashes":2,"cohorts":8,"zero_shows":0.5,"one_shows":0.75}}"#,
        r#"{"schema":"veracity.local/1","protocol":"rappor","epsilon":1.0,"size":500,"rappor":{"bits":1,"hashes":2,"cohorts":8,"zero_shows":0.5,"one_shows":0.75}}"#,
        r#"{"schema":"veracity.local/1","protocol":"rappor","epsilon":1.0,"size":12,"rappor":{"bits":64,"hashes":2,"cohorts":8,"zero_shows":0.75,"one_shows":0.5}}"#,
        r#"{"schema":"veracity.local/1","protocol":"mean","epsilon":1.0}"#,
        r#"{"schema":"veracity.local/1","protocol":"mean","epsilon":1.0,"range":{"lower":1,"upper":0,"shape":"window"}}"#,
        r#"{"schema":"veracity.local/1","protocol":"mean","epsilon":1.0,"range":{"lower":0,"upper":1,"shape":"round"}}"#,
        r#"{"schema":"veracity.local/1","protocol":"mean","epsilon":1.0,"range":{"lower":-1.7e308,"upper":1.7e308,"shape":"window"}}"#,
    ] {
        assert!(Survey::from_header(header).is_err(), "{header}");
    }
}

#[test]
fn files_without_header_or_with_broken_bytes_end_in_one_refusal() {
    assert!(Reader::new(Cursor::new("")).is_err());
    assert!(Reader::new(Cursor::new("\n{}")).is_err());
    let header = surveys(1.0)[0].header() + "\n";
    let mut bytes = header.clone().into_bytes();
    bytes.extend(b"\xff\xfe\n{\"value\":1}\n");
    let read: Vec<_> = Reader::new(Cursor::new(bytes)).unwrap().collect();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].as_ref().unwrap_err().to_string(), "line 2: is not UTF-8");
    let long = header + "{\"value\":1}\n" + &" ".repeat(1 << 20);
    let read: Vec<_> = Reader::new(Cursor::new(long)).unwrap().collect();
    assert!(read[0].is_ok());
    assert_eq!(read[1].as_ref().unwrap_err().to_string(), "line 3: is too long");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_reader_panic_and_what_it_accepts_it_can_count(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        text in r#"\{"(value|bits|seed|cell|row|sign|function|cohort|number)":("?[0-9a-f-]{0,18}"?)(,"(cell|row|sign|bits)":"?[0-9a-f-]{0,6}"?)?\}"#,
        eps in 0.01f64..8.0,
    ) {
        for survey in surveys(eps) {
            prop_assert_eq!(&Survey::from_header(&survey.header()).unwrap(), &survey);
            for line in [String::from_utf8_lossy(&bytes).into_owned(), text.clone()] {
                let _ = Survey::from_header(&line);
                if let Ok(report) = survey.report(9, &line) {
                    match &survey {
                        Survey::Frequency { protocol, .. } => {
                            let mut tally = protocol.tally();
                            prop_assert!(tally.absorb(std::slice::from_ref(&report)).is_ok());
                            prop_assert!(tally.estimate().values.iter().all(|e| e.count.is_finite()));
                        }
                        Survey::Mean(mean) => {
                            let mut tally = mean.tally();
                            prop_assert!(tally.absorb(std::slice::from_ref(&report)).is_ok());
                            prop_assert!(tally.estimate().unwrap().mean.is_finite());
                        }
                    }
                }
            }
        }
    }
}
