//! How libstdc++ finds the neighbour of an element of a `std::map` or `std::set`: it follows links in functions of its own, which are not
//! instrumented. Each link that is read is recorded. Without them, an element that was reached through links would seem to be reached
//! through nothing.

use libc::c_void;
use mayhap_wire::ring::Tag;

use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};

type Node = *mut c_void;

#[allow(non_snake_case, reason = "names that C++ gives")]
mod libstdcxx {
    use super::*;
    real! {
        fn _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(at: Node) -> Node;
        fn _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(at: Node) -> Node;
    }
}

exports! {
    _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base => increment;
    _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base => increment;
    _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base => decrement;
    _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base => decrement;
}

/// Where the words of a node are.
const COLOUR: usize = 0;
const PARENT: usize = 8;
const LEFT: usize = 16;
const RIGHT: usize = 24;
const RED: u32 = 0;

/// Links of nodes, with a hook that records each read. It holds the token throughout.
struct Links {
    hook: Hook,
    pc: u64,
}

impl Links {
    fn begin() -> Option<Links> {
        let pc = tls::caller();
        Some(Links { hook: Hook::enter_outermost()?, pc })
    }

    fn read(&self, node: Node, word: usize) -> Node {
        self.hook.record(Tag::RangeRead, self.pc, &[node as u64 + word as u64, 8]);
        // SAFETY: a node of the program's container, which the function that is stood in for reads as well.
        unsafe { node.byte_add(word).cast::<Node>().read() }
    }

    /// Reads what is read on the way to the neighbour of a node: down on that side, or up until it was on the other.
    fn walk(&self, from: Node, side: usize, other: usize) {
        let mut next = self.read(from, side);
        if !next.is_null() {
            while !next.is_null() {
                next = self.read(next, other);
            }
            return;
        }
        let mut at = from;
        let mut above = self.read(at, PARENT);
        while at == self.read(above, side) {
            at = above;
            above = self.read(above, PARENT);
        }
    }

    /// Whether a node is the one that stands for the end: only that is red and its own grandparent.
    fn is_end(&self, node: Node) -> bool {
        self.hook.record(Tag::RangeRead, self.pc, &[node as u64 + COLOUR as u64, 4]);
        // SAFETY: as above.
        let is_red = unsafe { node.cast::<u32>().read() == RED };
        is_red && self.read(self.read(node, PARENT), PARENT) == node
    }
}

unsafe extern "C-unwind" fn increment(at: Node) -> Node {
    let links = Links::begin();
    if let Some(links) = &links {
        links.walk(at, RIGHT, LEFT);
    }
    // SAFETY: the caller's own argument.
    unsafe { libstdcxx::_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(at) }
}

unsafe extern "C-unwind" fn decrement(at: Node) -> Node {
    let links = Links::begin();
    match &links {
        Some(links) if links.is_end(at) => _ = links.read(at, RIGHT),
        Some(links) => links.walk(at, LEFT, RIGHT),
        None => {}
    }
    // SAFETY: the caller's own argument.
    unsafe { libstdcxx::_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(at) }
}
