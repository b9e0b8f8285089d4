//! What GNU's C++ library does to the nodes of maps, sets and lists in functions that are not instrumented: they change the links
//! by which threads find elements. The nodes that they may write are recorded, then the real function works.
//!
//! More nodes may be named than are written: a thread that changes such a container must have it alone, so nothing correct is called
//! wrong by that.

use libc::c_void;
use mayhap_wire::ring::Tag;

use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};

/// A node of a tree: the library's own layout.
#[repr(C)]
struct Node {
    colour: u64,
    parent: *mut Node,
    left: *mut Node,
    right: *mut Node,
}

/// A node of a list: the library's own layout.
#[repr(C)]
struct Link {
    next: *mut Link,
    previous: *mut Link,
}

/// The highest tree whose nodes are all named.
const HEIGHT: usize = 128;

// Only C++ programs have these; the linker is asked to include them.
#[cfg(feature = "archive")]
core::arch::global_asm!(
    ".weak __real__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
    ".weak __real__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
    ".weak __real__ZNSt8__detail15_List_node_base7_M_hookEPS0_",
    ".weak __real__ZNSt8__detail15_List_node_base9_M_unhookEv",
    ".weak __real__ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_",
    ".weak __real__ZNSt8__detail15_List_node_base10_M_reverseEv",
    ".weak __real__ZNSt8__detail15_List_node_base4swapERS0_S1_",
);

#[expect(non_snake_case, reason = "the names that C++ gives them")]
mod libc_real {
    use super::*;
    real! {
        fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
            left: bool, node: *mut c_void, parent: *mut c_void, header: *mut c_void
        ) -> ();
        fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(
            node: *mut c_void, header: *mut c_void
        ) -> *mut c_void;
        fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(node: *mut c_void, place: *mut c_void) -> ();
        fn _ZNSt8__detail15_List_node_base9_M_unhookEv(node: *mut c_void) -> ();
        fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(
            node: *mut c_void, first: *mut c_void, last: *mut c_void
        ) -> ();
        fn _ZNSt8__detail15_List_node_base10_M_reverseEv(node: *mut c_void) -> ();
        fn _ZNSt8__detail15_List_node_base4swapERS0_S1_(one: *mut c_void, other: *mut c_void) -> ();
    }
}

exports! {
    _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_ => tree_insert;
    _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_ => tree_erase;
    _ZNSt8__detail15_List_node_base7_M_hookEPS0_ => list_hook;
    _ZNSt8__detail15_List_node_base9_M_unhookEv => list_unhook;
    _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_ => list_transfer;
    _ZNSt8__detail15_List_node_base10_M_reverseEv => list_reverse;
    _ZNSt8__detail15_List_node_base4swapERS0_S1_ => list_swap;
}

/// Records nodes as written.
struct Nodes(Option<(Hook, u64)>);

impl Nodes {
    fn begin() -> Nodes {
        let pc = tls::caller();
        Nodes(Hook::enter_outermost().map(|hook| (hook, pc)))
    }

    fn write<T>(&self, node: *mut T) {
        if let Some((hook, pc)) = self.0.as_ref().filter(|_| !node.is_null()) {
            hook.record(Tag::RangeWrite, *pc, &[node as u64, size_of::<T>() as u64]);
        }
    }

    /// The nodes from one up to the root, and their children.
    ///
    /// # Safety
    /// They are nodes of a tree with this header.
    unsafe fn write_up(&self, node: *mut Node, header: *mut Node) {
        let mut at = node;
        for _ in 0..HEIGHT {
            if at.is_null() || at == header || self.0.is_none() {
                break;
            }
            self.write(at);
            // SAFETY: as the caller vouches.
            unsafe {
                self.write((*at).left);
                self.write((*at).right);
                at = (*at).parent;
            }
        }
        self.write(header);
    }
}

unsafe extern "C" fn tree_insert(left: bool, node: *mut Node, parent: *mut Node, header: *mut Node) {
    let nodes = Nodes::begin();
    // SAFETY: the caller's own container; the new node has no children yet.
    unsafe {
        nodes.write(node);
        nodes.write_up(parent, header);
        libc_real::_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
            left,
            node.cast(),
            parent.cast(),
            header.cast(),
        );
    }
}

unsafe extern "C" fn tree_erase(node: *mut Node, header: *mut Node) -> *mut c_void {
    let nodes = Nodes::begin();
    // SAFETY: the caller's own container.
    unsafe {
        // The node that takes its place is the first one after it.
        let mut next = (*node).right;
        for _ in 0..HEIGHT {
            if next.is_null() || (*next).left.is_null() {
                break;
            }
            next = (*next).left;
        }
        nodes.write_up(if next.is_null() { node } else { next }, header);
        libc_real::_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node.cast(), header.cast())
    }
}

unsafe extern "C" fn list_hook(node: *mut Link, place: *mut Link) {
    let nodes = Nodes::begin();
    // SAFETY: the caller's own container.
    unsafe {
        nodes.write(node);
        nodes.write((*place).previous);
        nodes.write(place);
        libc_real::_ZNSt8__detail15_List_node_base7_M_hookEPS0_(node.cast(), place.cast());
    }
}

unsafe extern "C" fn list_unhook(node: *mut Link) {
    let nodes = Nodes::begin();
    // SAFETY: the caller's own container.
    unsafe {
        nodes.write((*node).next);
        nodes.write((*node).previous);
        libc_real::_ZNSt8__detail15_List_node_base9_M_unhookEv(node.cast());
    }
}

unsafe extern "C" fn list_transfer(node: *mut Link, first: *mut Link, last: *mut Link) {
    let nodes = Nodes::begin();
    // SAFETY: the caller's own containers.
    unsafe {
        for end in [node, first, last] {
            nodes.write((*end).previous);
            nodes.write(end);
        }
        libc_real::_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(node.cast(), first.cast(), last.cast());
    }
}

unsafe extern "C" fn list_reverse(node: *mut Link) {
    let nodes = Nodes::begin();
    // SAFETY: the caller's own list, a ring; without hooks nothing is done with what it holds.
    unsafe {
        nodes.write(node);
        let mut at = (*node).next;
        while at != node && nodes.0.is_some() {
            nodes.write(at);
            at = (*at).next;
        }
        libc_real::_ZNSt8__detail15_List_node_base10_M_reverseEv(node.cast());
    }
}

unsafe extern "C" fn list_swap(one: *mut Link, other: *mut Link) {
    let nodes = Nodes::begin();
    // SAFETY: the caller's own lists.
    unsafe {
        for end in [one, other] {
            nodes.write((*end).previous);
            nodes.write((*end).next);
            nodes.write(end);
        }
        libc_real::_ZNSt8__detail15_List_node_base4swapERS0_S1_(one.cast(), other.cast());
    }
}
