//! The workloads in this process: detectors, kernel and one question to an engine.

use std::hint::black_box;
use std::path::Path;

use mayhap_detect::{Options, Order, detect};
use mayhap_predict::{Budget, Context, Engine, Exact, Verdict};
use mayhap_trace::{EventId, Execution, Relations, Trace, format};
use mayhap_witness::{Checker, Model, Target};

/// All workloads, in the order of the table.
pub(crate) const NAMES: [&str; 9] = [
    "detect lockset",
    "detect hb",
    "detect shb",
    "detect cp",
    "detect wcp",
    "detect syncp",
    "relations",
    "kernel",
    "engine exact",
];

/// Calls the workload. Callgrind counts while this function runs, so it must exist under its name.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
}

/// Prepares a workload and runs it.
pub(crate) fn run(root: &Path, name: &str) -> Result<(), String> {
    let order = match name {
        "detect lockset" => Order::Lockset,
        "detect hb" => Order::Hb,
        "detect shb" => Order::Shb,
        "detect cp" => Order::Cp,
        "detect wcp" => Order::Wcp,
        "detect syncp" => Order::SyncP,
        "relations" => return relations(root),
        "kernel" => return kernel(root),
        "engine exact" => return engine(root),
        _ => return Err(format!("there is no workload `{name}`")),
    };
    let trace = read(root, "ftpserver.std")?;
    let mut found = None;
    measured(&mut || found = Some(detect(&mut &trace, order, &Options::default())));
    let found = found.expect("the workload ran").map_err(|error| error.to_string())?;
    black_box(found.racy_events);
    Ok(())
}

fn read(root: &Path, name: &str) -> Result<Trace, String> {
    let path = root.join("corpus/traces").join(name);
    format::read(&path).map(|read| read.trace).map_err(|error| format!("{}: {error}", path.display()))
}

fn derive(trace: &Trace) -> Result<Execution<'_>, String> {
    Execution::derive(trace).map_err(|error| error.to_string())
}

fn race(first: u64, second: u64) -> Target {
    let event = |number| EventId::from_number(number).expect("events count from 1");
    Target::Race(event(first), event(second))
}

/// What every analysis derives from a trace first.
fn relations(root: &Path) -> Result<(), String> {
    let trace = read(root, "ftpserver.std")?;
    let mut derived = None;
    measured(&mut || derived = Some(Relations::derive(&trace)));
    black_box(derived.expect("the workload ran").map_err(|error| error.to_string())?);
    Ok(())
}

/// The kernel checks a schedule of some 64,000 steps.
fn kernel(root: &Path) -> Result<(), String> {
    let trace = read(root, "derby.std.gz")?;
    let execution = derive(&trace)?;
    let context = Context::new(&execution);
    let target = race(64_009, 64_101);
    let verdict = Exact::new(&context).decide(&target, Model::Data, &Budget::default());
    let Verdict::Proven(proof, _) = verdict else { return Err("the race of derby is not proven any more".into()) };
    let witness = proof.witness().clone();
    let mut checked = None;
    measured(&mut || checked = Some(Checker::new(&execution).check(&target, Model::Data, witness.clone())));
    black_box(checked.expect("the workload ran").map_err(|rejection| rejection.to_string())?);
    Ok(())
}

/// The exact engine refutes a race: slice, late region and saturation, with nothing to search.
fn engine(root: &Path) -> Result<(), String> {
    let trace = read(root, "bubblesort.std")?;
    let execution = derive(&trace)?;
    let context = Context::new(&execution);
    let target = race(1_032, 1_442);
    let mut verdict = None;
    measured(&mut || verdict = Some(Exact::new(&context).decide(&target, Model::Data, &Budget::default())));
    match verdict {
        Some(Verdict::Refuted(_)) => Ok(()),
        _ => Err("the race of bubblesort is not refuted any more".into()),
    }
}
