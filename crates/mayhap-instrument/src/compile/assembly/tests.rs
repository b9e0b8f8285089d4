//! Tests on assembly as gcc writes it. What comes out is looked at without tabs.

use std::collections::HashSet;

use super::instruction::{NAMES, RDI, RSP, Registers, Value};
use super::*;

/// Functions that the runtime stands in front of, for these tests.
const IN_FRONT: [&str; 2] = ["malloc", "pthread_create"];

pub(super) fn all(lines: &[&str]) -> Vec<String> {
    let in_front: HashSet<&str> = IN_FRONT.into();
    let out = rewrite(&lines.join("\n"), &in_front).unwrap();
    out.lines().map(|line| line.trim().replace('\t', " ")).collect()
}

/// The same without the addresses of places, and what sets addresses.
fn rewritten(lines: &[&str]) -> Vec<String> {
    all(lines).into_iter().filter(|line| !line.starts_with("leaq")).collect()
}

/// What is said of each access, and whether it is announced by another.
fn places(lines: &[String]) -> Vec<(u32, bool)> {
    let places = lines.iter().skip_while(|line| *line != ".LMHsites:").skip(1);
    let place = |line: &String| {
        let fields: Vec<&str> = line.strip_prefix(".long ").unwrap().split(", ").collect();
        assert_eq!((fields.len(), fields[0], fields[2], fields[3], fields[5]), (6, "0", "0", "0", "0"));
        (fields[1].parse().unwrap(), fields[4] != "0")
    };
    places.map(place).collect()
}

pub(super) fn hook(name: &str) -> String {
    format!("call *__mayhap_{name}@GOTPCREL(%rip)")
}

pub(super) const FOLLOWS: &str = "cmpq 64(%r9), %r10";
const TELL: &str = "call *__mayhap_entered@GOTPCREL(%rip)";
const LEAVE: &str = "call *__mayhap_leaving@GOTPCREL(%rip)";

/// GNU's assembler passes over line 0, so that what follows would have the column of what came before.
#[test]
fn code_without_a_line_has_no_column() {
    let lines = [".loc 1 0 3", ".loc 1 5 3", "call __tsan_func_entry", ".loc 0 0 9 is_stmt 0", "nop", ".loc 1 6 2"];
    let places: Vec<String> = all(&lines).into_iter().filter(|line| line.starts_with(".loc")).collect();
    assert_eq!(places, [".loc 1 0 3", ".loc 1 5 3", ".loc 1 5 0", ".loc 1 6 2"]);
}

#[test]
fn what_clang_writes_is_understood_too() {
    let out = rewritten(&[
        "f:                                      # @f",
        ".Lfunc_begin0:",
        "callq\t__tsan_func_entry@PLT",
        "# %bb.1:",
        ".LBB0_1:                                # =>This Inner Loop Header: Depth=1",
        "movq\t(%rbx), %rdi                     # 8-byte Reload",
        "callq\t__tsan_read4@PLT",
        ".Ltmp1:",
        "jne\t.LBB0_3                           # a comment",
        "callq\t__tsan_write4@PLT",
        "jmp\t.LBB0_1",
        ".LBB0_3:",
        ".Ltmp2:                                 # Block address taken",
        "data16",
        "leaq\tx@TLSGD(%rip), %rdi",
        "data16",
        "data16",
        "rex64",
        "callq\t__tls_get_addr@PLT",
        "callq\t__tsan_unaligned_read16",
        ".Ltmp3:",
        "callq\t__tsan_read2",
        "retq",
        ".section\t.rodata,\"a\",@progbits",
        ".quad\t.Ltmp3",
        ".section\t.debug_loc,\"\",@progbits",
        ".quad\t.Ltmp1",
    ]);
    let said: Vec<u32> = places(&out).into_iter().map(|(what, _)| what).collect();
    let expected = [4 | BEHIND_BLOCK, 4 | WRITE | BEHIND_BLOCK, 16 | BEHIND_BLOCK, 2 | BEHIND_BLOCK];
    assert_eq!(said, expected, "what debug information names is no block, what tables name is one");
    assert_eq!(out.iter().filter(|line| line.contains("mayhap_fast_path_3@")).count(), 1, "the loop");
    assert!(out.contains(&FOLLOWS.into()) && !out.contains(&"data16".into()));
    assert_eq!(out.iter().filter(|line| *line == ".byte 0x66").count(), 3);
}

