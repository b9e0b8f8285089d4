//! Makes a failing program small: tries to leave out statements, pairs that belong together, and conditions, for as long
//! as the program still fails.

use super::language::{Expression, Operation, Program, Statement};

/// A program for which `fails` still holds and from which nothing can be left out. The given program must fail.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    'again: loop {
        for smaller in simpler(&best) {
            if fails(&smaller) {
                best = smaller;
                continue 'again;
            }
        }
        return best;
    }
}

/// Programs with something left out, the greatest omissions first.
fn simpler(program: &Program) -> Vec<Program> {
    let mut out = Vec::new();
    for thread in 1..program.threads.len() {
        let mut smaller = program.clone();
        smaller.threads[thread].clear();
        for body in &mut smaller.threads {
            body.retain(|statement| {
                !matches!(statement, Statement::Do(Operation::Fork(t) | Operation::Join(t)) if *t == thread)
            });
        }
        if smaller != *program {
            out.push(smaller);
        }
    }
    for thread in 0..program.threads.len() {
        for body in bodies(&program.threads[thread]) {
            let mut smaller = program.clone();
            smaller.threads[thread] = body;
            out.push(smaller);
        }
    }
    out
}

/// Bodies with something left out.
fn bodies(body: &[Statement]) -> Vec<Vec<Statement>> {
    let mut out = Vec::new();
    let with = |at: usize, instead: Vec<Statement>| {
        let mut smaller = body.to_vec();
        smaller.splice(at..=at, instead);
        smaller
    };
    for (i, statement) in body.iter().enumerate() {
        out.push(with(i, Vec::new()));
        for (j, other) in body.iter().enumerate().skip(i + 1) {
            if belong_together(statement, other) {
                let mut smaller = body.to_vec();
                smaller.remove(j);
                smaller.remove(i);
                out.push(smaller);
            }
        }
        match statement {
            Statement::If { condition, then, otherwise } => {
                out.push(with(i, then.clone()));
                out.push(with(i, otherwise.clone()));
                let part = |then, otherwise| vec![Statement::If { condition: condition.clone(), then, otherwise }];
                out.extend(bodies(then).into_iter().map(|then| with(i, part(then, otherwise.clone()))));
                out.extend(bodies(otherwise).into_iter().map(|otherwise| with(i, part(then.clone(), otherwise))));
            }
            Statement::While { condition, bound, body: inner } => {
                out.push(with(i, inner.clone()));
                let part = |body, bound| vec![Statement::While { condition: condition.clone(), bound, body }];
                if *bound > 1 {
                    out.push(with(i, part(inner.clone(), bound - 1)));
                }
                out.extend(bodies(inner).into_iter().map(|inner| with(i, part(inner, *bound))));
            }
            Statement::Do(Operation::Write { place, value, order }) if !value.is_constant() => {
                // Null, if it was a pointer.
                let value = Expression::Constant(0);
                out.push(with(i, vec![Statement::Do(Operation::Write { place: *place, value, order: *order })]));
            }
            Statement::Do(_) | Statement::Assign { .. } | Statement::Assert(_) => {}
        }
    }
    out
}

/// The two can only be left out together.
fn belong_together(first: &Statement, second: &Statement) -> bool {
    match (first, second) {
        (Statement::Do(first), Statement::Do(second)) => match (first, second) {
            (Operation::Acquire { lock, .. }, Operation::Release(released)) => lock == released,
            (Operation::Fork(child), Operation::Join(joined)) => child == joined,
            _ => false,
        },
        (Statement::Do(Operation::Acquire { .. }), Statement::If { .. }) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::language::Place;
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let program = super::super::generate(super::super::Profile::Mixed, 7);
        let writes = |program: &Program| {
            let is_write = |statement: &Statement| {
                matches!(statement, Statement::Do(Operation::Write { place: Place::Variable(_), .. }))
            };
            program.threads.iter().flatten().any(is_write)
        };
        if writes(&program) {
            assert_eq!(shrink(&program, writes).operations(), 1);
        }
    }
}
