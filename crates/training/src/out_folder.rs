//! The folder of a run: what another run left there, and how a model is handed over.
//!
//! A run that is finished or paused is not written over unasked, and what is not ours is not written over at all. The
//! claim of a model outlives it, since its budget is spent: before another model takes its place, it becomes `claim-1.json`.
//!
//! The order of things on disk, any of which may be the last before a crash:
//!
//! 1. claim, report and model, whole, beside their places;
//! 2. the claim that was there gets its number; the report that was there goes;
//! 3. the claim, then the model, then the report get their names.
//!
//! So at every moment the model that is there, old or new, has a claim in the folder with its digest, and no claim is gone.

use super::{Checkpoint, Model, checkpoint, run_key};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};
use veracity_account::claims::{ClaimFile, ReleaseNote};
use veracity_core::Error;
use veracity_core::files::saving::{
    self, ReservedSpace, Staged, refuse_foreign_file, remove, rename_first, sweep,
};
use veracity_report::html;

/// The file of a run's model.
pub const MODEL: &str = "model.safetensors";
/// The file of its claim.
pub const CLAIM: &str = "claim.json";
/// The file of its report.
pub const REPORT: &str = "report.html";

/// Where what was learnt before the first step is kept while steps are left.
pub(crate) const STATISTICS: &str = "statistics.safetensors";

/// What a run does with another's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Begins where no run is.
    Fresh,
    /// Begins in the place of whatever run is there.
    Force,
    /// Resumes the one that was paused.
    Resume,
}

/// What another run left in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderStatus {
    /// A model or a claim: it came to its end.
    pub is_finished: bool,
    /// A checkpoint or a key: it may be resumed.
    pub is_paused: bool,
}

/// A folder that one process has for its run.
#[derive(Debug)]
pub(crate) struct OutFolder {
    path: PathBuf,
    /// What another run left there.
    pub left: FolderStatus,
    /// Whether it was made for this run.
    is_new: bool,
    /// Open as long as the run is: the lock ends with it, also when the process is killed.
    _lock: Option<File>,
}

impl FolderStatus {
    /// Looks into a folder, which need not be there. Refused where a name that a run writes to has something of others, and
    /// where another run is that the entry does not allow for.
    pub(crate) fn look(folder: &Path, entry: Entry) -> Result<FolderStatus, Error> {
        let is_file = |name: &str| fs::metadata(folder.join(name)).is_ok_and(|about| about.is_file());
        let names: [(&'static str, &str, saving::IsOurs); 5] = [
            ("model", MODEL, Model::is_one),
            ("claim", CLAIM, ClaimFile::is_one),
            ("report", REPORT, html::is_page),
            ("checkpoint", checkpoint::FILE, checkpoint::is_one),
            ("key", run_key::FILE, run_key::is_one),
        ];
        for (what, name, is_ours) in names {
            // What is to be resumed is judged when it is read, with the reason.
            let is_read = entry == Entry::Resume && [checkpoint::FILE, run_key::FILE].contains(&name);
            if is_file(name) && !is_read {
                refuse_foreign_file(what, &folder.join(name), is_ours)?;
            }
        }
        let left = FolderStatus {
            is_finished: is_file(MODEL) || is_file(CLAIM),
            is_paused: is_file(checkpoint::FILE) || is_file(run_key::FILE),
        };
        let refuse = |why: &str| Err(Error::invalid(format!("out is {}, expected {why}", folder.display())));
        match (entry, left.is_paused, left.is_finished) {
            (Entry::Fresh, true, _) => refuse(
                "a folder without a paused run; continue it with resume, delete it with force, or choose another folder",
            ),
            (Entry::Fresh, false, true) => refuse(
                "a folder without a finished run; replace its model (and keep its claim) with force, or choose another folder",
            ),
            (Entry::Fresh, false, false) | (Entry::Force | Entry::Resume, _, _) => Ok(left),
        }
    }
}

impl OutFolder {
    /// Makes the folder if it is not there, and keeps other runs out of it.
    pub fn open(path: &Path, entry: Entry) -> Result<OutFolder, Error> {
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(|error| Error::cannot("create", "folder", path, error))?;
        let lock = lock(path)?;
        // Once more, now that nobody else can change it.
        let left = FolderStatus::look(path, entry)?;
        // What killed runs left half-written.
        sweep(path, &[checkpoint::FILE, STATISTICS, MODEL, CLAIM, REPORT]);
        Ok(OutFolder { path: path.to_owned(), left, is_new, _lock: lock })
    }

