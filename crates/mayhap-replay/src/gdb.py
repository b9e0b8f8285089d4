# Makes gdb speak of a replay as mayhap does. FOLDER is set in a line before this one. It has:
#   steps    one line for each step of the schedule: thread, tab, what it does
#   threads  names of threads in the order of their creation
#   at       the step before which this run stops
#   next     written here: the step before which the next run is to stop
import gdb
import os


def read(name):
    with open(os.path.join(FOLDER, name)) as file:
        return file.read().splitlines()


STEPS = [line.split("\t", 1) for line in read("steps")]
AT = int(read("at")[0])


def is_runtime(frame):
    return "libmayhap_rt" in (gdb.solib_name(frame.pc()) or "")


class HiddenFrames:
    """The runtime's frames are not what the user looks for."""

    def __init__(self):
        self.name, self.priority, self.enabled = "mayhap", 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        return (f for f in frames if not is_runtime(f.inferior_frame()))


def name_threads():
    names = read("threads")
    for thread in gdb.selected_inferior().threads():
        if thread.num <= len(names):
            thread.name = names[thread.num - 1]


def select_own_frame():
    """The innermost frame of the program itself."""
    frame = gdb.newest_frame()
    while frame is not None and is_runtime(frame):
        frame = frame.older()
    if frame is not None:
        frame.select()


def stopped(event):
    name_threads()
    if getattr(event, "breakpoints", None):
        select_thread()
        select_own_frame()


def select_thread():
    """The thread whose step is next."""
    if AT < len(STEPS):
        for thread in gdb.selected_inferior().threads():
            if thread.name == STEPS[AT][0]:
                thread.switch()


def place():
    if AT >= len(STEPS):
        return "all %d steps are done: the threads are at the bug" % len(STEPS)
    return "before step %d of %d: %s: %s" % (AT + 1, len(STEPS), STEPS[AT][0], STEPS[AT][1])


class Mayhap(gdb.Command):
    """Go along the schedule. Each of these runs the program again up to the step.

mayhap next [N]    stop N steps later
mayhap back [N]    stop N steps earlier
mayhap goto K      stop before step K; mayhap goto end: at the bug
mayhap schedule    show the steps around this one
mayhap where       say where this is"""

    def __init__(self):
        super().__init__("mayhap", gdb.COMMAND_RUNNING)

    def complete(self, text, word):
        return [name for name in ("next", "back", "goto", "schedule", "where") if name.startswith(word)]

    def invoke(self, argument, from_tty):
        words = argument.split() or ["where"]
        number = words[1] if len(words) > 1 else "1"
        if words[0] == "where":
            print(place())
        elif words[0] == "schedule":
            self.schedule()
        elif words[0] == "goto" and number == "end":
            self.go(len(STEPS))
        elif words[0] in ("next", "back", "goto") and number.isdigit():
            number = int(number)
            self.go({"next": AT + number, "back": AT - number, "goto": number - 1}[words[0]])
        else:
            raise gdb.GdbError("mayhap next [N], back [N], goto K, goto end, schedule or where")

    def schedule(self):
        for at in range(max(0, AT - 8), min(len(STEPS), AT + 9)):
            print("%s %5d  %-10s %s" % ("=>" if at == AT else "  ", at + 1, STEPS[at][0], STEPS[at][1]))

    def go(self, step):
        if not 0 <= step <= len(STEPS):
            raise gdb.GdbError("the schedule has %d steps" % len(STEPS))
        with open(os.path.join(FOLDER, "next"), "w") as file:
            file.write("%d\n" % step)
        try:
            gdb.execute("save breakpoints " + os.path.join(FOLDER, "breakpoints"), to_string=True)
        except gdb.error:
            pass
        gdb.execute("set confirm off")
        gdb.execute("quit")


HiddenFrames()
Mayhap()
gdb.events.stop.connect(stopped)
gdb.execute("set breakpoint pending on")
try:
    gdb.execute("source " + os.path.join(FOLDER, "breakpoints"), to_string=True)
except gdb.error:
    pass
# Not among those that are saved.
gdb.execute("tbreak mayhap_replay_reached", to_string=True)