#[test]
fn the_first_access_of_a_block_says_so() {
    let out = rewritten(&[
        "f:",
        ".LFB0:",
        "call\t__tsan_func_entry",
        "call\t__tsan_read4@PLT",
        ".LVL1:",
        "call\t__tsan_write16",
        "testl\t%eax, %eax",
        "jne\t.L3",
        "call\t__tsan_volatile_write8",
        ".L3:",
        "call\t*__tsan_read1@GOTPCREL(%rip)",
    ]);
    let expected = [4 | BEHIND_BLOCK, 16 | WRITE, 8 | WRITE | BEHIND_BLOCK, 1 | BEHIND_BLOCK];
    assert_eq!(places(&out), expected.map(|what| (what, false)));
    assert_eq!(out.iter().filter(|line| **line == hook("access1")).count(), 4);
    assert!(
        out.contains(&".section .data.mayhap_sites,\"aw\",@progbits".to_owned()) && out.contains(&".balign 8".into())
    );
}

#[test]
fn before_anything_else_the_word_is_set() {
    let out = rewritten(&["f:", "call\tg", "call\t__tsan_read4", "call\tg@PLT", "ret", ".L2:", "rep ret", "g:"]);
    let expected = ["f:", TELL, "call g", &hook("access1_call"), "call g@PLT", "ret", ".L2:", TELL, "rep ret"];
    assert_eq!(out[..expected.len()], expected);
    assert_eq!(places(&out), [(4 | BEHIND_CALL, false)]);
    let out = rewritten(&["f:", "call\t__tsan_write_range", "jmp\t*%r11", "g:", "jmp\tf", ".L5:", "jmp\t.L5"]);
    let expected = ["f:", TELL, "call __tsan_write_range", "jmp *%r11", "g:", TELL, "jmp f", ".L5:", "jmp .L5"];
    assert_eq!(out, expected);
}

#[test]
fn jumps_through_registers_spare_what_is_below_the_stack() {
    let out = all(&["f:", "call\t__tsan_read4", "je\t.L2", "notrack jmp\t*%rax", ".L2:", "jmp\t*.L4(,%rax,8)"]);
    assert_eq!(out.iter().filter(|line| *line == TELL).count(), 2);
    for jump in ["notrack jmp *%rax", "jmp *.L4(,%rax,8)"] {
        let expected = ["leaq -128(%rsp), %rsp", TELL, "leaq 128(%rsp), %rsp", jump];
        assert!(out.windows(4).any(|lines| lines == expected), "{out:?}");
    }
}

#[test]
fn what_the_loader_calls_is_left_alone() {
    let out = all(&[
        "choose:",
        "call\t__tsan_read4",
        "ret",
        ".type\tf, @gnu_indirect_function",
        ".set\tf,choose",
        "g:",
        "ret",
    ]);
    assert_eq!(out[..3], ["choose:", "call __tsan_read4", "ret"]);
    assert_eq!(out[5..], ["g:", TELL, "ret"]);
}

#[test]
fn inline_assembly_is_left_alone_and_ends_a_stretch() {
    let out = rewritten(&[
        "f:",
        "call\t__tsan_read4",
        "#APP",
        "1: call\t__tsan_read4; jmp 1b",
        "#NO_APP",
        "movq\t%rbx, %rdi",
        "call\t__tsan_read4",
    ]);
    assert_eq!(out[1..5], [&hook("access1"), "#APP", "1: call __tsan_read4; jmp 1b", "#NO_APP"]);
    assert_eq!(places(&out), [(4 | BEHIND_BLOCK, false); 2]);
}

#[test]
fn assembly_without_hooks_stays_as_it_is() {
    assert_eq!(rewrite("main:\n\tcall\tputs\n\tret\n", &HashSet::new()), None);
}

#[test]
fn a_read_and_a_write_of_one_address_are_told_together() {
    let out = all(&[
        "f:",
        "leaq\tx(%rip), %rdi",
        "call\t__tsan_read4@PLT",
        ".LVL2:",
        "movl\tx(%rip), %ebx",
        "leaq\tx(%rip), %rdi",
        ".loc 1 5 3",
        "addl\t$1, %ebx",
        "call\t__tsan_write4@PLT",
        "movl\t%ebx, x(%rip)",
        "ret",
    ]);
    let expected = [
        "f:",
        "leaq x(%rip), %rdi",
        "leaq x(%rip), %rdx",
        "leaq .LMHsites+0(%rip), %rsi",
        &hook("access2"),
        ".LMHpc0:",
        ".LVL2:",
        "movl x(%rip), %ebx",
        ".loc 1 5 3",
        "addl $1, %ebx",
        "movq mayhap_apart@GOTPCREL(%rip), %rax",
        "cmpb $0, (%rax)",
        "je .LMHpc1",
        "leaq x(%rip), %rdi",
        "leaq .LMHsites+24(%rip), %rsi",
        &hook("access1"),
        ".LMHpc1:",
        "movl %ebx, x(%rip)",
        "ret",
        ".section .data.mayhap_sites,\"aw\",@progbits",
        ".balign 8",
        ".LMHsites:",
        ".long 0, 516, 0, 0, 0, 0",
        ".long 0, 260, 0, 0, .LMHpc1-.LMHpc0, 0",
    ];
    assert_eq!(out, expected);
}

