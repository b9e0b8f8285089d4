//! Where a thread is: in the program's code, or in the library's. Code of the program that the library calls is a callback; what comes before it in another
//! thread is known if the task was handed over in a way that the agent knows, and else all that has to do with the library keeps its recorded order.

use std::sync::atomic::Ordering;

use crate::calls::anything;
use crate::hooks::{here, natives};
use crate::jvm::{Jni, Ref};
use crate::library;
use crate::objects::Here;
use crate::pending;
use crate::position::{Entered, POSITION, goes_outside, is_inside, level, stack};
use crate::shadow::{self, ORDER};

type Class = Ref;

impl Here {
    /// Whether the thread was started to run the program's code, and is in nothing else.
    fn is_direct(self) -> bool {
        let known = POSITION.with(|position| position.is_direct.get());
        known.unwrap_or_else(|| {
            let classes = self.jvmti.classes_on_stack::<32>(self.jni);
            let is_start = |class: &String| {
                class.starts_with("java/lang/Thread") || class == crate::rewrite::HOOKS || !library::is_library(class)
            };
            let direct = classes.len() < 32 && classes.iter().all(is_start);
            POSITION.with(|position| position.is_direct.set(Some(direct)));
            direct
        })
    }

    fn callback_begins(self) -> Entered {
        if POSITION.with(|position| position.is_handed.take()) {
            return Entered::Silent;
        }
        let word = match pending::pending_order() {
            Some(Some(word)) => word,
            Some(None) => return Entered::Silent,
            None if level() > 0 || self.is_direct() => return Entered::Silent,
            None => anything(self) + ORDER,
        };
        self.order(word);
        Entered::Ordered(word)
    }

    /// A task is about to be run that was handed over by this object.
    fn taken(self, task: Ref) {
        let Some(block) = self.block(task) else { return };
        let class = self.jni.class_of(task);
        let is_known = library::is_known_task(&self.jvmti.class_name(class));
        self.jni.delete_local(class);
        self.seen(block);
        let is_known = is_known && shadow::word(block + ORDER).load(Ordering::Acquire) == 1;
        POSITION.with(|position| position.is_handed.set(is_known));
    }

    /// A task of the library or of the program is done.
    fn finished(self, task: Ref) {
        if let Some(block) = self.block(task) {
            self.done(block);
            self.order(anything(self) + ORDER);
        }
    }
}

/// A method that the library may call begins.
#[unsafe(export_name = "Java_java_lang_Mayhap_entered")]
extern "C" fn entered(jni: Jni, _class: Class, site: i32) {
    let was_outside = is_inside();
    let how = match here(jni, site) {
        Some(here) if was_outside => here.callback_begins(),
        _ if was_outside => Entered::Silent,
        _ => Entered::Called,
    };
    POSITION.with(|position| position.entered.borrow_mut().push(how));
}

/// It ends.
#[unsafe(export_name = "Java_java_lang_Mayhap_left")]
extern "C" fn left(jni: Jni, _class: Class, site: i32) {
    let how = POSITION.with(|position| position.entered.borrow_mut().pop());
    let Some(how) = how.filter(|how| *how != Entered::Called) else { return };
    if let Some(here) = here(jni, site) {
        if let Entered::Ordered(word) = how {
            here.order(word);
        }
        (here.runtime.outside)();
    }
    goes_outside();
}

/// The native methods that are called when a method begins and ends.
pub(crate) static BRACKETS: &[(&str, &str)] = &[("entered", "(I)V"), ("left", "(I)V")];

natives! { NATIVES:
    taken "taken" "(Ljava/lang/Object;I)V" (task: Ref, site: i32), site, |here| here.taken(task);
    finished "finished" "(Ljava/lang/Object;I)V" (task: Ref, site: i32), site, |here| here.finished(task);
    called "called" "(I)V" (site: i32), site, |here| (here.runtime.call)(here.at(), stack());
    returned "returned" "(I)V" (site: i32), site, |here| (here.runtime.returned)(here.at());
    initialises "initialises" "(I)V" (site: i32), site, |here| here.sees_own_initialised();
}

/// An exception has come to a handler.
#[unsafe(export_name = "Java_java_lang_Mayhap_caught")]
extern "C" fn caught(jni: Jni, _class: Class, site: i32) {
    let was_outside = is_inside();
    let Some(here) = here(jni, site) else { return };
    (here.runtime.unwound)(stack());
    if was_outside {
        let thrown = jni.take_exception();
        here.ended_by_exception();
        jni.throw_kept(thrown);
    }
}

/// The native method that is called in handlers.
pub(crate) static CAUGHT: &[(&str, &str)] = &[("caught", "(I)V")];
