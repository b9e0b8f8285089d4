//! Small Rust programs, one behaviour each, that the recorder is tested with: `programs NAME` runs one. What its trace must
//! show is said at the top of its file, in the words of `crates/mayhap/tests/common/expect.rs`.
#![allow(static_mut_refs)]

mod reads;
mod shared;

macro_rules! programs {
    ($($name:ident)*) => {
        mod programs {
            $(pub(super) mod $name;)*
        }

        fn run(name: &str) -> bool {
            match name {
                $(stringify!($name) => programs::$name::main(),)*
                _ => return false,
            }
            true
        }
    };
}

programs! {
    arc_drop_norace arc_get_mut_norace atomic_counter_norace atomic_fence_norace atomic_flag_relaxed atomic_max
    atomic_relaxed_norace atomic_release_acquire_norace atomic_seqcst_norace atomic_spin_norace atomic_update_norace
    barrier_norace barrier_same_side box_freed channel_norace channel_rendezvous_norace channel_sync_norace
    condvar_all_norace condvar_norace condvar_timeout_norace crossbeam_channel_norace crossbeam_epoch_norace
    crossbeam_scope_norace executor_norace lazy_lock_norace local_returned mutex_contended_norace mutex_forgotten
    mutex_hidden mutex_leaked mutex_norace mutex_poisoned_norace mutex_try_norace mutex_two_locks name_members once_contended_norace once_lock_norace
    once_norace park_norace park_timeout parking_lot_bump_norace parking_lot_condvar_norace parking_lot_contended_norace parking_lot_empty_norace parking_lot_hidden
    parking_lot_mutex_norace parking_lot_rwlock_norace parking_lot_timed_norace parking_lot_wait_while_norace rwlock_contended_norace rwlock_norace
    rwlock_try_norace rwlock_two_readers scope_join_norace scope_norace scope_siblings stack_closure thread_local_norace thread_names_norace
    thread_panics_norace thread_race vec_growth vec_growth_norace
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    if name == "reads" {
        return reads::main();
    }
    if !run(&name) {
        eprintln!("no program `{name}`");
        std::process::exit(2);
    }
    shared::finish();
}
