#!/bin/bash
# storm.sh SECONDS: forks, exits, sleeps, switches, and changes of affinity, class and nice values, beside a web server under load.
cd /tmp || exit 1
for tool in stress-ng perf pgrep shuf taskset renice python3; do
	command -v $tool >/dev/null || { echo "storm: no $tool" >&2; exit 1; }
done
end=$((SECONDS + $1))
stress-ng --quiet --fork 2 --switch 2 --affinity 2 --schedpolicy 1 --yield 2 --cpu 2 --nanosleep 1 --pthread 1 \
	--timeout "$1" &
while [ $SECONDS -lt $end ]; do
	perf bench sched messaging -g 2 -l 100 >/dev/null 2>&1
done &
# A thread for each request, on loopback, four clients that wait for each answer
timeout $(($1 + 300)) python3 - "$1" <<'END' &
import http.server, sys, threading, time, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
server.RequestHandlerClass.log_message = lambda *_: None
threading.Thread(target=server.serve_forever, daemon=True).start()
end = time.monotonic() + float(sys.argv[1])

answers = []

def client():
    while time.monotonic() < end and len(answers) < 1_000_000:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", timeout=30).read()
            answers.append(1)
        except OSError:
            time.sleep(0.01)

clients = [threading.Thread(target=client) for _ in range(4)]
for thread in clients:
    thread.start()
for thread in clients:
    thread.join()
if not answers:
    sys.exit("storm: the web server answered nobody")
END
server=$!
while [ $SECONDS -lt $end ]; do
	for pid in $(pgrep stress-ng | shuf -n 3); do
		renice -n $((RANDOM % 20)) -p "$pid"
		taskset -p $((RANDOM % 3 + 1)) "$pid"
	done >/dev/null 2>&1
	sleep 0.05
done &
wait $server || {
	echo "storm: the web server ended with code $?" >&2
	exit 1
}
wait