/// The instructions that compute the later addresses of an access and one after each of these stretches.
fn later(stretches: &[&[&str]]) -> Vec<String> {
    let mut lines = vec!["f:", "call\t__tsan_read8"];
    for stretch in stretches {
        lines.extend(*stretch);
        lines.push("call\t__tsan_write8");
    }
    let out = all(&lines);
    let hook = out.iter().position(|line| line.starts_with("call")).unwrap();
    out[1..hook - 1].to_vec()
}

#[test]
fn up_to_four_are_told_together_each_by_its_address_at_the_first() {
    let one: &[&str] = &["movq\t%rbx, %rdi"];
    let lines = ["movq %rbx, %rdx", "movq %rbx, %rcx", "movq %rbx, %r8"];
    for count in 0..=5 {
        assert_eq!(later(&vec![one; count]), lines[..count.min(3)]);
    }
    let moved: &[&str] = &["movq\t%rbx, %rdi", "addq\t$8, %rbx"];
    assert_eq!(later(&[moved, moved, moved]), ["movq %rbx, %rdx", "leaq 8(%rbx), %rcx", "leaq 16(%rbx), %r8"]);
    let table: &[&str] = &["movq\tx@GOTPCREL(%rip), %rdi"];
    let number: &[&str] = &["movl\t$x+4, %edi"];
    assert_eq!(later(&[table, number]), ["movq x@GOTPCREL(%rip), %rdx", "movl $x+4, %ecx"]);
    let by_others: &[&str] = &["leaq\t8(%r12), %rax", "subq\t$16, %rax", "leaq\tx(%rax,%r13,4), %rdi"];
    assert_eq!(later(&[by_others]), ["leaq x-8(%r12,%r13,4), %rdx"]);
}

#[test]
fn an_address_that_is_not_known_in_time_is_told_by_itself() {
    let not: [&[&str]; 25] = [
        &["movq\t%rax, %rdi"],
        &["movq\t8(%rsp), %rdi"],
        &["movl\t%ebx, %edi"],
        &["movl\t$4, %ebx", "leaq\t(%r12,%rbx), %rdi"],
        &["movb\t$1, %bl", "movq\t%rbx, %rdi"],
        &["movb\t$1, %bh", "movq\t%rbx, %rdi"],
        &["movq\t8(%rbp), %rbp", "leaq\t(%rbp), %rdi"],
        &["sete\t%r12b", "movq\t%r12, %rdi"],
        &["cvttsd2siq\t8(%rsp), %r12", "movq\t%r12, %rdi"],
        &["vpextrq\t$1, %xmm0, %r12", "movq\t%r12, %rdi"],
        &["cmovle\t%rax, %rbx", "movq\t%rbx, %rdi"],
        &["movq\t%rbx, %rdi", "popq\t%rax"],
        &["movq\t%rbx, %rdi", "xchgq\t%rbx, %rax"],
        &["movq\t%rbx, %rdi", "rep stosq"],
        &["movq\t%rbx, %rdi", "lock addl\t$1, (%rbx)"],
        &["movq\t%rbx, %rdi", "shrq\t%rdi"],
        &["movq\t%rbx, %rdi", "movl\t(%rdi), %edi"],
        &["movq\t%rbx, %rdi", "jne\t.L9"],
        &["movq\t%rbx, %rdi", ".L9:"],
        &["movq\t%rbx, %rdi", "call\tmalloc", "movq\t%rbx, %rdi"],
        &["movq\t%rbx, %rdi", "call\t__tsan_func_exit", "movq\t%rbx, %rdi"],
        &["movq\t%rbx, %rdi", ".text"],
        &["leaq\tx@tlsld(%rip), %rdi"],
        &["addq\t$2000000000, %rbx", "leaq\t2000000000(%rbx), %rdi"],
        &["leaq\t(%rbx,%r12), %rax", "leaq\t(%rax,%r13), %rdi"],
    ];
    for stretch in not {
        assert_eq!(later(&[stretch]), Vec::<String>::new(), "{stretch:?}");
    }
    // In a replay every access is a call, which keeps neither of these.
    let known: &[&str] = &["movq\t%rbx, %rax", "movq\t%rax, %rdi"];
    assert_eq!(later(&[known, &[]]), ["movq %rbx, %rdx"]);
    assert_eq!(later(&[known, &["movq\t%rax, %rdi"]]), ["movq %rbx, %rdx"]);
}

