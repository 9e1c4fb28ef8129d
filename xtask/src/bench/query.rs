//! Private SQL beside the same query without privacy, on the same engine, and beside SmartNoise SQL: seconds and peak memory.
//!
//! A table of purchases is made from a fixed seed. Each tool is one process for each query, timed from start to end; a server of
//! PostgreSQL has its table loaded before. Beside the plain query stands the same one that also counts distinct persons: no tool can
//! bound what a person adds without looking at each. The embedded engine on Parquet stands beside plain DuckDB on the same file. Memory is what the processes of a tool had of their own, looked at every few milliseconds;
//! processor seconds stand beside the others, for a machine that others use too.

use super::{
    build_command_line, environment, environment_in, field, number, output_within, peer,
    query_table::{self, Table},
    release_folder,
};
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DUCKDB: [&str; 1] = ["duckdb-cli==1.5.6"];
const SMARTNOISE: [&str; 1] = ["smartnoise-sql==1.0.10"];
/// SmartNoise has so long for a query.
const PATIENCE: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(5);

/// What is asked: a name, the answer, and the keys.
const QUERIES: [(&str, &str, &str); 5] = [
    ("rows", "COUNT(*)", "region"),
    ("persons", "COUNT(DISTINCT person)", "region"),
    ("sum", "SUM(amount)", "region"),
    ("mean and rows", "AVG(amount), COUNT(*)", "payment"),
    ("two keys, one unknown", "COUNT(*)", "region, product"),
];

/// Who is asked.
const ENGINES: [(&str, &str); 4] = [
    ("csv", "embedded, CSV"),
    ("parquet", "embedded, Parquet"),
    ("duckdb", "DuckDB, Parquet"),
    ("postgres", "PostgreSQL"),
];

fn is_engine(name: &str) -> bool {
    ENGINES.iter().any(|(engine, _)| *engine == name)
}

/// How long something took and how much memory it had.
#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    /// Of all processors.
    busy: f64,
    peak_mib: f64,
}

/// Where everything is.
struct Programs {
    ours: PathBuf,
    duckdb: PathBuf,
    smartnoise: Option<PathBuf>,
    peer: PathBuf,
    table: Table,
    server: Option<Server>,
    repeats: usize,
}

/// A server of PostgreSQL that has the table, until this is dropped.
struct Server {
    child: Child,
    url: String,
    pid: u32,
}

/// Times everyone and prints the tables.
pub fn run(root: &Path, words: &[&str]) -> io::Result<bool> {
    let (mut rows, mut repeats, mut engines) = (10_000_000, 3, ENGINES.map(|(engine, _)| engine).to_vec());
    for pair in words.chunks(2) {
        match pair {
            ["--rows", number] => rows = number.parse().map_err(io::Error::other)?,
            ["--repeats", number] => repeats = number.parse().map_err(io::Error::other)?,
            ["--engines", names] if names.split(',').all(is_engine) => engines = names.split(',').collect(),
            _ => {
                return Err(io::Error::other(
                    "bench query takes --rows N, --repeats N and --engines csv,parquet,duckdb,postgres",
                ));
            }
        }
    }
    let programs = Programs::new(root, rows, repeats, &engines)?;
    println!("{rows} rows, {} persons; medians of {repeats} runs.\n", rows / query_table::ROWS_PER_PERSON);
    let embedded = programs.print_engines(&engines)?;
    if engines.len() == ENGINES.len() {
        programs.print_smartnoise(&embedded)?;
    }
    Ok(embedded.iter().all(Option::is_some))
}

impl Programs {
    fn new(root: &Path, rows: u64, repeats: usize, engines: &[&str]) -> io::Result<Programs> {
        build_command_line(root, &["--features", "postgres"])?;
        let release = release_folder(root);
        let python = environment(root, &DUCKDB)?;
        let folder = release.join("bench-query");
        let duckdb = python.with_file_name("duckdb");
        let peer = peer(root, "query_peer.py");
        let table = Table::make(&folder, rows, &duckdb)?;
        let is_whole = engines.len() == ENGINES.len();
        let smartnoise =
            if is_whole { environment_in(&folder.join("smartnoise"), &SMARTNOISE).ok() } else { None };
        let server = match engines.contains(&"postgres") {
            true => Server::start(&python, &peer, root, &table)?,
            false => None,
        };
        if let Some(server) = &server {
            table.write_catalog("postgres", &format!("engine = \"postgres\"\nurl = \"{}\"", server.url))?;
        }
        Ok(Programs { ours: release.join("veracity"), duckdb, smartnoise, peer, table, server, repeats })
    }

