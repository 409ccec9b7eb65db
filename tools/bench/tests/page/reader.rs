//! What a reader finds on the page of the fixture; and pages with faults, each of which one check alone
//! finds.

use squall_bench::report::model::Workload;
use squall_bench::report::model::workload::{
    FILL, PIPE, RATE, THREADS_LARGE, THREADS_SMALL, WORDS,
};
use squall_bench::report::page::page;
use squall_tools::units;

use crate::fixture::fixture;

pub fn a_reader_finds_everything() {
    for ((name, found), (_, expected)) in found(&page(&fixture())).iter().zip(EXPECTED) {
        assert_eq!(found, expected, "{name}");
    }
}

/// The check that finds a fault, and what stands in the place of what.
const FAULTS: [(&str, &str, &str); 19] = [
    ("headings", ">A fork</h2>", "></h2>"),
    ("headings", ">Every length</summary>", "></summary>"),
    ("notes", "Time of a number.", "Time of it."),
    ("advice", "plain getrandom", "getrandom"),
    ("facts", "<dd>KVM</dd>", "<dd></dd>"),
    ("items", ": it ended early</li>", "</li>"),
    ("items", "[3]", "[2]"),
    ("items", "are medians of", "are means of"),
    ("columns", ">16 KiB</th>", ">16 kB</th>"),
    ("sources", ">Accumulators of entropy<", "><"),
    ("secrets", "no<small>a VM clone repeats it<", "yes<small><"),
    ("winners", ">fastest: <", "><"),
    ("figures", "1.88 ns<", "1.89 ns<"),
    ("figures", "<small>kernel</small>", ""),
    (
        "figures",
        "<th scope=\"row\">openssl enc -aes-128-ctr</th>",
        "",
    ),
    ("plots", "\nlength of a request\n", "\n"),
    ("plots", "stroke=\"#0066AD\" stroke-width=\"2\"", ""),
    ("legends", ">▲</span>", "></span>"),
    ("labels", ", Whirlwind, old Linux", ", old Linux"),
];

pub fn a_fault_is_found_by_its_check_alone() {
    let whole = page(&fixture());
    for (check, what, instead) in FAULTS {
        let faulty = whole.replacen(what, instead, 1);
        assert_ne!(faulty, whole, "{what}");
        let found = found(&faulty);
        let failed = found
            .iter()
            .zip(EXPECTED)
            .filter(|(found, expected)| found.1 != expected.1);
        let failed: Vec<_> = failed.map(|(found, _)| found.0).collect();
        assert_eq!(failed, [check], "{what}");
    }
    let has_fault = |name| FAULTS.iter().any(|(check, ..)| *check == name);
    assert!(EXPECTED.iter().all(|(name, _)| has_fault(*name)));
}

/// The checks, and the lines that each finds.
fn found(page: &str) -> [(&'static str, String); 13] {
    let tables = tables(page);
    let of_tables = |part: fn(&[Row]) -> Vec<String>| -> Vec<String> {
        let parts = tables.iter().map(|(_, rows)| part(rows).join(" | "));
        parts.collect()
    };
    let of = |tag: &str, part: fn(&str) -> String| -> Vec<String> {
        elements(page, tag).into_iter().map(part).collect()
    };
    let headings = ["title", "h1", "h2", "h3", "summary"].map(|tag| texts(page, tag));
    let paragraphs = texts(page, "p").into_iter();
    let (advice, notes) = paragraphs.partition::<Vec<_>, _>(|text| text.starts_with("Use "));
    let facts = texts(page, "dt").into_iter().zip(texts(page, "dd"));
    let lists = [
        "ul class=\"note\"",
        "ul class=\"method\"",
        "ol class=\"documents\"",
    ];
    let items = |list: &str| texts(list, "li").join("\n");
    let overview = &tables[0].1[1..];
    let sources = overview.iter().map(|row| row[0].as_str());
    let secrets = overview
        .iter()
        .filter_map(|row| row.get(9).map(String::as_str));
    let labels = page.split("aria-label=\"").skip(1);
    let checks = [
        ("headings", headings.concat()),
        ("notes", [notes, texts(page, "code")].concat()),
        ("advice", advice),
        (
            "facts",
            facts.map(|(name, fact)| name + ": " + &fact).collect(),
        ),
        ("items", lists.map(|list| of(list, items)).concat()),
        ("columns", of_tables(|rows| rows[0][1..].to_vec())),
        ("sources", vec![sources.collect::<Vec<_>>().join(" | ")]),
        ("secrets", vec![secrets.collect::<Vec<_>>().join(" | ")]),
        ("winners", of_tables(winners)),
        ("figures", figures(&tables)),
        ("plots", of("svg", plot)),
        (
            "legends",
            of("ul class=\"names\"", |names| texts(names, "li").join(" | ")),
        ),
        (
            "labels",
            labels.map(|label| before(label, "\"").to_owned()).collect(),
        ),
    ];
    checks.map(|(name, lines)| (name, lines.join("\n")))
}

/// The elements `tag` in `html`, each from its first attribute on; none is in another.
fn elements<'a>(html: &'a str, tag: &str) -> Vec<&'a str> {
    let (start, end) = (format!("<{tag}"), format!("</{}>", before(tag, " ")));
    let elements = html.split(&start).skip(1);
    let elements = elements.filter(|element| element.starts_with([' ', '>']));
    elements.map(|element| before(element, &end)).collect()
}

