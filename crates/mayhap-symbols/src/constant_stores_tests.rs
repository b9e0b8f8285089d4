use super::*;

/// The constants of code at 0x1000 in which calls that return to one of these addresses announce writes.
fn constants(code: &[u8], writes: &[(u64, u8)]) -> Vec<(u64, i64)> {
    let wanted = writes.iter().copied().collect();
    let known = Known {
        wanted: &wanted,
        atomics: &HashSet::new(),
        own: HashSet::from([0x5000]),
        arrivals: HashSet::new(),
        harmless: HashSet::from([0x6000]),
        hooks: HashSet::new(),
        relative: true,
    };
    let mut found = Found::default();
    in_function(&decode(code, 0x1000), &known, &mut found);
    let mut found: Vec<(u64, i64)> = found.stores.into_iter().map(|(pc, stored)| (pc, stored.number)).collect();
    found.sort_unstable();
    found
}

#[test]
fn immediates_and_zeroed_registers_are_constants() {
    let code = [
        0x48, 0x8d, 0x3d, 0xf9, 0x0f, 0x00, 0x00, //                   1000 lea rdi,[rip+0xff9] -> 2000
        0xe8, 0x00, 0x00, 0x00, 0x00, //                               1007 call
        0xc7, 0x05, 0xea, 0x0f, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, // 100c mov dword [rip+0xfea],7 -> 2000
        0x48, 0x8d, 0x7b, 0x08, //                                     1016 lea rdi,[rbx+8]
        0xe8, 0x00, 0x00, 0x00, 0x00, //                               101a call
        0x31, 0xc0, //                                                 101f xor eax,eax
        0x48, 0x89, 0x43, 0x08, //                                     1021 mov [rbx+8],rax
        0x48, 0x89, 0xdf, //                                           1025 mov rdi,rbx
        0xe8, 0x00, 0x00, 0x00, 0x00, //                               1028 call
        0x48, 0x89, 0x0b, //                                           102d mov [rbx],rcx
    ];
    let writes = [(0x100c, 4), (0x101f, 8), (0x102d, 8)];
    assert_eq!(constants(&code, &writes), [(0x100c, 7), (0x101f, 0)]);
}

#[test]
fn only_the_store_that_was_announced_counts() {
    let code = [
        0x48, 0x89, 0xdf, //                                     1000 mov rdi,rbx
        0xe8, 0x00, 0x00, 0x00, 0x00, //                         1003 call
        0x48, 0xc7, 0x43, 0x08, 0x01, 0x00, 0x00, 0x00, //       1008 mov qword [rbx+8],1: another place
        0x48, 0xc7, 0x03, 0x02, 0x00, 0x00, 0x00, //             1010 mov qword [rbx],2
        0x48, 0x89, 0xdf, //                                     1017 mov rdi,rbx
        0xe8, 0x00, 0x00, 0x00, 0x00, //                         101a call
        0x49, 0xc7, 0x04, 0x24, 0x01, 0x00, 0x00, 0x00, //       101f mov qword [r12],1: perhaps the same place
        0x48, 0xc7, 0x03, 0x02, 0x00, 0x00, 0x00, //             1027 mov qword [rbx],2
        0x48, 0x89, 0xdf, //                                     102e mov rdi,rbx
        0xe8, 0x00, 0x00, 0x00, 0x00, //                         1031 call
        0xc7, 0x03, 0x02, 0x00, 0x00, 0x00, //                   1036 mov dword [rbx],2: another size
    ];
    assert_eq!(constants(&code, &[(0x1008, 8), (0x101f, 8), (0x1036, 8)]), [(0x1008, 2)]);
}

#[test]
fn a_hook_that_is_jumped_over_is_still_the_announcement() {
    let code = [
        0x74, 0x08, //                                     1000 je 100a
        0x48, 0x89, 0xdf, //                               1002 mov rdi,rbx
        0xe8, 0x00, 0x00, 0x00, 0x00, //                   1005 call
        0x48, 0xc7, 0x03, 0x02, 0x00, 0x00, 0x00, //       100a mov qword [rbx],2
    ];
    assert_eq!(constants(&code, &[(0x100a, 8)]), [(0x100a, 2)]);
}

#[test]
fn what_differs_from_way_to_way_is_no_constant() {
    let code = [
        0xbd, 0x01, 0x00, 0x00, 0x00, // 1000 mov ebp,1
        0x74, 0x02, //                   1005 je 1009
        0x31, 0xed, //                   1007 xor ebp,ebp
        0x48, 0x89, 0xdf, //             1009 mov rdi,rbx
        0xe8, 0x00, 0x00, 0x00, 0x00, // 100c call
        0x48, 0x89, 0x2b, //             1011 mov [rbx],rbp
    ];
    assert_eq!(constants(&code, &[(0x1011, 8)]), []);
    let around = [&code[..5], &[0x90; 4], &code[9..]].concat();
    assert_eq!(constants(&around, &[(0x1011, 8)]), [(0x1011, 1)]);
}

#[test]
fn after_a_call_of_another_function_registers_hold_no_constants() {
    let code = [
        0xbd, 0x01, 0x00, 0x00, 0x00, // 1000 mov ebp,1
        0xe8, 0xf6, 0x3f, 0x00, 0x00, // 1005 call 5000
        0x48, 0x89, 0xdf, //             100a mov rdi,rbx
        0xe8, 0x00, 0x00, 0x00, 0x00, // 100d call
        0x48, 0x89, 0x2b, //             1012 mov [rbx],rbp
    ];
    assert_eq!(constants(&code, &[(0x1012, 8)]), []);
}
