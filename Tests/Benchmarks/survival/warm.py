"""A process for each request, without the time that Python takes to import a library: this process imports the client's program,
and forks for each line that it reads. The child calls `token(session)`, prints the result and ends.

usage: warm.py CLIENT SOCKET        as cell.py does
"""
import importlib, json, os, signal, socket, sys, traceback

name, path = sys.argv[1:]
client = importlib.import_module(f"clients.{name}")
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen(256)
print("ready", flush=True)
while True:
    connection, _ = server.accept()
    if os.fork() == 0:
        server.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        stream = connection.makefile("rw")
        session = json.loads(stream.readline())
        stream.write(f"{os.getpid()}\n")
        stream.flush()
        try:
            found = client.token(session)
            stream.write(json.dumps({"tokens": found if isinstance(found, list) else [found]}))
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(last.filename)}:{last.lineno}"
            stream.write(json.dumps({"error": f"{type(error).__name__}: {str(error)[:160]} ({place})"}))
        stream.flush()
        os._exit(0)
    connection.close()
