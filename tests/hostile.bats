# Workers that do not do what fairpar-worker(7) asks of them: of another machine a run believes what it says of its own jobs, and
# nothing else. tests/tools/hostile-worker is the machine.

load helper

setup() {
	helper_setup
	evil=$(plain_path "$BATS_TEST_DIRNAME/tools/hostile-worker")
}

# hostile [STATUS] MODE ARGUMENT …: a run on such a machine.
hostile() {
	run_fairpar "$1" --launch "$evil $2 {}" "${@:3}" </dev/null
}

@test "an end of a job whose numbers deny each other breaks the connection" {
	for how in 0,1,0 0,0,9 1,0,0 1,1,9 2,0,0 2,1,9 4,0,0 4,126,9 4,126,0; do
		hostile any "done=$how" --at-most-once --joblog log true ::: 1
		assert_contains "$stderr" 'the connection is lost: it has sent an end of a job that cannot be'
		assert_eq "$(tail -n 1 log | cut -f 7,8)" $'0\t9'
	done
	hostile 1 done=1,3,0 --joblog log true ::: 1
	assert_eq "$(tail -n 1 log | cut -f 7,8)" $'3\t0'
}