#[test]
fn what_sets_an_address_stays_before_what_changes_its_registers() {
    let behind_jump = |stretch: &[&str]| {
        let mut lines = vec!["f:", "call\t__tsan_read8"];
        lines.extend(stretch);
        lines.push("call\t__tsan_write8");
        let out = all(&lines);
        let jump = out.iter().position(|line| line == "je .LMHpc1").unwrap();
        out[jump + 1].ends_with(", %rdi")
    };
    assert!(behind_jump(&["movq\t%rbx, %rdi", "addq\t$8, %r12"]));
    assert!(!behind_jump(&["movq\t%rbx, %rdi", "addq\t$8, %rbx"]));
    assert!(!behind_jump(&["leaq\tx(%rip), %rdx", "movq\t%rdx, %rdi", "cltd"]));
    // The jump itself changes `%rax`.
    assert!(!behind_jump(&["leaq\tx(%rip), %rax", "movq\t%rax, %rdi"]));
    assert!(!behind_jump(&["movq\t%rbx, %rdi", "movq\t%rdi, %r12"]));
}

#[test]
fn instructions_are_followed_only_if_they_are_known() {
    for known in
        ["cltq", "imull\t$3, %eax, %ebx", "mulsd\t-8(%r12), %xmm0", "fldt\t(%rsp)", "testb\t%bl, %bl", "divq\t%rbx"]
    {
        assert!(Registers::new().follow(known).is_some(), "{known}");
    }
    for unknown in [
        "cpuid",
        "movsq",
        "pushq\t%rbx",
        "leave",
        "mulx\t%rax, %rbx, %r12",
        "xaddl\t%eax, (%rbx)",
        "cmpxchgl\t%ebx, (%r12)",
        "maskmovdqu\t%xmm0, %xmm1",
        "movsb\t(%rsi), %es:(%rdi)",
        "rep; ret",
        "data16\tleaq\tx@tlsgd(%rip), %rdi",
        "rex64",
    ] {
        assert!(Registers::new().follow(unknown).is_none(), "{unknown}");
    }
    let mut registers = Registers::new();
    for code in ["leaq\t(%rbx,%rsp), %rax", "leaq\t-4(%rax), %rdi"] {
        registers.follow(code).unwrap();
    }
    let mut text = String::new();
    registers.get(RDI).unwrap().write(RDI, &mut text);
    assert_eq!(text, "\tleaq\t-4(%rsp,%rbx,1), %rdi\n");
}

#[test]
fn calls_of_functions_that_are_elsewhere_leave() {
    let out = all(&[
        "f:",
        "call\tputs@PLT",
        "call\tf",
        "call\tmalloc@PLT",
        "call\tabort@PLT",
        "call\t__cxa_throw@PLT",
        "call\t_ZSt20__throw_length_errorPKc",
        "call\talias",
        "call\tcreate",
        "call\t*%rax",
        "call\t*puts@GOTPCREL(%rip)",
        "jmp\tputs@PLT",
        ".L2:",
        "jmp\tputs",
        "\t.set\talias,f",
        "\t.weakref\tcreate,pthread_create",
        "call\t__tsan_init",
    ]);
    let uninstrumented: Vec<&str> =
        out.windows(2).filter(|lines| lines[0] == LEAVE).map(|lines| lines[1].as_str()).collect();
    assert_eq!(uninstrumented, ["call puts@PLT", "call *puts@GOTPCREL(%rip)", "jmp puts@PLT", "jmp puts"]);
    assert_eq!(out[1..4], [TELL, LEAVE, "call puts@PLT"]);
    assert_eq!(out[out.iter().position(|line| line == ".L2:").unwrap() + 1..][..3], [TELL, LEAVE, "jmp puts"]);
}