    /// Holds space for the files of a run, so that it does not come to its end on a full disk: each as a file of its own.
    pub fn reserve(&self, sizes: &OutputSizes) -> Result<Vec<ReservedSpace>, Error> {
        let checkpoint = sizes.checkpoint.map(|bytes| ("checkpoint", checkpoint::FILE, bytes));
        // A checkpoint is replaced by one that was written beside it: there are two for a moment.
        let checked: Vec<_> = checkpoint.iter().chain(&checkpoint).copied().collect();
        let kept = [
            Some(("model", MODEL, sizes.model)),
            Some(("claim", CLAIM, sizes.claim)),
            sizes.report.map(|bytes| ("report", REPORT, bytes)),
        ];
        let hold = |(what, name, bytes)| ReservedSpace::new(what, &self.path.join(name), bytes);
        let kept = kept.into_iter().flatten().map(hold).collect::<Result<_, _>>()?;
        // Checkpoints are written during the run, so their space is looked for and not held.
        let _free_at_once: Vec<ReservedSpace> = checked.into_iter().map(hold).collect::<Result<_, _>>()?;
        Ok(kept)
    }

    /// Gives the file of a model, its claim and its report their names. Where the same claim of the same model was there already, from a run
    /// that was killed at this, it stays.
    pub fn hand_over(
        &self,
        model: &[u8],
        claim: Option<&ClaimFile>,
        report: Option<&str>,
    ) -> Result<(), Error> {
        self.steps(model, claim, report)?.into_iter().try_for_each(Step::take)
    }

    /// The steps of a hand-over, in their order. All files are whole and on disk before the first is taken.
    fn steps(
        &self,
        model: &[u8],
        claim: Option<&ClaimFile>,
        report: Option<&str>,
    ) -> Result<Vec<Step>, Error> {
        let [claims, models, reports] = [CLAIM, MODEL, REPORT].map(|name| self.path.join(name));
        let earlier = read_claim(&claims)?;
        let is_there = claim.zip(earlier.as_ref()).is_some_and(|(claim, earlier)| is_same(claim, earlier));
        if !models.is_dir() {
            refuse_foreign_file("model", &models, Model::is_one)?;
        }
        let mut steps = Vec::new();
        if earlier.is_some() && !is_there {
            steps.push(Step::Number(claims.clone()));
        }
        steps.push(Step::Remove(reports.clone()));
        if let Some(claim) = claim.filter(|_| !is_there) {
            steps.push(Step::Name(Staged::new("claim", &claims, claim.to_json()?.as_bytes())?));
        }
        steps.push(Step::Replace(Staged::new("model", &models, model)?));
        if let Some(report) = report {
            steps.push(Step::Name(Staged::new("report", &reports, report.as_bytes())?));
        }
        Ok(steps)
    }

    /// Removes the checkpoint and the key: the run is over.
    pub fn clear(&self) -> Result<(), Error> {
        Checkpoint::clear(&self.path)?;
        remove("statistics", &self.statistics(), super::chain::is_statistics)
    }

