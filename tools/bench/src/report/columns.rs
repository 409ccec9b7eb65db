//! The columns of tables, on a terminal and on a page: what sources took at a place of a workload.

use squall_tools::units;

use super::model::{Group, Point, Report, SourceReport, Workload, workload};

/// Stands where nothing was measured.
pub const NONE: &str = "–";

/// Shortest request of which throughput says more than time, in bytes.
const LONG: u64 = 1 << 10;

/// Workloads of which throughput says more than time.
pub const BY_RATE: [&str; 4] = [
    workload::RATE,
    workload::PIPE,
    workload::THREADS_SMALL,
    workload::THREADS_LARGE,
];

/// Lengths of requests in the first table, behind `u32` and `u64`.
const LENGTHS: [u64; 6] = [16, 32, 1 << 10, 16 << 10, 1 << 20, 16 << 20];

/// A column.
pub struct Column<'a> {
    pub workload: &'a Workload,
    pub at: u64,
    pub title: String,
}

/// The columns of the first table.
pub fn main(report: &Report) -> Vec<Column<'_>> {
    let numbers = [("u32", 4), ("u64", 8)].map(|(title, at)| (workload::WORDS, at, Some(title)));
    let fills = LENGTHS.map(|at| (workload::FILL, at, None));
    let columns = numbers.into_iter().chain(fills);
    let column = |(name, at, title): (_, _, Option<&str>)| {
        let workload = report.workload(name)?;
        let title = title.map_or_else(|| workload.place(at), Into::into);
        let is_measured = workload.places().contains(&at);
        is_measured.then_some(Column {
            workload,
            at,
            title,
        })
    };
    columns.filter_map(column).collect()
}

/// A column for each place of `workload`.
pub fn of(workload: &Workload) -> Vec<Column<'_>> {
    let places = workload.places().into_iter();
    let column = |at| Column {
        workload,
        at,
        title: workload.place(at),
    };
    places.map(column).collect()
}

impl<'a> Column<'a> {
    /// What the source named `source` took.
    pub fn point(&self, source: &str) -> Option<&'a Point> {
        self.workload.point(source, self.at)
    }

    /// Whether it is the fastest of the sources that are fit for secrets.
    pub fn is_best(&self, report: &Report, source: &str) -> bool {
        report.winner(self.workload, self.at) == Some(source)
    }

    /// How many times as fast as the kernel's source it is; none where either was not measured.
    pub fn ratio(&self, source: &str) -> Option<f64> {
        self.workload.speedup_over_kernel(self.point(source)?)
    }

    /// Whether its figures are throughput.
    pub fn is_by_rate(&self) -> bool {
        let is_long = self.workload.name == workload::FILL && self.at >= LONG;
        is_long || BY_RATE.contains(&self.workload.name.as_str())
    }

    /// The time of `point`, or its throughput.
    pub fn figure(&self, point: &Point) -> String {
        match point.rate().filter(|_| self.is_by_rate()) {
            Some(rate) => units::rate(rate),
            None => units::time(point.ns.median),
        }
    }
}

/// The sources that have a figure in any of `columns`, of each family that has any.
pub fn groups<'a>(report: &'a Report, columns: &[Column]) -> Vec<(Group, Vec<&'a SourceReport>)> {
    let is_shown = |source: &&SourceReport| {
        let mut points = columns.iter().map(|column| column.point(&source.name));
        points.any(|point| point.is_some())
    };
    let shown = report.sources.iter().filter(is_shown);
    let of_group = |group| {
        let sources = shown.clone().filter(move |source| source.group == group);
        (group, sources.collect::<Vec<_>>())
    };
    let groups = Group::ALL.into_iter().map(of_group);
    groups.filter(|(_, sources)| !sources.is_empty()).collect()
}
