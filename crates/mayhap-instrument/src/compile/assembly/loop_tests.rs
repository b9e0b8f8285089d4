//! Tests of hooks that are part of the code of loops.

use super::tests::{FOLLOWS, all, hook, random};

/// A loop that reads what `%rbx` points to, and decides.
const LOOP: [&str; 7] =
    ["f:", ".L2:", "movq\t%rbx, %rdi", "call\t__tsan_read4@PLT", "movl\t(%rbx), %eax", "testl\t%eax, %eax", "jne\t.L2"];

#[test]
fn hooks_in_loops_are_part_of_the_code() {
    let out = all(&LOOP);
    let begin = out.iter().position(|line| line.contains("mayhap_fast_path_3@GOTPCREL")).unwrap();
    let end = out.iter().position(|line| *line == hook("access1")).unwrap();
    assert_eq!(out[begin..end].iter().filter(|line| line.ends_with(", .LMHsites+0+8(%rip)")).count(), 2, "{out:?}");
    assert_eq!(
        out[end - 3..=end + 1],
        ["jmp .LMHd0", ".LMHs0:", "leaq .LMHsites+0(%rip), %rsi", &hook("access1"), ".LMHd0:"]
    );
    // What is done once, and what follows a call, is called.
    for lines in [&LOOP[..6], &["f:", ".L2:", "call\tg", "call\t__tsan_read4@PLT", "jmp\t.L2"]] {
        assert!(!all(lines).iter().any(|line| line.contains("mayhap_fast_path_3")));
    }
}

#[test]
fn a_read_that_may_repeat_is_looked_at() {
    let may = |lines: &[&str]| all(lines).iter().any(|line| line.starts_with("cmpl %eax, -4("));
    assert!(may(&LOOP));
    let with = |line: &'static str, at: usize| {
        let mut lines = LOOP.to_vec();
        lines.insert(at, line);
        may(&lines)
    };
    assert!(with("call\tsched_yield", 5), "a loop that waits so reads again and again, too");
    assert!(with("jmp\t*%rdx", 6), "that may come back");
    assert!(with("je\t.L2", 5) && !with("ret", 6), "one way back is enough, and none is none");
    // Another access comes in between, on either way.
    assert!(!with("call\t__tsan_write4", 6));
    let two_ways = |first: &'static str| {
        may(&[
            "f:",
            ".L2:",
            "call\t__tsan_read4",
            "je\t.L3",
            first,
            "jmp\t.L2",
            ".L3:",
            "call\t__tsan_write1",
            "jmp\t.L2",
        ])
    };
    assert!(two_ways("nop") && !two_ways("call\t__tsan_write2"));
}

#[test]
fn accesses_that_go_with_the_first_need_no_look_of_their_own() {
    let looks = |first: &'static str, second: &'static str| {
        let lines =
            ["f:", ".L2:", first, "call\t__tsan_read4", "movl\t(%rdi), %eax", second, "call\t__tsan_read4", "jne\t.L2"];
        let out = all(&lines);
        assert!(out.contains(&hook("access2")), "{out:?}");
        (out.iter().filter(|line| line.starts_with("subq .LMHsites")).count(), out.contains(&"movl %esi, %eax".into()))
    };
    assert_eq!(looks("leaq\t8(%rbx), %rdi", "movq\t%rbx, %rdi"), (1, true));
    assert_eq!(looks("leaq\t8(%rbx,%r12,4), %rdi", "leaq\t-16(%rbx,%r12,4), %rdi"), (1, true));
    assert_eq!(
        looks("leaq\ttable+8(%rip), %rdi", "leaq\ttable(%rip), %rdi").0,
        2,
        "symbols are compared as they are written"
    );
    assert_eq!(looks("leaq\t8(%rbx), %rdi", "leaq\t8(%rbp), %rdi"), (2, false));
    assert_eq!(looks("leaq\t8(%rbx,%r12,4), %rdi", "leaq\t8(%rbx,%r12,8), %rdi"), (2, false));
    // The first may have been computed from what `%rbx` was before.
    let moved = ["f:", ".L2:", "movq\t%rbx, %rdi", "addq\t$4, %rbx", "call\t__tsan_read4", "movq\t%rbx, %rdi"];
    let out = all(&[&moved[..], &["call\t__tsan_read4", "jne\t.L2"]].concat());
    assert!(out.contains(&hook("access2")) && !out.contains(&"movl %esi, %eax".into()), "{out:?}");
}

