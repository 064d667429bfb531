# fish completion for fairpar, made by: fairpar --completions fish

set -g __fairpar_valued -a --arg-file -d --delimiter -C --colsep --header --batch --batch-by --weight --max-parallel --priority --fair --max-long --queue-mem --then --on-failure -j -P --jobs --max-procs --shell --timeout --retries --delay --term-seq --termseq --nice --tagstring --halt --halt-on-error --exit-status --trace-service --completions

# The words after fairpar and its options: its command, up to the cursor.
function __fairpar_command
	set -l tokens (commandline -opc)
	set -e tokens[1]
	while set -q tokens[1]
		switch $tokens[1]
			case --
				set -e tokens[1]
				break
			case '-?*'
				if contains -- $tokens[1] $__fairpar_valued
					set -e tokens[1]
				end
				set -e tokens[1]
			case '*'
				break
		end
	end
	test (count $tokens) -gt 0; and string escape -- $tokens
end

# Completes the command itself, then what it takes, after ::: and its kin files.
function __fairpar_complete
	set -l command (__fairpar_command)
	if string match -q -- ':::*' $command
		__fish_complete_path (commandline -ct)
	else
		complete -C (string join ' ' -- $command (commandline -ct))
	end
end

function __fairpar_in_options
	test (count (__fairpar_command)) -eq 0
end

complete -c fairpar -f
complete -c fairpar -a '(__fairpar_complete)'
complete -c fairpar -n __fairpar_in_options -s a -l arg-file -r -F -d 'read items from FILE (- is stdin)'
complete -c fairpar -n __fairpar_in_options -s 0 -l null -d 'items end with NUL, as find -print0 makes them'
complete -c fairpar -n __fairpar_in_options -s d -l delimiter -x -d 'items end with CHAR instead of newline'
complete -c fairpar -n __fairpar_in_options -s C -l colsep -x -d 'split items into columns {1}, {2} and so on'
complete -c fairpar -n __fairpar_in_options -l header -x -a ':' -d 'the first item of each source names its columns'
complete -c fairpar -n __fairpar_in_options -s r -l no-run-if-empty -d 'nothing to change: no item, no job'
complete -c fairpar -n __fairpar_in_options -l batch -r -F -d 'name this input\'s batch, or add one from FILE'
complete -c fairpar -n __fairpar_in_options -l batch-by -x -d 'put each item into the batch that TEMPLATE names'
complete -c fairpar -n __fairpar_in_options -l weight -x -d 'N turns in each round for batch B (1)'
complete -c fairpar -n __fairpar_in_options -l max-parallel -x -d 'run at most N jobs of batch B at once'
complete -c fairpar -n __fairpar_in_options -l priority -x -d 'serve batch B before those of lower priority (0)'
complete -c fairpar -n __fairpar_in_options -l fair -x -a 'turns time' -d 'share turns (default) or time'
complete -c fairpar -n __fairpar_in_options -l long-running -d 'jobs of batch B (all) run beside the slots'
complete -c fairpar -n __fairpar_in_options -l max-long -x -d 'run at most N long-running jobs at once (64)'
complete -c fairpar -n __fairpar_in_options -l prefer-fairness -d 'work from jobs of batch B (all) queues at the end'
complete -c fairpar -n __fairpar_in_options -l queue-mem -x -d 'queued items in memory; more go to disk (64M)'
complete -c fairpar -n __fairpar_in_options -l then -x -a '(__fish_complete_command)' -d 'when a job has succeeded, run COMMAND for its item'
complete -c fairpar -n __fairpar_in_options -l on-failure -x -a '(__fish_complete_command)' -d 'when a job has failed, run COMMAND for its item'
complete -c fairpar -n __fairpar_in_options -s j -s P -l jobs -l max-procs -r -F -d 'run N jobs at once (100%)'
complete -c fairpar -n __fairpar_in_options -l shell -x -a '(__fish_complete_command)' -d 'run commands with shell syntax by PROGRAM'
complete -c fairpar -n __fairpar_in_options -l timeout -x -d 'end a job that takes longer than TIME'
complete -c fairpar -n __fairpar_in_options -l retries -x -d 'try a failing job up to N times in all'
complete -c fairpar -n __fairpar_in_options -l delay -x -d 'let TIME pass between the starts of two jobs'
complete -c fairpar -n __fairpar_in_options -l term-seq -l termseq -x -d 'signals that end a job, and pauses in ms'
complete -c fairpar -n __fairpar_in_options -l nice -x -d 'run jobs at a niceness that is N higher'
complete -c fairpar -n __fairpar_in_options -l dry-run -l dryrun -d 'print the commands, in order, and run nothing'
complete -c fairpar -n __fairpar_in_options -s t -l verbose -d 'print each command on stderr as it starts'
complete -c fairpar -n __fairpar_in_options -l group -d 'output of a job comes when it ends (default)'
complete -c fairpar -n __fairpar_in_options -l line-buffer -l lb -l linebuffer -d 'output comes line by line'
complete -c fairpar -n __fairpar_in_options -s u -l ungroup -d 'jobs write directly; output may mix'
complete -c fairpar -n __fairpar_in_options -s k -l keep-order -d 'output in the order of the input, in each batch'
complete -c fairpar -n __fairpar_in_options -l tag -d 'begin each line with the item and a tab'
complete -c fairpar -n __fairpar_in_options -l tagstring -x -d 'begin each line with TEMPLATE and a tab'
complete -c fairpar -n __fairpar_in_options -l halt -l halt-on-error -x -a 'never now,fail=1 soon,fail=1 now,success=1 soon,success=1 now,done=1 soon,done=1' -d 'when to stop: never, or as now,fail=1'
complete -c fairpar -n __fairpar_in_options -l exit-status -x -a 'gnu xargs first max any' -d 'what the exit status says (gnu)'
complete -c fairpar -n __fairpar_in_options -l quiet -d 'no summary of failures, and fewer warnings'
complete -c fairpar -n __fairpar_in_options -l trace-service -r -F -d 'log which batch was served when, as JSON lines'
complete -c fairpar -n __fairpar_in_options -s h -l help -d 'this help: -h in short, --help in full'
complete -c fairpar -n __fairpar_in_options -s V -l version -d 'print the version'
complete -c fairpar -n __fairpar_in_options -l completions -x -a 'bash zsh fish' -d 'print the completion script for SHELL'
complete -c fairpar -n __fairpar_in_options -l will-cite -l no-notice -l gnu -d 'taken for GNU parallel\'s sake, without effect'
complete -c fairpar -n __fairpar_in_options -l citation -d 'the same, and ends'
