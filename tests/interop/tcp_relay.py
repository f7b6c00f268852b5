#!/usr/bin/python3
"""Lets somebody outside connect to a program on a node of a world, for the few bytes with which RDMA programs find each
other. (A program on a node reaches the machine at 127.0.0.1 by itself.)

  tcp_relay.py WEFT REAL NODE PORT    who connects to 127.0.0.1:REAL reaches NODE:PORT in the world

One connection, then it ends. A program on a node has the world's TCP, so the real socket is opened first and inherited.
"""
import os
import socket
import sys
import threading
import time

PATIENCE_S = 20  # for the program on the node to listen


def pump(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side has closed it altogether


def connect(address):
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection(address)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def on_node(fd, node, port):
    outside = socket.socket(fileno=fd).accept()[0]
    inside = connect((node, port))
    back = threading.Thread(target=pump, args=(inside, outside))
    back.start()
    pump(outside, inside)
    back.join()


def main():
    if sys.argv[1] == "on-node":
        on_node(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
        return
    weft, real, node, port = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(real)))
    os.set_inheritable(listener.fileno(), True)
    os.execv(weft, [weft, "exec", node, "--", "/usr/bin/python3", os.path.abspath(__file__), "on-node",
                    str(listener.fileno()), node, port])


main()
