//! `veracity init`: a training plan to fill in, from the header of a file.

use crate::{Outcome, args::InitArgs};
use std::path::{Path, PathBuf};
use veracity::{
    Error,
    saving::{create, must_be_new},
    training::initial_plan,
};

/// Writes the plan, or prints it.
pub fn run(args: &InitArgs) -> Result<Outcome, Error> {
    if args.file == Path::new("-") {
        return Err(Error::invalid("file is -, expected one that the plan can name"));
    }
    args.out.as_ref().map_or(Ok(()), |path| must_be_new("plan", path))?;
    let plan = initial_plan(&args.file, &place(args)?, args.label.as_deref())?;
    let Some(path) = &args.out else { return Outcome::done(plan) };
    create("plan", path, plan.as_bytes())?;
    let path = path.display();
    Outcome::done(format!(
        "plan written to {path}, from the header alone\nfill in what says FILL IN, then: veracity train {path}\n"
    ))
}

/// The records as the plan names them: relative paths in it start where it is.
fn place(args: &InitArgs) -> Result<PathBuf, Error> {
    let folder = |path: &Path| std::path::absolute(path).map(|path| path.parent().map(Path::to_owned));
    let unknown = |error: std::io::Error| Error::invalid(format!("file has no absolute path ({error})"));
    let Some(out) = &args.out else { return Ok(args.file.clone()) };
    let is_beside = folder(out).map_err(unknown)? == folder(&args.file).map_err(unknown)?;
    match args.file.file_name() {
        Some(name) if is_beside => Ok(PathBuf::from(name)),
        _ => std::path::absolute(&args.file).map_err(unknown),
    }
}