    /// Where what was learnt before the first step is kept.
    pub fn statistics(&self) -> PathBuf {
        self.path.join(STATISTICS)
    }
}

impl Drop for OutFolder {
    /// Leaves the folder as it was found, where nothing was written.
    fn drop(&mut self) {
        if self.is_new {
            // One that is no longer empty stays.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// How many bytes the files of a run take, at most; about, where a text is not written yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutputSizes {
    /// The model.
    pub model: u64,
    /// Its claim.
    pub claim: u64,
    /// Its report, where it has one.
    pub report: Option<u64>,
    /// One checkpoint, where there are any.
    pub checkpoint: Option<u64>,
}

/// One step of a hand-over, which is done or not.
#[derive(Debug)]
enum Step {
    /// The claim of an earlier run gets a number.
    Number(PathBuf),
    /// The report of an earlier run goes.
    Remove(PathBuf),
    /// A new file gets its name.
    Name(Staged),
    /// A file takes the place of an earlier run's.
    Replace(Staged),
}

impl Step {
    fn take(self) -> Result<(), Error> {
        match self {
            Step::Number(path) => {
                let names = (1..).map(|number| path.with_file_name(format!("claim-{number}.json")));
                rename_first("claim", &path, names).map(|_| ())
            }
            Step::Remove(path) => remove("report", &path, html::is_page),
            Step::Name(staged) => staged.settle_new(),
            Step::Replace(staged) => staged.settle(),
        }
    }
}

fn read_claim(path: &Path) -> Result<Option<ClaimFile>, Error> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(None);
    }
    refuse_foreign_file("claim", path, ClaimFile::is_one)?;
    Ok(Some(ClaimFile::parse(&veracity_core::files::read_text("claim", path)?)?))
}

/// Whether two claims of a model say the same, whenever they were made. A seed gives the same model again, perhaps for another
/// promise; then the claim is another.
fn is_same(one: &ClaimFile, other: &ClaimFile) -> bool {
    let timeless = |claim: &ClaimFile| {
        let release = claim.release.clone().map(|release| ReleaseNote { time: None, ..release });
        ClaimFile { release, ..claim.clone() }
    };
    one.model().is_some() && timeless(one) == timeless(other)
}

/// Two runs in one folder would take each other's files away. The lock is on the folder itself, and leaves no file.
#[cfg(unix)]
fn lock(folder: &Path) -> Result<Option<File>, Error> {
    use rustix::{fs::FlockOperation, io::Errno};
    let file = File::open(folder).map_err(|error| Error::unreadable("folder", folder, error))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Error::file(
            "out",
            folder,
            "a folder that no other run is writing to; wait for that run, or choose another folder",
        )),
        // Some network file systems have no locks.
        Ok(()) | Err(_) => Ok(Some(file)),
    }
}

