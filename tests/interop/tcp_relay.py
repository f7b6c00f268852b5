#!/usr/bin/python3
"""TCP between programs of a world and the real one, for the few bytes with which RDMA programs find each other.

  tcp_relay.py WEFT out NODE PORT REAL    who connects to NODE:PORT in the world reaches 127.0.0.1:REAL outside
  tcp_relay.py WEFT in REAL NODE PORT     who connects to 127.0.0.1:REAL outside reaches NODE:PORT in the world

One connection, then it ends. A program on a node has the world's TCP and no other, so the real socket is opened first
and inherited.
"""
import os
import socket
import sys
import threading
import time

NODE_OF_RELAY = "h1"  # any node will do


def pump(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def join(a, b):
    back = threading.Thread(target=pump, args=(b, a))
    back.start()
    pump(a, b)
    back.join()


def connect(address, patience_s=20):
    end = time.monotonic() + patience_s
    while True:
        try:
            return socket.create_connection(address)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def inside(direction, fd, node, port):
    real = socket.socket(fileno=fd)
    if direction == "out":
        listener = socket.create_server(("", port))
        join(listener.accept()[0], real)
    else:
        outside = real.accept()[0]
        join(connect((node, port)), outside)


def main():
    weft, direction = sys.argv[1:3]
    if weft == "inside":
        inside(direction, int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
        return
    if direction == "out":
        node, port, real = sys.argv[3], sys.argv[4], int(sys.argv[5])
        line = connect(("127.0.0.1", real))
    else:
        real, node, port = int(sys.argv[3]), sys.argv[4], sys.argv[5]
        line = socket.create_server(("127.0.0.1", real))
    os.set_inheritable(line.fileno(), True)
    where = node if direction == "out" else NODE_OF_RELAY
    os.execv(weft, [weft, "exec", where, "--", "/usr/bin/python3", os.path.abspath(__file__), "inside", direction,
                    str(line.fileno()), node, port])


main()