    /// Each query on each engine; the seconds of the embedded one.
    fn print_engines(&self, engines: &[&str]) -> io::Result<Vec<Option<Cost>>> {
        println!(
            "| query | engine | ours, s (CPU) | MiB | plain, s (CPU) | ours ÷ plain (CPU) | with distinct persons, s (CPU) | ours ÷ that (CPU) |"
        );
        println!("|---|---|---|---|---|---|---|---|");
        let mut embedded = Vec::new();
        for (name, answer, keys) in QUERIES {
            for (engine, title) in ENGINES.into_iter().filter(|(engine, _)| engines.contains(engine)) {
                let mut costs: [Vec<Option<Cost>>; 3] = Default::default();
                for _ in 0..self.repeats {
                    costs[0].push(self.ours(engine, answer, keys)?);
                    costs[1].push(self.plain(engine, &plain(answer, keys, self.relation(engine)))?);
                    costs[2].push(self.plain(engine, &with_persons(answer, keys, self.relation(engine)))?);
                }
                let [ours, plain, persons] = costs.map(median);
                println!("| {name} | {title} | {}", row(ours, plain, persons));
                if engine == "parquet" {
                    embedded.push(ours);
                }
            }
        }
        println!();
        Ok(embedded)
    }

    /// What the table is to an engine.
    fn relation(&self, engine: &str) -> &str {
        if matches!(engine, "duckdb" | "parquet") { &self.table.quoted } else { "purchases" }
    }

    fn ours(&self, engine: &str, answer: &str, keys: &str) -> io::Result<Option<Cost>> {
        if engine == "postgres" && self.server.is_none() {
            return Ok(None);
        }
        let catalog = if engine == "duckdb" { "parquet" } else { engine };
        let claims = self.table.folder.join("claims");
        fs::create_dir_all(&claims)?;
        let mut command = Command::new(&self.ours);
        command.arg("query").arg(plain(answer, keys, "purchases"));
        command.arg("--catalog").arg(self.table.catalog(catalog)).args(["--epsilon", "1", "--delta", "1e-6"]);
        command.arg("--claim").arg(&claims).arg("--json").env("VERACITY_DUCKDB", &self.duckdb);
        if engine == "duckdb" {
            command.args(["--engine", "duckdb"]);
        }
        let cost = self.measured(&mut command, engine);
        fs::remove_dir_all(&claims)?;
        cost
    }

    /// The same without privacy. The embedded engine has no other interface: on Parquet DuckDB is asked, on CSV nothing.
    fn plain(&self, engine: &str, query: &str) -> io::Result<Option<Cost>> {
        let mut command = match (engine, &self.server) {
            ("duckdb" | "parquet", _) => {
                let mut command = Command::new(&self.duckdb);
                command.args(["-init", "/dev/null", "-batch", "-json", "-c", query]);
                command
            }
            ("postgres", Some(server)) => {
                let mut command = Command::new("psql");
                command.args(["--no-psqlrc", "--quiet", "--command", query]).arg(&server.url);
                command
            }
            _ => return Ok(None),
        };
        self.measured(&mut command, engine)
    }

    /// Runs a command to its end; nothing where it fails, which it has then explained itself.
    fn measured(&self, command: &mut Command, engine: &str) -> io::Result<Option<Cost>> {
        let server = self.server.as_ref().filter(|_| engine == "postgres");
        let idle = server.map_or((0.0, 0.0), |server| used(server.pid));
        let begun = Instant::now();
        let mut child = command.stdout(Stdio::null()).spawn()?;
        let mut cost = Cost { seconds: 0.0, busy: 0.0, peak_mib: 0.0 };
        let status = loop {
            let (mib, busy) = used(child.id());
            let at_server = server.map_or(idle, |server| used(server.pid));
            cost.peak_mib = cost.peak_mib.max(mib + at_server.0 - idle.0);
            cost.busy = cost.busy.max(busy + at_server.1 - idle.1);
            match child.try_wait()? {
                Some(status) => break status,
                None => std::thread::sleep(LOOK),
            }
        };
        cost.seconds = begun.elapsed().as_secs_f64();
        Ok(status.success().then_some(cost))
    }

    /// SmartNoise, whose seconds are without reading the file, beside ours, whose are with it.
    fn print_smartnoise(&self, embedded: &[Option<Cost>]) -> io::Result<()> {
        println!("| query | SmartNoise SQL, s without loading | MiB | ÷ ours, embedded with loading |");
        println!("|---|---|---|---|");
        for ((name, answer, keys), ours) in QUERIES.iter().zip(embedded) {
            let found = match &self.smartnoise {
                None => Err("does not install".to_owned()),
                Some(python) => self.ask_smartnoise(python, &plain(answer, keys, "shop.purchases"))?,
            };
            match found {
                Err(why) => println!("| {name} | {why} | | |"),
                Ok(cost) => {
                    let ratio =
                        ours.map_or(String::new(), |ours| format!("{:.1}", cost.seconds / ours.seconds));
                    println!("| {name} | {:.1} | {:.0} | {ratio} |", cost.seconds, cost.peak_mib);
                }
            }
        }
        Ok(())
    }

