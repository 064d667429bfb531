# fairpar --worker, spoken to by hand: what fairpar-worker(7) says of its side of the line.

load helper

setup() {
	helper_setup
	need python3
	cat >line.py <<-'EOF'
		import os, resource, signal, subprocess, sys

		MARK = "0123456789abcdef" * 2

		def field(name, value):
		    value = value.encode()
		    return b"%s %d\n%s\n" % (name.encode(), len(value), value)

		# A zombie has ended: who is to reap it is another's affair.
		def lives(pid):
		    try:
		        return open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0] not in "ZX"
		    except OSError:
		        return False

		class Worker:
		    def __init__(self, *args):
		        self.process = subprocess.Popen([os.environ["FAIRPAR"], "--worker", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
		        self.output = {1: b"", 2: b""}

		    def write(self, data):
		        self.process.stdin.write(data)
		        self.process.stdin.flush()

		    def greet(self):
		        self.write(b"fairpar-worker 2 %s\n" % MARK.encode())
		        assert self.process.stdout.readline() == b"\n"
		        assert self.process.stdout.readline() == MARK.encode() + b"\n"
		        return self.read()

		    def run(self, job, command, **fields):
		        payload = field("path", "/bin/sh") + b"".join(field("arg", word) for word in ("sh", "-c", command))
		        payload += b"".join(field(name.replace("_", "-"), value) for name, value in fields.items())
		        self.write(b"run %d %d\n%s\n" % (job, len(payload), payload))

		    # The next frame: its name and numbers, and its payload.
		    def read(self):
		        words = self.process.stdout.readline().split()
		        if not words:
		            return ["end"]
		        frame = [words[0].decode(), *map(int, words[1:])]
		        if frame[0] in ("hello", "out", "done", "refuse", "brake", "bye"):
		            frame.append(self.process.stdout.read(frame.pop()))
		            assert self.process.stdout.read(1) == b"\n"
		        if frame[0] == "out":
		            self.output[frame[2]] += frame[3]
		        return frame

		    def until(self, name):
		        frame = self.read()
		        while frame[0] not in (name, "end"):
		            frame = self.read()
		        assert frame[0] == name, frame
		        return frame

		    def close(self):
		        self.process.stdin.close()
		        return self.process.wait()
	EOF
}

# talk: runs the script on stdin, with a worker in `w` that was greeted, and its hello. Its jobs have a minute to do what they do on TERM.
talk() {
	{ printf '%s\n' 'from line import *' 'w = Worker("-j2", "--term-seq", "TERM,60000")' 'hello = w.greet()' && cat; } >talk.py
	run --separate-stderr python3 talk.py
	[[ $status -eq 0 ]] || fail "$output$stderr"
}

@test "a worker says its version, slots and name, and a job its output and its end" {
	talk <<-'EOF'
		assert hello[:3] == ["hello", 2, 2] and hello[5] == os.uname().nodename.encode(), hello
		w.run(1, "echo out; printf err >&2; exit 3")
		assert w.until("started")[1] == 1
		done = w.until("done")
		assert done[1:6] == [1, 1, 3, 0, 0], done
		assert w.output == {1: b"out\n", 2: b"err"}, w.output
		w.write(b"bye 0\n\n")
		assert w.process.wait() == 0
	EOF
	assert_eq "$stderr" ''
}

@test "a worker whose node has a long name says so much of it as there is room for" {
	FAIRPAR_REMOTE=$FAIRPAR SLURMD_NODENAME=$(printf '%0300d' 1) run_fairpar --launch 'env {}' -j1 echo ::: 1 </dev/null
	assert_lines 1
}

@test "a job gets its variables, its directory and its input" {
	mkdir dir
	talk <<-EOF
		w.run(7, 'cat; echo "\$v"; pwd', set="v=a b", dir="$PWD/dir", has_input="")
		w.write(b"in 7 6\nhello\n\neof 7\n")
		assert w.until("done")[1:4] == [7, 0, 0]
		assert w.output[1] == b"hello\na b\n$PWD/dir\n", w.output
		program = field("path", "/proc/no/cat") + field("arg", "cat") + field("has-input", "")
		w.write(b"run 9 %d\n%s\nin 9 1\nx\neof 9\n" % (len(program), program)) # this machine has it elsewhere
		assert w.until("done")[1:4] == [9, 0, 0]
		w.run(10, "true", dir="/proc/no")
		done = w.until("done")
		assert done[1:4] == [10, 4, 126] and done[-1][1] == 2, done
		w.close()
	EOF
}

@test "a job that brings its first limits alone keeps the worker's own of the others" {
	talk <<-'EOF'
		for job in range(1, 17):
		    w.run(job, "ulimit -n; ulimit -t", limit="0 %d 4000" % (1000 + job))
		    assert w.until("done")[1:4] == [job, 0, 0]
		    assert w.output[1] == b"%d\n%d\n" % (resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1000 + job), w.output
		    w.output[1] = b""
		w.close()
	EOF
}

@test "output stops where nobody takes it, and all of it comes; the time of a job goes on meanwhile" {
	talk <<-'EOF'
		# Takes as much as comes. False: the job has ended before.
		def fill():
		    taken = 0
		    while taken < 256 * 1024:
		        frame = w.read()
		        if frame[0] == "done":
		            return False
		        taken += len(frame[3]) if frame[0] == "out" else 0
		    assert taken == 256 * 1024
		    w.write(b"ping 5\n")
		    assert w.until("pong")[1] == 5
		    return True

		# Its standard error ends while its output waits, a little before or after there is room again.
		for job in range(1, int(os.environ.get("ROUNDS", 200))):
		    w.output[1] = b""
		    w.run(job, "exec 3>&1 >&2; head -c 300000 /dev/zero >&3 & sleep 0.00%d; exec 2>&-; wait" % (job % 9))
		    assert fill()
		    w.write(b"more %d 262144\n" % job)
		    assert w.until("done")[2] == 0
		    assert len(w.output[1]) == 300000
		job, timeout = job + 1, 100000000
		w.run(job, "head -c 300000 /dev/zero; exec sleep 1000", timeout=str(timeout))
		while not fill(): # on a slow machine its time is over first
		    job, timeout = job + 1, timeout * 2
		    w.run(job, "head -c 300000 /dev/zero; exec sleep 1000", timeout=str(timeout))
		w.write(b"more %d 262144\n" % job)
		assert w.until("done")[1:3] == [job, 3]
		w.close()
	EOF
}

@test "a job is cancelled, out of time, or killed, as the dispatcher says" {
	talk <<-'EOF'
		for job, (how, outcome) in enumerate(((0, 5), (1, 3), (2, 5)), 1):
		    w.run(job, "trap '' TERM; echo; while :; do sleep 1000; done" if how == 2 else "echo; exec sleep 1000")
		    w.until("out")
		    w.write(b"stop %d %d\n" % (job, how))
		    assert w.until("done")[2] == outcome, how
		w.close()
	EOF
}

@test "the end of the line ends the jobs, and is an error" {
	talk <<-'EOF'
		w.run(1, "trap 'echo ended >ended; exit' TERM; echo; while :; do sleep 1000 & wait; done")
		pid = w.until("started")[2]
		w.until("out")
		assert w.close() == 255
		assert open("ended").read() == "ended\n"
		assert not lives(pid)
	EOF
	assert_contains "$stderr" 'the connection to the dispatcher has ended: the dispatcher has closed the connection'
}

@test "a signal ends the jobs, also one whose output nobody takes" {
	talk <<-'EOF'
		w.run(1, "cat /dev/zero")
		taken = 0
		while taken < 256 * 1024:
		    frame = w.read()
		    taken += len(frame[3]) if frame[0] == "out" else 0
		w.process.send_signal(signal.SIGTERM)
		assert w.until("bye")
		assert w.until("done")[2] == 5
		assert w.process.wait() == -signal.SIGTERM
	EOF
}

@test "a worker that is killed leaves no job" {
	talk <<-'EOF'
		w.run(1, "sleep 1000 & echo $!; wait")
		pids = [w.until("started")[2], int(w.until("out")[3])]
		w.process.kill()
		w.process.wait()
		for pid in pids:
		    while lives(pid):
		        pass
	EOF
}

@test "what is no frame, or of another version, ends the line with a reason" {
	talk <<-'EOF'
		w.write(b"nonsense 1 2\n")
		assert w.close() == 255
	EOF
	assert_contains "$stderr" 'the other side has sent a frame of an unknown type'
	run --separate-stderr "$FAIRPAR" --worker <<<'fairpar-worker 1 0123456789abcdef0123456789abcdef'
	assert_eq "$status" 255
	assert_contains "$stderr" 'speaks another version of the protocol; this fairpar speaks version 2'
	run --separate-stderr "$FAIRPAR" --worker <<<'ls'
	assert_contains "$stderr" 'the dispatcher is not a fairpar'
}

@test "a job that the worker does not understand ends the connection, and the worker" {
	talk <<-'EOF'
		w.run(1, "exec sleep 1000")
		w.until("started")
		w.run(2, "echo never", unknown="1")
		assert w.read() == ["end"]
		assert w.process.wait(30) == 255
	EOF
	assert_contains "$stderr" 'a field of the job is unknown'
}

@test "a worker that lacks a descriptor brakes until it may have one" {
	talk <<-'EOF'
		def limit(descriptors):
		    resource.prlimit(w.process.pid, resource.RLIMIT_NOFILE, (descriptors, before[1]))

		before = resource.prlimit(w.process.pid, resource.RLIMIT_NOFILE)
		used = {int(fd) for fd in os.listdir("/proc/%d/fd" % w.process.pid)}
		limit(min(fd for fd in range(1000) if fd not in used))
		w.run(1, "cat", has_input="")
		w.run(2, "cat", has_input="")
		assert w.read() == ["brake", 1, 0, b"the worker has no free thread or descriptor for a job"]
		assert [w.read()[:2] for _ in (1, 2)] == [["refuse", 1], ["refuse", 2]]
		limit(before[0])
		assert w.read() == ["brake", 0, 0, b""]
		w.run(3, "cat", has_input="")
		w.write(b"eof 3\n")
		assert w.until("done")[1:4] == [3, 0, 0]
		w.close()
	EOF
}

@test "a job more than there are slots is taken: the run counts them" {
	talk <<-'EOF'
		for job in (1, 2, 3):
		    w.run(job, "exec sleep 1000")
		    w.until("started")
		w.close()
	EOF
}

@test "the slots that runs in a job want beyond the job's own are requested one by one, lent for one job each, and given back" {
	make_fifo go.{1..3}
	talk <<-'EOF'
		fairpar = os.environ["FAIRPAR"]
		w.run(1, "exec '%s' -j3 'echo; read -r _ <go.{} #' ::: 1 2 3" % fairpar, has_input="")
		w.until("want")        # perhaps before `started`; the first runs on the job's own slot, and the worker has no third one
		w.write(b"lend 1\n")
		for n in (1, 2, 3):
		    open("go.%d" % n, "w").write("\n")
		frames = [w.read() for _ in range(2)]
		while frames[-1][0] != "done":
		    frames.append(w.read())
		names = [frame[0] for frame in frames]
		assert names.count("back") == 1 and frames[-1][2:4] == [0, 0], frames
		w.write(b"lend 1\n")  # crosses the end of the job
		w.run(2, "exit 3")
		assert w.until("done")[1:4] == [2, 1, 3]
		w.close()
	EOF
}

@test "a worker offers no more slots than it has descriptors for" {
	talk <<-'EOF'
		resource.setrlimit(resource.RLIMIT_NOFILE, (140, 140))
		assert Worker("-j100").greet()[2] == (140 - 24) // 6
		w.close()
	EOF
}

@test "a worker with -j auto refuses jobs beyond its slots, and takes them when its slots are free" {
	use_faults
	mkdir -p root/proc/pressure root/proc/self
	printf 'Cpus_allowed_list:\t0-1\n' >root/proc/self/status
	cat >beyond.py <<-'EOF'
		from line import *

		def pressure(total):
		    with open("root/new", "w") as file:
		        file.write("full avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n" % total)
		    os.rename("root/new", "root/proc/pressure/memory")

		pressure(0)
		w = Worker("-j", "auto:1-2")
		assert w.greet()[:3] == ["hello", 2, 2]
		w.run(1, "cat", has_input="")
		w.run(2, "cat", has_input="")
		assert {w.until("started")[1] for _ in (1, 2)} == {1, 2}
		pressure(60000000) # a minute, of the second that passes at most between two looks
		assert w.until("slots") == ["slots", 1, 5]
		w.run(3, "true")
		frame = w.read()
		while frame[0] == "slots":
		    frame = w.read()
		assert frame == ["refuse", 3, b"all slots are taken"], frame
		w.write(b"eof 1\neof 2\n")
		assert {w.until("done")[1] for _ in (1, 2)} == {1, 2}
		w.run(4, "true")
		assert w.until("done")[1:3] == [4, 0]
		w.close()
	EOF
	FAIRPAR_ROOT=$PWD/root run --separate-stderr python3 beyond.py
	[[ $status -eq 0 ]] || fail "$output$stderr"
}