/// Their texts.
fn texts(html: &str, tag: &str) -> Vec<String> {
    let text = |element: &str| {
        let parts = element.split('<').filter_map(|part| part.split_once('>'));
        let parts = parts.map(|(_, text)| text.trim());
        parts
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    elements(html, tag).into_iter().map(text).collect()
}

fn before<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or(text, |(before, _)| before)
}

type Row = Vec<String>;

/// The tables by the workload; the first is of several.
fn tables(page: &str) -> Vec<(&str, Vec<Row>)> {
    let table = |table| {
        let (_, name) = str::split_once(table, "aria-labelledby=\"").expect("a name");
        let rows = elements(table, "tr").into_iter();
        let rows = rows.map(|row| [texts(row, "th"), texts(row, "td")].concat());
        (before(name, "\""), rows.collect())
    };
    elements(page, "table").into_iter().map(table).collect()
}

/// The fastest sources, and in how many columns each is.
fn winners(rows: &[Row]) -> Vec<String> {
    let wins = |row: &Row| {
        row.iter()
            .filter(|cell| cell.starts_with("★ fastest: "))
            .count()
    };
    let winners = rows.iter().filter(|row| wins(row) > 0);
    winners
        .map(|row| format!("{} {}", row[0], wins(row)))
        .collect()
}

/// How many cells have the report's figures, and the cells that do not.
fn figures(tables: &[(&str, Vec<Row>)]) -> Vec<String> {
    let report = fixture();
    let named = |name| report.workload(name).expect("it is in it");
    let (mut right, mut wrong) = (0, Vec::new());
    for (table, rows) in tables {
        let places: Vec<(&Workload, u64)> = match *table {
            "overview" => [
                (WORDS, 4),
                (WORDS, 8),
                (FILL, 16),
                (FILL, 32),
                (FILL, 1 << 10),
                (FILL, 16 << 10),
                (FILL, 1 << 20),
                (FILL, 16 << 20),
            ]
            .map(|(name, at)| (named(name), at))
            .into(),
            name => named(name)
                .places()
                .into_iter()
                .map(|at| (named(name), at))
                .collect(),
        };
        for row in rows {
            let Some(source) = report.sources.iter().find(|source| source.title == row[0]) else {
                continue;
            };
            for ((workload, at), cell) in places.iter().zip(&row[1..]) {
                let cell = cell
                    .trim_start_matches("★ ")
                    .trim_start_matches("fastest: ");
                if cell == figure(workload, *at, &source.name) {
                    right += 1;
                } else {
                    wrong.push(format!("{table}, {}, {at}: {cell}", row[0]));
                }
            }
        }
    }
    wrong.push(format!("{right} cells"));
    wrong
}

/// What a source took at a place of a workload, and how many times as fast as the kernel's source that is.
fn figure(workload: &Workload, at: u64, source: &str) -> String {
    let point = workload.point(source, at).expect("it was measured");
    let name = workload.name.as_str();
    let is_by_rate = [RATE, PIPE, THREADS_SMALL, THREADS_LARGE].contains(&name);
    let figure = match point.rate() {
        Some(rate) if is_by_rate || name == FILL && at >= 1024 => units::rate(rate),
        _ => units::time(point.ns.median),
    };
    let is_kernel = workload.kernel.as_deref() == Some(source);
    let ratio = workload.speedup_over_kernel(point).filter(|_| !is_kernel);
    let ratio = ratio.map_or("kernel".into(), units::times);
    let discarded = point
        .discarded
        .map(|bytes| format!(" {} discarded", units::volume(bytes)));
    format!("{figure} {ratio}{}", discarded.unwrap_or_default())
}

