//! The flat code of a program: structured statements as instructions with jumps.
//!
//! Every statement has a *site*, its number in the order of the text over all threads. A site names the statement in
//! facts, in traces (through its line of C) and in reports.

use super::language::{Expression, Operation, Program, Statement};

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Instruction {
    /// A step on something shared.
    Do { site: usize, operation: Operation },
    /// Sets a local.
    Assign { into: usize, value: Expression },
    /// Goes on at `target` if the condition is 0.
    Unless { site: usize, condition: Expression, target: usize },
    /// Begins to count the rounds of a loop.
    Enter { counter: usize },
    /// Goes on at `target` if the loop has had all its rounds or the condition is 0; else counts a round.
    Round { site: usize, condition: Expression, counter: usize, bound: u32, target: usize },
    /// Goes on at `target`.
    Jump(usize),
    /// Fails if the condition is 0.
    Assert { site: usize, condition: Expression },
}

/// The code of all threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Code {
    /// Instructions of each thread.
    pub(crate) threads: Vec<Vec<Instruction>>,
    /// Loops of each thread.
    pub(crate) counters: Vec<usize>,
    /// How many sites there are.
    pub(crate) sites: usize,
}

impl Code {
    /// Returns the code of a program.
    pub(crate) fn of(program: &Program) -> Code {
        let mut code = Code { threads: Vec::new(), counters: Vec::new(), sites: 0 };
        for body in &program.threads {
            let mut flat = Flat { out: Vec::new(), counters: 0, sites: code.sites };
            flat.body(body);
            code.sites = flat.sites;
            code.counters.push(flat.counters);
            code.threads.push(flat.out);
        }
        code
    }
}

struct Flat {
    out: Vec<Instruction>,
    counters: usize,
    sites: usize,
}

impl Flat {
    fn body(&mut self, body: &[Statement]) {
        for statement in body {
            let site = self.sites;
            self.sites += 1;
            match statement {
                Statement::Assign { into, value } => {
                    self.out.push(Instruction::Assign { into: *into, value: value.clone() });
                }
                Statement::Do(operation) => self.out.push(Instruction::Do { site, operation: operation.clone() }),
                Statement::Assert(condition) => {
                    self.out.push(Instruction::Assert { site, condition: condition.clone() });
                }
                Statement::If { condition, then, otherwise } => self.choice(site, condition, then, otherwise),
                Statement::While { condition, bound, body } => self.repetition(site, condition, *bound, body),
            }
        }
    }

    fn choice(&mut self, site: usize, condition: &Expression, then: &[Statement], otherwise: &[Statement]) {
        let test = self.out.len();
        self.out.push(Instruction::Unless { site, condition: condition.clone(), target: 0 });
        self.body(then);
        if !otherwise.is_empty() {
            let jump = self.out.len();
            self.out.push(Instruction::Jump(0));
            self.aim(test);
            self.body(otherwise);
            self.aim(jump);
        } else {
            self.aim(test);
        }
    }

    fn repetition(&mut self, site: usize, condition: &Expression, bound: u32, body: &[Statement]) {
        let counter = self.counters;
        self.counters += 1;
        self.out.push(Instruction::Enter { counter });
        let test = self.out.len();
        self.out.push(Instruction::Round { site, condition: condition.clone(), counter, bound, target: 0 });
        self.body(body);
        self.out.push(Instruction::Jump(test));
        self.aim(test);
    }

    /// Lets the jump at `from` go to the end of what there is so far.
    fn aim(&mut self, from: usize) {
        let end = self.out.len();
        match &mut self.out[from] {
            Instruction::Unless { target, .. } | Instruction::Round { target, .. } | Instruction::Jump(target) => {
                *target = end;
            }
            _ => unreachable!("only jumps have a target"),
        }
    }
}