#[test]
fn a_hook_behind_another_goes_on_where_that_one_left_the_ring() {
    // A read, a decision, something, a write.
    let follows = |between: &[&'static str]| {
        let begin = ["f:", ".L2:", "movq\t(%rbx), %rdi", "call\t__tsan_read4", "je\t.L3"];
        let end = [".L3:", "movq\t(%rbx), %rdi", "call\t__tsan_write4", "jmp\t.L2"];
        let out = all(&[&begin, between, &end].concat());
        let begins = |line: &&String| line.contains("mayhap_fast_path_3@") || *line == FOLLOWS;
        let hooks: Vec<&String> = out.iter().filter(begins).collect();
        assert!(hooks.len() >= 2 && *hooks[0] != FOLLOWS, "nothing is known of where the loop is entered: {out:?}");
        hooks[hooks.len() - 1] == FOLLOWS
    };
    assert!(follows(&["movq\t%rax, %r8", "incl\t8(%rsp)"]));
    assert!(follows(&["movq\t(%rbx), %rdi", "call\t__tsan_write1", ".LVL7:", ".loc\t1 2 3"]), "all that follow");
    for changed in ["movq\t%rax, %r9", "xorl\t%r10d, %r10d", "movb\t$1, %r11b", "call\tg", "call\t__tsan_func_exit"] {
        assert!(!follows(&[changed]), "{changed}");
    }
    assert!(!follows(&["#APP", "syscall", "#NO_APP"]) && !follows(&["#APP", "#NO_APP"]));
    assert!(!follows(&["jmp\t*%rax", ".section\t.rodata", ".quad\t.L3", ".text"]), "jump tables lead there");
    assert!(!follows(&["jmp\t.L2", "g:"]), "another function goes on there");
    assert!(!follows(&["ret", ".section\t.gcc_except_table", ".uleb128 .L3-.LFB0", ".text"]), "exceptions lead there");
    assert!(!follows(&["#APP", "jmp\t.L3", "#NO_APP", "jmp\t.L2"]), "so does inline assembly");
}

#[test]
fn hooks_ask_for_room_again_and_again() {
    let hooks = |lines: &[&'static str]| -> Vec<bool> {
        let begins =
            |line: &String| (line.contains("mayhap_fast_path_3@") || *line == FOLLOWS).then_some(*line == FOLLOWS);
        all(lines).iter().filter_map(begins).collect()
    };
    let access = ["movq\t(%rbx), %rdi", "call\t__tsan_read4", "je\t.L2"];
    let many = [&["f:", ".L2:"], &access.repeat(100)[..]].concat();
    // Three units for the first, one for each that follows.
    let expected: Vec<bool> = (0..100).map(|nth| nth % 46 != 0).collect();
    assert_eq!(hooks(&many), expected);
    // A loop that is only come to from another hook.
    let inner = [&["f:", ".L2:"], &access[..], &[".L3:"], &access[..2], &["jne\t.L3", "jmp\t.L2"]].concat();
    assert_eq!(hooks(&inner), [false, false]);
}

/// Walks through rewritten code at random, and sees to it that each hook that follows another finds what that one left, and room.
#[test]
fn oracle_hooks_that_follow_are_come_to_from_hooks_only() {
    let mut random = random(3);
    let (mut followed, mut asked) = (0, 0);
    for _ in 0..3_000 {
        let blocks = 2 + random(6);
        let mut lines = vec!["f:".to_owned()];
        let mut table = Vec::new();
        for block in 0..blocks {
            lines.push(format!(".L{block}:"));
            for _ in 0..random(5) {
                match random(12) {
                    0 => lines.push("call\tg".into()),
                    1 => lines.push(format!("movl\t$1, %r{}d", 8 + random(4))),
                    2 if random(3) == 0 => table.push(random(blocks)),
                    3..6 => lines.push("movq\t%rax, %rcx".into()),
                    6..9 => lines.extend(["leaq\t8(%rbx), %rdi".into(), "call\t__tsan_write4".into()]),
                    _ => lines.extend(["movq\t(%rbx), %rdi".into(), "call\t__tsan_read4".into()]),
                }
            }
            match random(6) {
                0 if !table.is_empty() => lines.push("jmp\t*%rax".into()),
                0 | 1 => lines.push(format!("jmp\t.L{}", random(blocks))),
                2..5 => lines.push(format!("jne\t.L{}", random(blocks))),
                _ => {}
            }
        }
        lines.extend(["ret".into(), "call\t__tsan_init".into(), ".section\t.rodata".into()]);
        lines.extend(table.iter().map(|to| format!(".quad\t.L{to}")));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let out = all(&lines);
        let line_of = |label: &str| out.iter().position(|line| line.strip_suffix(':') == Some(label));
        let (mut at, mut units) = (0, None);
        for _ in 0..3_000 {
            let code = out[at].as_str();
            at += 1;
            let is_full = code.contains("mayhap_fast_path_3@");
            if is_full || code == FOLLOWS {
                let end = at + out[at..].iter().position(|line| line.starts_with(".LMHd")).unwrap();
                let name = out[at..end].iter().find_map(|line| line.split_once("__mayhap_access")).unwrap().1;
                let count = u64::from(name.as_bytes()[0] - b'0');
                // The hooks of the runtime may take more units for an access.
                units = Some(if is_full { 3 * count } else { units.expect("a hook was before") + count });
                assert!(units.unwrap() <= mayhap_wire::fast_path::TOGETHER, "{out:?}");
                (followed, asked) = (followed + u64::from(!is_full), asked + u64::from(is_full));
                at = end;
            } else if code.starts_with("jmp *") {
                at = line_of(&format!(".L{}", table[random(table.len())])).unwrap();
            } else if let Some((jump, to)) = code.split_once(' ').filter(|(first, _)| first.starts_with('j')) {
                if jump == "jmp" || to.contains("MHpc") || random(2) == 0 {
                    at = line_of(to).unwrap();
                }
            } else if code == "ret" {
                break;
            } else if code.starts_with("call") || ["%r9", "%r10", "%r11"].iter().any(|kept| code.contains(kept)) {
                units = None;
            }
        }
    }
    assert!(followed > 5_000 && asked > 5_000, "{followed} {asked}");
}
