//! How benches print what they measured: a table, or with `--json` one object a line.

/// Where rows go.
pub struct Table {
    bench: &'static str,
    is_json: bool,
    wanted: Option<String>,
}

impl Table {
    /// As the command line says: `[--json] [case]`. Prints the head.
    pub fn from_arguments(bench: &'static str) -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
        let is_json = arguments.iter().any(|a| a == "--json");
        let wanted = arguments.into_iter().find(|a| !a.starts_with("--"));
        if !is_json {
            println!("{:46} {:>10} {:8} {:>8} {:>7}", "case", "value", "unit", "bound", "ratio");
        }
        Table { bench, is_json, wanted }
    }

    /// Whether a case was asked for.
    pub fn wants(&self, case: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| case.contains(wanted.as_str()))
    }

    /// One figure, what is promised of it, and their ratio: at most 1 where the promise is kept.
    pub fn row(&self, case: &str, value: f64, unit: &str, bound: f64) {
        self.print(case, value, unit, Some((bound, value / bound)));
    }

    /// One figure of which more is better.
    #[allow(dead_code)] // some benches have none
    pub fn row_at_least(&self, case: &str, value: f64, unit: &str, bound: f64) {
        self.print(case, value, unit, Some((bound, bound / value)));
    }

    /// One figure of which nothing is promised.
    #[allow(dead_code)] // some benches have none
    pub fn figure(&self, case: &str, value: f64, unit: &str) {
        self.print(case, value, unit, None);
    }

    fn print(&self, case: &str, value: f64, unit: &str, promised: Option<(f64, f64)>) {
        let bench = self.bench;
        match (self.is_json, promised) {
            (true, Some((bound, ratio))) => println!(
                "{{\"bench\":\"{bench}\",\"case\":\"{case}\",\"value\":{value:.4},\"unit\":\"{unit}\",\
                 \"reach\":{bound:.3},\"peer\":\"bound\",\"ratio\":{ratio:.4}}}"
            ),
            (true, None) => println!(
                "{{\"bench\":\"{bench}\",\"case\":\"{case}\",\"value\":{value:.4},\"unit\":\"{unit}\"}}"
            ),
            (false, Some((bound, ratio))) => {
                println!("{case:46} {value:10.3} {unit:8} {bound:8.2} {ratio:7.3}");
            }
            (false, None) => println!("{case:46} {value:10.3} {unit:8}"),
        }
    }
}