/// The labels of a plot's axes, and how many points each solid curve has.
fn plot(svg: &str) -> String {
    let lines = elements(svg, "polyline").into_iter();
    let lines = lines.filter(|line| line.contains("stroke-width=\"2\""));
    let points = lines.filter_map(|line| line.split_once("points=\""));
    let counts = points.map(|(_, points)| before(points, "\"").split_whitespace().count());
    let solid = counts
        .filter(|count| *count > 2)
        .map(|count| count.to_string());
    let solid: Vec<_> = solid.collect();
    [texts(svg, "text").join(" "), solid.join(" ")].join(" | ")
}

const EXPECTED: [(&str, &str); 13] = [
    (
        "headings",
        "\
Sources of randomness on AMD EPYC (family 25, model 17)
Sources of randomness, side by side
The machine
At a glance
Plots
The vDSO proposal's 16,777,216 u32
Ten that draw feed ten
Bytes in ten seconds
Blocks through a pipe
Requests of 32 bytes by threads
Requests of 16 KiB by threads
First bytes of a process
A fork
Requests by their length
Disqualified
Failed
Missing
How it was measured
Published figures
Throughput by length of a request
Time of a request by its length
Requests of 32 bytes by threads
Requests of 16 KiB by threads
Versions
The other sources
The other sources
The other sources
The other sources
Every length",
    ),
    (
        "notes",
        "\
squall bench
AMD EPYC (family 25, model 17), Linux 6.18.44 · 2026-11-22 10:15:30 UTC
Time of a request, and throughput of long ones. ★ marks the fastest of the sources that are fit for secrets; below each figure stands how many times as fast as the kernel's source it is.
Both axes are logarithmic. Dashed: published figures, of other machines.
Time of a number.
Figures that others published, of other machines:
Time of a run.
Figures that others published, of other machines:
Throughput.
Figures that others published, of other machines:
Throughput.
Figures that others published, of other machines:
What failed:
Throughput.
Throughput.
Time of a start.
Time of a fork.
Time of a request, and throughput of long ones.
Figures that others published, of other machines:
Their output cannot be random.
They failed while they were measured.
They are not on this machine.
The same on another machine:
squall 0.1.0, report of schema 1
squall bench --export-html bench.html",
    ),
    (
        "advice",
        "\
Use squall on this machine: 32 bytes take 40.2 ns (/dev/urandom: 477 ns), and a long buffer fills at 14.8 GB/s (/dev/urandom: 390 MB/s). A process that draws only a few times does not need it: plain getrandom will do. If this VM is cloned, the kernel hears of it late: until then the clone may get the same bytes from getrandom, but not from squall.",
    ),
    (
        "facts",
        "\
CPU: AMD EPYC (family 25, model 17)
CPUs: 2
Kernel: Linux 6.18.44
Hypervisor: KVM
Governor: performance
Measured on: one CPU
Engine: vaes512
Guard against clones: vmgenid (late notification)
Warnings of squall status: late-clone-signal
squall: 0.1.0
Noise: quartiles 1.7 % apart, 0.2 % of the time stolen, load average 0
glibc: 2.36
rustc: 1.95.0
OpenSSL: 3.0.19 27 Jan 2026
Go: go1.26.1
a constant: the block 00 00 00 00 is repeated
glibc's arc4random: the process ended by signal 9
libsodium: libsodium.so.23 is not installed",
    ),
    (
        "items",
        "\
getrandom, system call: 171 ns [4]
getrandom, vDSO: 172 ns [4]
pool over the system call: 68.7 ns [4]
pool over the vDSO: 9.68 ns [4]
Go crypto/rand: 257 µs [3]
Go crypto/rand: 13.9 MB/s [3]
dd if=/dev/urandom: 13.4 MB/s [1]
openssl enc -aes-128-ctr: 701 MB/s to 953 MB/s [1]
openssl-chacha20, 65536 bytes: it ended early
Whirlwind: 64 B: 9.30 MB/s, 256 B: 21.8 MB/s [2]
OpenSSL AES-128-CTR: 16 B: 470 MB/s, 8 KiB: 2.24 GB/s [1]
OpenSSL AES-128-CTR, no AES instructions: 16 B: 74.0 MB/s, 8 KiB: 391 MB/s [1]
In rounds: each source once a round, in an order that changes. A sample is the mean of a batch of about a millisecond, or one operation that takes longer; figures are medians of samples.
A ratio is the median of the rounds' ratios, so what the machine did meanwhile is in both of its parts.
The thread that measures was bound to one CPU, but for threads, pipes and Go. Reading the clock takes 21 ns, which is subtracted from first bytes and negligible for a batch.
Fit for secrets is a cryptographic generator whose output neither a forked child repeats nor a clone that the kernel was told of.
The run took 98 s.
Linux Kernel CSPRNG Performance , 2014
Not-So-Random Numbers in Virtualized Linux and the Whirlwind RNG , 2014
Locking in crypto/rand , 2016
[RFC PATCH 0/4] random: a simple vDSO mechanism for reseeding userspace CSPRNGs , 2023",
    ),
    (
        "columns",
        "\
u32 | u64 | 16 B | 32 B | 1 KiB | 16 KiB | 1 MiB | 16 MiB | For secrets
4 B
10 tasks
4 KiB
4 KiB | 64 KiB
1 thread | 2 threads | 4 threads | 8 threads
1 thread | 2 threads | 4 threads | 8 threads
32 B
0 B | 32 B
1 B | 2 B | 4 B | 8 B | 16 B | 32 B | 64 B | 128 B | 256 B | 512 B | 1 KiB | 2 KiB | 4 KiB | 8 KiB | 16 KiB | 32 KiB | 40 KiB | 64 KiB | 128 KiB | 256 KiB | 512 KiB | 1 MiB | 2 MiB | 4 MiB | 8 MiB | 16 MiB",
    ),
    (
        "sources",
        "\
squall | squall | squall, new seeds | squall with one thing changed | squall by AES-NI | squall by portable AES | The kernel's generator | /dev/urandom | getrandom, system call | getrandom, vDSO | pool over the system call | pool over the vDSO | Libraries and languages | rand's ThreadRng | OpenSSL RAND_bytes | Go crypto/rand | Accumulators of entropy | Whirlwind | old Linux RNG, a model | Not for secrets | OpenSSL AES-128-CTR | OpenSSL AES-128-CTR, no AES instructions",
    ),
    (
        "secrets",
        "\
yes | yes | yes | yes | yes | yes | yes | yes an experiment: not for signal handlers | yes an experiment: not for signal handlers | no a forked child and a VM clone repeat it | no a VM clone repeats it | no the kernel's generator | no meant for seeds; a forked child repeats it or may | no broken: see squall-lab attack | no the same key, the same bytes | no the same key, the same bytes",
    ),
    (
        "winners",
        "\
squall 8
squall 1
squall 1
squall 1
squall 2
squall 4
squall 4
squall 1
squall 2
squall 22 | pool over the vDSO 4",
    ),
    ("figures", "706 cells"),
    (
        "plots",
        "\
length of a request 10 MB/s 100 MB/s 1 GB/s 10 GB/s 1 B 16 B 256 B 4 KiB 64 KiB 1 MiB 16 MiB | 26 26 26 26 26 26 26 26
length of a request 1 MB/s 10 MB/s 100 MB/s 1 GB/s 10 GB/s 1 B 16 B 256 B 4 KiB 64 KiB 1 MiB 16 MiB | 26 26 26 26 26 26 26 26
length of a request 10 ns 100 ns 1 µs 10 µs 100 µs 1 ms 10 ms 1 B 16 B 256 B 4 KiB 64 KiB 1 MiB 16 MiB | 26 26 26 26 26 26 26 26
length of a request 10 ns 1 µs 100 µs 10 ms 1 s 1 B 16 B 256 B 4 KiB 64 KiB 1 MiB 16 MiB | 26 26 26 26 26 26 26 26
threads that draw at the same time 100 MB/s 1 GB/s 1 2 4 8 | 4 4 4 4 4 4 4 4
threads that draw at the same time 10 MB/s 100 MB/s 1 GB/s 1 2 4 8 | 4 4 4 4 4 4 4 4
threads that draw at the same time 1 GB/s 10 GB/s 1 2 4 8 | 4 4 4 4 4 4 4 4
threads that draw at the same time 10 MB/s 100 MB/s 1 GB/s 10 GB/s 1 2 4 8 | 4 4 4 4 4 4 4 4",
    ),
    (
        "legends",
        "\
● squall | ▲ /dev/urandom | ✕ pool over the vDSO | ● getrandom, vDSO | ▲ rand's ThreadRng | ✕ OpenSSL RAND_bytes | ● OpenSSL AES-128-CTR | ╌○╌ OpenSSL AES-128-CTR, published: Linux Kernel CSPRNG Performance (2014) | ▲ OpenSSL AES-128-CTR, no AES instructions | ╌○╌ OpenSSL AES-128-CTR, no AES instructions, published: Linux Kernel CSPRNG Performance (2014)
● squall, new seeds | ▲ squall by AES-NI | ✕ squall by portable AES | ● getrandom, system call | ▲ pool over the system call | ✕ Go crypto/rand | ● Whirlwind | ╌○╌ Whirlwind, published: Not-So-Random Numbers in Virtualized Linux and the Whirlwind RNG (2014) | ▲ old Linux RNG, a model
● squall | ▲ /dev/urandom | ✕ pool over the vDSO | ● getrandom, vDSO | ▲ rand's ThreadRng | ✕ OpenSSL RAND_bytes | ● OpenSSL AES-128-CTR | ╌○╌ OpenSSL AES-128-CTR, published: Linux Kernel CSPRNG Performance (2014) | ▲ OpenSSL AES-128-CTR, no AES instructions | ╌○╌ OpenSSL AES-128-CTR, no AES instructions, published: Linux Kernel CSPRNG Performance (2014)
● squall, new seeds | ▲ squall by AES-NI | ✕ squall by portable AES | ● getrandom, system call | ▲ pool over the system call | ✕ Go crypto/rand | ● Whirlwind | ╌○╌ Whirlwind, published: Not-So-Random Numbers in Virtualized Linux and the Whirlwind RNG (2014) | ▲ old Linux RNG, a model
● squall | ▲ /dev/urandom | ✕ pool over the vDSO | ● getrandom, vDSO | ▲ rand's ThreadRng | ✕ Go crypto/rand | ● OpenSSL AES-128-CTR | ▲ pool over the system call
● squall, new seeds | ▲ squall by AES-NI | ✕ squall by portable AES | ● getrandom, system call | ▲ OpenSSL RAND_bytes | ✕ Whirlwind | ● old Linux RNG, a model | ▲ OpenSSL AES-128-CTR, no AES instructions
● squall | ▲ /dev/urandom | ✕ getrandom, vDSO | ● pool over the vDSO | ▲ OpenSSL RAND_bytes | ✕ rand's ThreadRng | ● OpenSSL AES-128-CTR | ▲ OpenSSL AES-128-CTR, no AES instructions
● squall, new seeds | ▲ squall by AES-NI | ✕ squall by portable AES | ● getrandom, system call | ▲ pool over the system call | ✕ Go crypto/rand | ● Whirlwind | ▲ old Linux RNG, a model",
    ),
    (
        "labels",
        "\
Throughput by length of a request, a plot of squall, /dev/urandom, pool over the vDSO, getrandom, vDSO, rand's ThreadRng, OpenSSL RAND_bytes, OpenSSL AES-128-CTR, OpenSSL AES-128-CTR, no AES instructions
Throughput by length of a request, a plot of squall, new seeds, squall by AES-NI, squall by portable AES, getrandom, system call, pool over the system call, Go crypto/rand, Whirlwind, old Linux RNG, a model
Time of a request by its length, a plot of squall, /dev/urandom, pool over the vDSO, getrandom, vDSO, rand's ThreadRng, OpenSSL RAND_bytes, OpenSSL AES-128-CTR, OpenSSL AES-128-CTR, no AES instructions
Time of a request by its length, a plot of squall, new seeds, squall by AES-NI, squall by portable AES, getrandom, system call, pool over the system call, Go crypto/rand, Whirlwind, old Linux RNG, a model
Requests of 32 bytes by threads, a plot of squall, /dev/urandom, pool over the vDSO, getrandom, vDSO, rand's ThreadRng, Go crypto/rand, OpenSSL AES-128-CTR, pool over the system call
Requests of 32 bytes by threads, a plot of squall, new seeds, squall by AES-NI, squall by portable AES, getrandom, system call, OpenSSL RAND_bytes, Whirlwind, old Linux RNG, a model, OpenSSL AES-128-CTR, no AES instructions
Requests of 16 KiB by threads, a plot of squall, /dev/urandom, getrandom, vDSO, pool over the vDSO, OpenSSL RAND_bytes, rand's ThreadRng, OpenSSL AES-128-CTR, OpenSSL AES-128-CTR, no AES instructions
Requests of 16 KiB by threads, a plot of squall, new seeds, squall by AES-NI, squall by portable AES, getrandom, system call, pool over the system call, Go crypto/rand, Whirlwind, old Linux RNG, a model",
    ),
];
