import os
import signal
import sys
import threading

bind = '127.0.0.1:0'
workers = 2
# The default worker closes each connection after a response.
worker_class = 'gthread'
threads = 1
keepalive = 600
# Listing all users takes longer than the default of 30 s.
timeout = 600


def when_ready(server):
    def end_with_starter():
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end_with_starter, daemon=True).start()