#[cfg(not(unix))]
fn lock(_folder: &Path) -> Result<Option<File>, Error> {
    Ok(None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Protection, TrainingPlan, job::provenance, page};
    use std::collections::BTreeMap;
    use veracity_account::claims::verify;
    use veracity_noise::Origin;

    const PLAN: &str = "unit = \"record\"\n[data]\nformat = \"digits\"\n\
         [[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
         [training]\nbatch_size = 256\nsteps = 1\nlearning_rate = 1\n\
         [privacy]\nnoise_multiplier = 8\ndelta = 1e-5\n";

    /// A model whose weights are all this number, its claim and its report.
    struct Handed {
        model: Model,
        claim: Option<ClaimFile>,
        report: String,
    }

    fn runs() -> impl Fn(f32, bool) -> Handed {
        let plan = TrainingPlan::parse(PLAN, Path::new("")).unwrap();
        let data = plan.records().unwrap();
        let prepared = plan.prepare(&data, Protection::Private).unwrap();
        let claim = prepared.claim(Origin::System).unwrap().unwrap();
        let provenance = provenance("digits").unwrap();
        move |weight, is_private| {
            let model = prepared.model_of(vec![weight; 650]);
            let claim = is_private.then(|| model.claimed(claim.clone(), &provenance).unwrap());
            let report = page(&prepared, &model, "2026-01-31T12:00:00.000000000Z", None).unwrap().render();
            Handed { model, claim, report }
        }
    }

    fn open(name: &str) -> OutFolder {
        let path = std::env::temp_dir().join(format!("veracity-out-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        OutFolder::open(&path, Entry::Fresh).unwrap()
    }

    fn steps(out: &OutFolder, handed: &Handed) -> Vec<Step> {
        out.steps(&handed.model.to_bytes().unwrap(), handed.claim.as_ref(), Some(&handed.report)).unwrap()
    }

    fn hand_over(out: &OutFolder, handed: &Handed) {
        out.hand_over(&handed.model.to_bytes().unwrap(), handed.claim.as_ref(), Some(&handed.report))
            .unwrap();
    }

    /// All files, by their names.
    fn files(out: &OutFolder) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(&out.path).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
            .collect()
    }

    /// The models of a folder whose digest no claim there has.
    fn unclaimed(out: &OutFolder) -> Vec<Vec<u8>> {
        let files = files(out);
        let of = |ending: &str| {
            let ending = ending.to_owned();
            files.iter().filter(move |(name, _)| !name.starts_with('.') && name.ends_with(&ending))
        };
        let claims = of(".json").map(|(_, bytes)| std::str::from_utf8(bytes).unwrap());
        let claims: Vec<ClaimFile> = claims.map(|text| ClaimFile::parse(text).unwrap()).collect();
        let is_claimed = |bytes: &[u8]| {
            let digest = Model::digest_of(bytes).unwrap().0;
            claims.iter().any(|claim| claim.model() == Some(&digest))
        };
        of(".safetensors").filter(|(_, bytes)| !is_claimed(bytes)).map(|(_, bytes)| bytes.clone()).collect()
    }

    /// The model that is there has a claim with its digest, unless it is one that never had any.
    fn every_model_has_its_claim(out: &OutFolder, unprotected: &[&Handed], at: usize) {
        for bytes in unclaimed(out) {
            let is_known = unprotected.iter().any(|run| run.model.to_bytes().unwrap() == bytes);
            assert!(is_known, "after {at} steps a model has no claim");
        }
    }

    /// A process that is killed after any step of a hand-over leaves the parts that it has not named yet.
    #[test]
    fn no_step_leaves_a_model_without_a_claim_or_loses_one() {
        let run = runs();
        let (first, second) = (run(1.0, true), run(2.0, true));
        let (bare, bare_too) = (run(3.0, false), run(4.0, false));
        for (old, new) in [
            (None, &first),
            (Some(&first), &second),
            (Some(&bare), &second),
            (Some(&first), &bare),
            (Some(&bare), &bare_too),
        ] {
            let mut killed_after = 0;
            loop {
                let out = open("killed");
                if let Some(old) = old {
                    hand_over(&out, old);
                }
                let kept = files(&out).remove(CLAIM);
                let mut left = steps(&out, new).into_iter();
                for step in left.by_ref().take(killed_after) {
                    step.take().unwrap();
                }
                let is_whole = left.len() == 0;
                std::mem::forget(left);
                if killed_after > 0 || old.is_some() {
                    let is_bare = |run: &&Handed| run.claim.is_none();
                    let unprotected: Vec<&Handed> = old.into_iter().chain([new]).filter(is_bare).collect();
                    if files(&out).keys().any(|name| !name.starts_with('.')) {
                        every_model_has_its_claim(&out, &unprotected, killed_after);
                    }
                }
                if let Some(kept) = &kept {
                    assert!(
                        files(&out).values().any(|file| file == kept),
                        "after {killed_after} steps a claim is gone"
                    );
                }
                // Resumed, it ends as if it had never been killed.
                let path = out.path.clone();
                drop(out);
                let out = OutFolder::open(&path, Entry::Resume).unwrap();
                hand_over(&out, new);
                let found = files(&out);
                let mut expected = vec![MODEL, REPORT];
                expected.extend(kept.as_ref().map(|_| "claim-1.json"));
                expected.extend(new.claim.as_ref().map(|_| CLAIM));
                expected.sort_unstable();
                assert_eq!(found.keys().collect::<Vec<_>>(), expected, "after {killed_after} steps");
                assert_eq!(found.get("claim-1.json"), kept.as_ref());
                assert_eq!(found[MODEL], new.model.to_bytes().unwrap());
                if new.claim.is_some() {
                    let claim = String::from_utf8(found[CLAIM].clone()).unwrap();
                    assert!(unclaimed(&out).is_empty() && verify(&claim).unwrap().stands(), "{killed_after}");
                }
                fs::remove_dir_all(&out.path).unwrap();
                if is_whole {
                    break;
                }
                killed_after += 1;
            }
            assert!(killed_after >= 3);
        }
    }

    /// Twin: were the model named before its claim, the check above would see it.
    #[test]
    fn a_model_that_comes_before_its_claim_is_seen() {
        let run = runs();
        let out = open("twin");
        hand_over(&out, &run(1.0, true));
        let mut all = steps(&out, &run(2.0, true));
        let at = all.iter().position(|step| matches!(step, Step::Replace(_))).unwrap();
        all.remove(at).take().unwrap();
        assert_eq!(unclaimed(&out).len(), 1);
        drop(all);
        fs::remove_dir_all(&out.path).unwrap();
    }

    /// A seed gives the same model again; what is promised of it may be another thing.
    #[test]
    fn the_same_model_with_another_claim_gets_that_claim() {
        let run = runs();
        let out = open("promised");
        let (first, mut again) = (run(1.0, true), run(1.0, true));
        hand_over(&out, &first);
        // At another time: the same claim, which stays.
        let claim = |dataset: &str, time: &str| {
            let provenance = veracity_account::claims::Provenance::at(dataset, time.to_owned()).unwrap();
            first.model.claimed(first.claim.clone().unwrap(), &provenance).unwrap()
        };
        again.claim = Some(claim("digits", "2026-01-01T00:00:00.000000000Z"));
        hand_over(&out, &again);
        let kept = files(&out);
        assert_eq!(kept[CLAIM], first.claim.as_ref().unwrap().to_json().unwrap().as_bytes());
        assert!(!kept.contains_key("claim-1.json"));
        again.claim = Some(claim("others", "2026-01-01T00:00:00.000000000Z"));
        hand_over(&out, &again);
        assert_eq!(files(&out)[CLAIM], again.claim.unwrap().to_json().unwrap().as_bytes());
        assert_eq!(files(&out)["claim-1.json"], kept[CLAIM]);
        fs::remove_dir_all(&out.path).unwrap();
    }

    #[test]
    fn another_run_is_entered_only_as_asked_and_strangers_never() {
        let run = runs();
        let out = open("entered");
        let path = out.path.clone();
        assert!(FolderStatus::look(&path, Entry::Fresh).is_ok());
        #[cfg(unix)]
        assert!(OutFolder::open(&path, Entry::Force).unwrap_err().to_string().contains("no other run"));
        hand_over(&out, &run(1.0, true));
        drop(out);
        assert!(OutFolder::open(&path, Entry::Fresh).unwrap_err().to_string().contains("with force"));
        assert!(FolderStatus::look(&path, Entry::Force).unwrap().is_finished);
        fs::write(path.join(run_key::FILE), b"").unwrap();
        assert!(
            FolderStatus::look(&path, Entry::Fresh)
                .unwrap_err()
                .to_string()
                .contains("continue it with resume")
        );
        for name in [MODEL, CLAIM, REPORT, checkpoint::FILE, run_key::FILE] {
            let kept = fs::read(path.join(name)).unwrap_or_default();
            fs::write(path.join(name), b"{\"schema\": \"veracity.claim/2\"} of someone").unwrap();
            let refused = FolderStatus::look(&path, Entry::Force).unwrap_err().to_string();
            assert!(refused.contains("found a file of another kind"), "{name}: {refused}");
            if kept.is_empty() {
                fs::remove_file(path.join(name)).unwrap();
            } else {
                fs::write(path.join(name), kept).unwrap();
            }
        }
        fs::remove_dir_all(path).unwrap();
    }
}
