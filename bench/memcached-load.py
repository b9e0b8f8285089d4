"""Clients that set, get and count against a memcached, each knowing what it must get back.

Usage: memcached-load.py PORT CLIENTS OPERATIONS. Exit code 1 if an answer was wrong.
"""

import random
import socket
import sys
import threading
import time

PORT, CLIENTS, OPERATIONS = (int(argument) for argument in sys.argv[1:4])
wrong = []


def connect():
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", PORT))
        except ConnectionRefusedError:
            time.sleep(0.05)
    sys.exit("nobody listens")


def client(number):
    choose = random.Random(number)
    stream = connect().makefile("rwb")

    def ask(line):
        stream.write(line + b"\r\n")
        stream.flush()
        return stream.readline()

    mine = {}
    for step in range(OPERATIONS):
        key = b"c%d-%d" % (number, choose.randrange(50))
        kind = choose.random()
        if kind < 0.4:
            value = b"%d:%d:" % (number, step) * choose.randrange(1, 60)
            if ask(b"set %s 0 0 %d\r\n%s" % (key, len(value), value)) != b"STORED\r\n":
                wrong.append(key)
            mine[key] = value
        elif kind < 0.9:
            head = ask(b"get " + key)
            found = None
            if head.startswith(b"VALUE"):
                found = stream.read(int(head.split()[3]) + 2)[:-2]
                stream.readline()
            if found != mine.get(key):
                wrong.append(key)
        else:
            ask(b"incr shared 1")


first = connect()
first.sendall(b"set shared 0 0 1\r\n0\r\n")
first.recv(100)
threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"memcached: {CLIENTS * OPERATIONS} operations, {len(wrong)} wrong answers")
sys.exit(bool(wrong))