#[test]
fn nothing_comes_between_what_asks_for_a_threads_variable() {
    let asks = ["data16 leaq x@tlsgd(%rip), %rdi", ".value 0x6666", "rex64", "call __tls_get_addr@PLT"];
    let mut lines = vec!["f:"];
    lines.extend(asks);
    lines.push("call\t__tsan_read4");
    let out = all(&lines);
    assert_eq!(out[1..5], asks);
    assert_eq!(places(&out), [(4 | BEHIND_BLOCK, false)]);
}

#[test]
fn comments_of_the_compiler_are_none_of_the_code() {
    let out = all(&[
        "f:",
        "call\t__tsan_read4\t#",
        "# a.c:5: x++;",
        "movq\t%rbx, %rdi\t# x, x",
        "call\t__tsan_write4\t# tmp %rdi",
    ]);
    assert_eq!(out[1], "movq %rbx, %rdx");
    assert_eq!(places(&out), [(4 | BEHIND_BLOCK, false), (4 | WRITE, true)]);
}

/// Numbers below what is asked for, the same in every run.
pub(super) fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    }
}

/// What a value is where registers held this, and `x` is there.
fn evaluate(value: Value, held: &[u64; 16]) -> u64 {
    const X: u64 = 0x60_1000;
    match value {
        Value::Immediate { text, .. } => text.parse::<i64>().unwrap() as u64,
        Value::Got { operand } => (operand == "x@GOTPCREL(%rip)").then_some(X).unwrap(),
        Value::Sum { symbol, to_rip, base, index, offset } => {
            assert!(!to_rip || base.is_none() && index.is_none());
            let symbol = if symbol == "x" { X } else { 0 };
            let scaled = |(register, scale): (u8, u8)| held[usize::from(register)].wrapping_mul(scale.into());
            let base = base.map_or(0, |base| held[usize::from(base)]);
            symbol.wrapping_add(base).wrapping_add(index.map_or(0, scaled)).wrapping_add(offset as u64)
        }
    }
}

#[test]
fn oracle_values_are_what_a_processor_would_compute() {
    let mut random = random(1);
    let mut known = 0;
    for _ in 0..20_000 {
        let begin: [u64; 16] = std::array::from_fn(|_| (random(1 << 30) as u64) << 32 | random(1 << 30) as u64);
        let mut held = begin;
        let mut lines = Vec::new();
        for _ in 0..random(9) {
            let (to, from, other) = (random(16), random(16), random(16));
            let (number, scale) = (random(4096) as i64 - 2048, 1 << random(4));
            let [whole, half, _, low] = NAMES[to];
            let [source, source_half, ..] = NAMES[from];
            let index = NAMES[other][0];
            let (line, value) = match random(12) {
                0 | 1 => (format!("movq\t%{source}, %{whole}"), held[from]),
                2 => (format!("movl\t${}, %{half}", number.abs()), number.unsigned_abs()),
                3 => (format!("movq\t${number}, %{whole}"), number as u64),
                4 => (format!("addq\t${number}, %{whole}"), held[to].wrapping_add(number as u64)),
                5 => (format!("subq\t${number}, %{whole}"), held[to].wrapping_sub(number as u64)),
                6 => (format!("addq\t%{source}, %{whole}"), held[to].wrapping_add(held[from])),
                7 => (format!("leaq\tx(%rip), %{whole}"), 0x60_1000),
                8 => (format!("movq\tx@GOTPCREL(%rip), %{whole}"), 0x60_1000),
                9 => (format!("movl\t%{source_half}, %{half}"), held[from] & 0xffff_ffff),
                10 => (format!("movb\t$7, %{low}"), held[to] & !0xff | 7),
                _ if other == usize::from(RSP) => continue,
                _ => {
                    let sum = held[from].wrapping_add(held[other].wrapping_mul(scale)).wrapping_add(number as u64);
                    (format!("leaq\t{number}(%{source},%{index},{scale}), %{whole}"), sum)
                }
            };
            lines.push(line);
            held[to] = value;
        }
        let mut registers = Registers::new();
        assert!(lines.iter().all(|line| registers.follow(line).is_some()), "{lines:?}");
        for register in 0..16 {
            if let Some(value) = registers.get(register) {
                assert_eq!(evaluate(value, &begin), held[usize::from(register)], "{lines:?} {value:?}");
                known += u32::from(value != Registers::new().get(register).unwrap_or(Value::Got { operand: "" }));
            }
        }
    }
    assert!(known > 20_000, "{known}");
}
