//! Names of functions as people say them.

/// Whether a function is the body of a C++ lambda, which has no name: `operator()`, `main::{lambda()#1}::operator()() const`.
pub fn is_lambda(function: &str) -> bool {
    function == "operator()"
        || (function.contains("::operator()") && (function.contains("{lambda(") || function.contains("::$_")))
}

/// The function that a Rust closure is in, if the function is one: `counts` of `counts::{closure#0}::{closure#1}`.
pub fn outside_closures(function: &str) -> Option<&str> {
    let (outer, last) = function.rsplit_once("::")?;
    let is_closure = last.starts_with("{closure") || last == "{{closure}}";
    is_closure.then(|| outside_closures(outer).unwrap_or(outer))
}

/// A function without its arguments, template arguments and return type, with empty parentheses: `Queue::push()`. The functions that
/// compilers generate for OpenMP constructs are called parallel regions.
pub fn function_name(function: &str) -> String {
    match outside_closures(function) {
        Some(outer) => format!("a closure in {}", whole_name(outer)),
        None => whole_name(function),
    }
}

/// A function as [`function_name`] says it, closures of Rust with all that they are in: what fingerprints have.
pub fn whole_name(function: &str) -> String {
    if is_lambda(function) {
        let outer = function.split("::{lambda(").next().and_then(|outer| outer.split("::$_").next());
        return match outer.filter(|outer| *outer != function && !outer.is_empty()) {
            Some(outer) => format!("a lambda in {}", function_name(outer)),
            None => "a lambda".into(),
        };
    }
    if function.starts_with(".omp_outlined.") {
        return "a parallel region".into();
    }
    if let Some((outer, _)) = function.split_once("._omp_fn.") {
        return format!("a parallel region of {}", function_name(outer));
    }
    let plain = function.replace("(anonymous namespace)::", "").replace("{{closure}}", "{closure}");
    let plain = of_type(&plain).unwrap_or(plain);
    let mut name = String::new();
    let mut depth = 0usize;
    let mut before = ' ';
    for c in plain.chars() {
        match c {
            '<' if !name.ends_with("operator") && !name.ends_with("operator<") => {
                // Rust writes `f::<T>`.
                if depth == 0 && name.ends_with("::") {
                    name.truncate(name.len() - 2);
                }
                depth += 1;
            }
            '>' if depth > 0 && before == '-' => {}
            '>' if depth > 0 => depth -= 1,
            '(' if depth == 0 && !name.ends_with("operator") => break,
            _ if depth == 0 => name.push(c),
            _ => {}
        }
        before = c;
    }
    let is_operator = name.rsplit("::").next().is_some_and(|last| last.starts_with("operator"));
    let last = if is_operator { name.as_str() } else { name.rsplit(' ').next().unwrap_or(&name) };
    let last = if last.is_empty() { plain.as_str() } else { last };
    if last.ends_with("operator") { format!("{last}()()") } else { format!("{last}()") }
}

/// Rewrites Rust's `<T>::f` and `<T as Trait>::f` as `T::f`, or as `Trait::f` if the type has no name.
fn of_type(function: &str) -> Option<String> {
    let inside = function.strip_prefix('<')?;
    let (mut depth, mut before, mut split) = (0usize, ' ', None);
    for (at, c) in inside.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' if depth == 0 => {
                let (kind, of_trait) = match split {
                    Some(split) => (&inside[..split], Some(&inside[split + " as ".len()..at])),
                    None => (&inside[..at], None),
                };
                let is_named = kind.starts_with(|c: char| c.is_alphabetic() || c == '_')
                    && !kind.starts_with("fn(")
                    && !kind.starts_with("dyn ");
                let named = of_trait.filter(|_| !is_named).unwrap_or(kind);
                return Some(format!("{named}{}", &inside[at + 1..]));
            }
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && split.is_none() && inside[at..].starts_with(" as ") => split = Some(at),
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_lose_their_arguments() {
        for (full, name) in [
            ("worker", "worker()"),
            ("Queue<int, std::less<int> >::push(int const&)", "Queue::push()"),
            ("void f<int>(int)", "f()"),
            ("(anonymous namespace)::go(int)", "go()"),
            ("F::operator()(int) const", "F::operator()()"),
            ("operator()", "a lambda"),
            ("main::{lambda()#1}::operator()() const", "a lambda in main()"),
            ("Pool::start()::$_0::operator()() const", "a lambda in Pool::start()"),
            ("prog::main::{{closure}}", "a closure in prog::main()"),
            ("<prog::Queue<u32>>::push", "prog::Queue::push()"),
            ("<prog::main::{closure#0} as core::ops::FnOnce<()>>::call_once", "prog::main::{closure#0}::call_once()"),
            ("<fn() -> Result<(), String> as core::ops::FnOnce<()>>::call_once", "core::ops::FnOnce::call_once()"),
            ("std::thread::spawn::<prog::work, ()>::{closure#1}", "a closure in std::thread::spawn()"),
            ("counts::{closure#0}::{closure#1}", "a closure in counts()"),
            ("std::backtrace::<fn() -> ()>", "std::backtrace()"),
            ("<unfinished", "<unfinished()"),
            ("main._omp_fn.0", "a parallel region of main()"),
            (".omp_outlined._debug__", "a parallel region"),
        ] {
            assert_eq!(function_name(full), name);
        }
    }
}
