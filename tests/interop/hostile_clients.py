# Clients that a server meets on a bad day, against `weft serve`: slow ones, huge headers, pipelined requests,
# half-closed sockets, names that lead outside. After each it must answer an honest one.
# Usage: hostile_clients.py URL
import json
import socket
import sys
import threading
import time
import urllib.parse
import urllib.request

url = sys.argv[1]
port = int(url.split(':')[2].split('/')[0])
host = f'Host: 127.0.0.1:{port}\r\n'


def connect():
    return socket.create_connection(('127.0.0.1', port), timeout=20)


def send(client, data):
    try:
        client.sendall(data)
    except OSError:
        pass


def read_all(client):
    data = b''
    try:
        while piece := client.recv(65536):
            data += piece
    except OSError:
        pass
    return data


def honest(after):
    answer = json.load(urllib.request.urlopen(url + 'api/status', timeout=20))
    assert 'version' in answer, after


def status(path, method='GET'):
    with connect() as client:
        send(client, f'{method} {path} HTTP/1.1\r\n{host}Connection: close\r\n\r\n'.encode())
        answer = read_all(client)
    assert answer.startswith(b'HTTP/1.1 '), (path, answer[:100])
    return int(answer.split()[1])


# Slow loris: many that send a byte now and then. Others are answered meanwhile.
slow = [connect() for _ in range(200)]
for client in slow:
    send(client, b'GET /api/status HTTP/1.1\r\n')
for _ in range(3):
    for client in slow:
        send(client, b'X')
    honest('slow loris')
for client in slow:
    client.close()

# Headers without end, and one that is longer than any.
for line in (b'A: b\r\n', b'A' * 1000):
    with connect() as client:
        send(client, b'GET / HTTP/1.1\r\n' + host.encode())
        for _ in range(3000):
            try:
                client.sendall(line)
            except OSError:
                break
        answer = read_all(client)
        assert not answer or answer.startswith(b'HTTP/1.1 4'), answer[:80]
    honest('headers')

# 2,000 requests at once on one connection; the answers come in order until the connection's number is reached.
with connect() as client:
    request = f'GET /api/tasks HTTP/1.1\r\n{host}\r\n'.encode()
    sender = threading.Thread(target=send, args=(client, request * 2000))
    sender.start()
    answer = read_all(client)
    sender.join()
    assert answer.count(b'HTTP/1.1 200') == 1000, answer.count(b'HTTP/1.1 200')
honest('pipelined')

# Half-closed: the request is whole, and gets its answer; one that is not whole gets none, or an error.
with connect() as client:
    send(client, f'GET /api/status HTTP/1.1\r\n{host}Connection: close\r\n\r\n'.encode())
    client.shutdown(socket.SHUT_WR)
    assert read_all(client).startswith(b'HTTP/1.1 200')
for half in ('GET /api/sta', f'POST /api/tasks HTTP/1.1\r\n{host}Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{{'):
    with connect() as client:
        send(client, half.encode())
        client.shutdown(socket.SHUT_WR)
        answer = read_all(client)
        assert not answer or answer.startswith(b'HTTP/1.1 4'), answer[:80]
honest('half-closed')
# Gone before the answer.
for _ in range(200):
    client = connect()
    send(client, f'GET /api/labs HTTP/1.1\r\n{host}\r\n'.encode())
    client.close()
honest('gone')

# Names that lead outside.
paths = []
for name in ('..', '%2e%2e', '%252e%252e', '..%2f..%2fetc%2fpasswd', '..%5c', '%00', '..~..~etc', 'link', 'link~inner', '.removed',
             'with space', 'per%cent', 'quo"te', 'new\nline', 'caf\u00e9', '<b>', "';--"):
    quoted = name if '%' in name else urllib.parse.quote(name)
    paths += [f'/api/runs/{quoted}', f'/api/runs/{quoted}/files/results.json', f'/api/runs/one/files/{quoted}', f'/api/sweeps/{quoted}',
              f'/api/labs/{quoted}', f'/api/worlds/{quoted}', f'/{quoted}', f'/metrics?run={quoted}', f'/api/compare?a={quoted}&b={quoted}']
paths += ['/api/runs/one/files/../../outside/results.json', '/api/runs/one/files/secret.json', '//etc/passwd', '/api/../../etc/passwd']
for path in paths:
    got = status(path)
    assert got in (400, 404, 422) or (path == '/metrics?run=' and got == 200), (path, got)
    assert status(path, 'DELETE') in (400, 404, 405, 409, 422), path
honest('names')

# Odd names and links are not in the list either, and it can be read.
names = [run['id'] for run in json.load(urllib.request.urlopen(url + 'api/runs'))['runs']]
assert names == ['one'], names
print('still there')