    fn ask_smartnoise(&self, python: &Path, query: &str) -> io::Result<Result<Cost, String>> {
        eprintln!("smartnoise: {query}");
        let mut command = Command::new(python);
        command.arg(&self.peer).arg("smartnoise").arg(self.table.path("csv")).arg(query);
        Ok(output_within(&mut command, PATIENCE)?.and_then(|said| {
            let cost = Cost {
                seconds: number(&said, "seconds"),
                busy: f64::NAN,
                peak_mib: number(&said, "peak_kib") / 1024.0,
            };
            let is_whole = cost.seconds.is_finite() && cost.peak_mib.is_finite();
            if is_whole { Ok(cost) } else { Err("no answer".to_owned()) }
        }))
    }
}

impl Server {
    /// A server with the table; nothing where there is no PostgreSQL.
    fn start(python: &Path, peer: &Path, root: &Path, table: &Table) -> io::Result<Option<Server>> {
        let mut command = Command::new(python);
        command
            .arg(peer)
            .arg("postgres")
            .arg(table.path("csv"))
            .env("PYTHONPATH", root.join("python/engines"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(said) = child.stdout.take() {
            BufReader::new(said).read_line(&mut line)?;
        }
        let pid = field(&line, "pid").and_then(|pid| pid.parse().ok());
        match (field(&line, "url"), pid) {
            (Some(url), Some(pid)) => Ok(Some(Server { child, url, pid })),
            _ => {
                child.wait()?;
                eprintln!("PostgreSQL is left out");
                Ok(None)
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input tells it to stop.
        drop(self.child.stdin.take());
        if let Err(error) = self.child.wait() {
            eprintln!("the server of PostgreSQL was not seen to end: {error}");
        }
    }
}

fn plain(answer: &str, keys: &str, relation: &str) -> String {
    format!("SELECT {keys}, {answer} AS answer FROM {relation} GROUP BY {keys}")
}

/// The same query that also counts distinct persons.
fn with_persons(answer: &str, keys: &str, relation: &str) -> String {
    plain(&format!("{answer}, COUNT(DISTINCT person)"), keys, relation)
}

/// The median by time; nothing where one failed.
fn median(costs: Vec<Option<Cost>>) -> Option<Cost> {
    let mut all: Vec<Cost> = costs.into_iter().collect::<Option<_>>()?;
    all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    all.get(all.len() / 2).copied()
}

fn row(ours: Option<Cost>, plain: Option<Cost>, persons: Option<Cost>) -> String {
    let Some(ours) = ours else { return "no answer | | | | | |".to_owned() };
    let both = |cost: Cost| format!("{:.2} ({:.2})", cost.seconds, cost.busy);
    let beside = |other: Option<Cost>| match other {
        Some(other) => {
            let (seconds, busy) = (ours.seconds / other.seconds, ours.busy / other.busy);
            format!("{} | {seconds:.1} ({busy:.1})", both(other))
        }
        None => " | ".to_owned(),
    };
    format!("{} | {:.0} | {} | {} |", both(ours), ours.peak_mib, beside(plain), beside(persons))
}

/// What a process and all that it started have of their own, in MiB, and the processor seconds that they took.
fn used(root: u32) -> (f64, f64) {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut seconds: HashMap<u32, f64> = HashMap::new();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name may have spaces and brackets. After its last bracket the parent comes second, and from the twelfth on ticks of
        // a hundredth of a second: its own, the system's for it, and both of children that have ended.
        let rest: Vec<&str> =
            stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
        let parent = rest.get(1).and_then(|parent| parent.parse().ok()).unwrap_or(0);
        children.entry(parent).or_default().push(pid);
        let ticks = rest.iter().skip(11).take(4).filter_map(|ticks| ticks.parse::<f64>().ok());
        seconds.insert(pid, ticks.sum::<f64>() / 100.0);
    }
    let (mut waiting, mut kib, mut busy) = (vec![root], 0.0, 0.0);
    while let Some(pid) = waiting.pop() {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let own = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next()?.parse().ok());
        kib += own.unwrap_or(0.0);
        busy += seconds.get(&pid).copied().unwrap_or(0.0);
        waiting.extend(children.remove(&pid).unwrap_or_default());
    }
    (kib / 1024.0, busy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_needs_every_run_and_rows_are_as_wide_as_their_head() {
        let cost = |seconds| Some(Cost { seconds, busy: seconds / 2.0, peak_mib: 10.0 });
        assert_eq!(median(vec![cost(3.0), cost(1.0), cost(2.0)]).map(|cost| cost.seconds), Some(2.0));
        assert!(median(vec![cost(1.0), None]).is_none());
        assert_eq!(row(cost(6.0), cost(2.0), None), "6.00 (3.00) | 10 | 2.00 (1.00) | 3.0 (3.0) |  |  |");
        assert_eq!(row(None, None, None).matches('|').count(), 6);
    }

    #[test]
    fn memory_is_that_of_a_process() {
        let ballast = vec![1u8; 64 << 20];
        let (mib, busy) = used(std::process::id());
        assert!(mib > 60.0 && busy >= 0.0 && ballast[1 << 20] == 1);
    }
}
