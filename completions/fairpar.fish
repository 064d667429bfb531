# fish completion for fairpar, made by: fairpar --completions fish

set -g __fairpar_valued -a --arg-file -d --delimiter -C --colsep --header --trim -E -e --eof --arg-sep --arg-file-sep -I -i --replace --er --extensionreplace --bnr --basenamereplace --dnr --dirnamereplace --bner --basenameextensionreplace --seqreplace --slotreplace -n --max-args --maxargs -N --max-replace-args --maxreplaceargs -L --lines -s --max-chars --maxchars --pack --batch --batch-by --weight --max-parallel --priority --fair --max-long --queue-mem --then --on-failure -f --manifest --block --block-size --blocksize --recend --recstart -j -P --jobs --max-procs --shell --timeout --retries --term-seq --termseq --nice --workdir --wd --work-dir --tmpdir --tempdir --process-slot-var --env --load --memfree --memsuspend --delay --tagstring --total-jobs --totaljobs --total --halt --halt-on-error --exit-status --trace-service --joblog --jl --log --results --result --res --from-log --report --trace --id --semaphore-name --semaphorename --semaphore-timeout --semaphoretimeout --st --completions
set -g __fairpar_manifests -f --manifest

# Walks over fairpar and its options, up to the cursor. Then the words behind them, its command, are printed; or
# with the argument "manifest" the file that -f names.
function __fairpar_walk
	set -l tokens (commandline -opc)
	set -l manifest
	set -e tokens[1]
	while set -q tokens[1]
		set -l option $tokens[1]
		set -l value
		switch $option
			case --
				set -e tokens[1]
				break
			case '--*=*'
				set value (string replace -r '^[^=]*=' '' -- $option)
				set option (string replace -r '=.*' '' -- $option)
			case '--*'
			case '-?*'
				# of bundled letters the first that takes a value has what follows it
				for i in (seq 2 (string length -- $option))
					set -l letter -(string sub -s $i -l 1 -- $option)
					if contains -- $letter $__fairpar_valued
						set value (string sub -s (math $i + 1) -- $option)
						set option $letter
						break
					end
				end
			case '*'
				break
		end
		set -e tokens[1]
		if test -z "$value"; and contains -- $option $__fairpar_valued
			set value $tokens[1]
			set -e tokens[1]
		end
		if contains -- $option $__fairpar_manifests
			set manifest $value
		end
	end
	if test "$argv[1]" = manifest
		string replace -r '^~/' "$HOME/" -- $manifest
	else if test (count $tokens) -gt 0
		string escape -- $tokens
	end
end

# Completes the command itself, then what it takes, after ::: and its kin files; with a manifest names of its batches.
# A fifo or stdin is not read for them: it would be lost for fairpar.
function __fairpar_complete
	set -l command (__fairpar_walk)
	set -l manifest (__fairpar_walk manifest)
	if test -n "$manifest"
		test -f $manifest; and fairpar -f $manifest --list=names 2>/dev/null
	else if string match -q -- ':::*' $command
		__fish_complete_path (commandline -ct)
	else if set -q command[1]; or not string match -q -- '-*' (commandline -ct)
		complete -C (string join ' ' -- $command (commandline -ct))
	end
end

function __fairpar_in_options
	test (count (__fairpar_walk)) -eq 0
end

complete -c fairpar -f
complete -c fairpar -a '(__fairpar_complete)'
complete -c fairpar -n __fairpar_in_options -s a -l arg-file -r -F -d 'read items from FILE (- is stdin)'
complete -c fairpar -n __fairpar_in_options -s 0 -l null -d 'items end with NUL, as find -print0 makes them'
complete -c fairpar -n __fairpar_in_options -s d -l delimiter -x -d 'items end with TEXT instead of newline'
complete -c fairpar -n __fairpar_in_options -s C -l colsep -x -d 'split items into columns {1}, {2} and so on'
complete -c fairpar -n __fairpar_in_options -l csv -d 'items are records of comma-separated values'
complete -c fairpar -n __fairpar_in_options -l header -x -a ': 0' -d 'the first item of each source names its columns'
complete -c fairpar -n __fairpar_in_options -l trim -x -a 'n l r lr rl' -d 'remove blanks at the left and right of items'
complete -c fairpar -n __fairpar_in_options -s E -s e -l eof -x -d 'an item that is STRING ends its source'
complete -c fairpar -n __fairpar_in_options -s r -l no-run-if-empty -d 'an item of nothing but blanks is none'
complete -c fairpar -n __fairpar_in_options -l skip-first-line -d 'the first line of the first source is no item'
complete -c fairpar -n __fairpar_in_options -l link -l xapply -d 'take one item of each source; do not multiply'
complete -c fairpar -n __fairpar_in_options -l shuf -d 'take the items in random order'
complete -c fairpar -n __fairpar_in_options -l arg-sep -x -d 'STRING begins the items in place of :::'
complete -c fairpar -n __fairpar_in_options -l arg-file-sep -x -d 'STRING begins the files of items in place of ::::'
complete -c fairpar -n __fairpar_in_options -l plus -d 'more of them: {..} {+.} {##} {%re} {/re/text} ...'
complete -c fairpar -n __fairpar_in_options -s I -s i -l replace -x -d 'S is the item, in place of {}'
complete -c fairpar -n __fairpar_in_options -l er -l extensionreplace -x -d 'S is the item without extension, in place of {.}'
complete -c fairpar -n __fairpar_in_options -l bnr -l basenamereplace -x -d 'S is the item without directory, in place of {/}'
complete -c fairpar -n __fairpar_in_options -l dnr -l dirnamereplace -x -d 'S is the directory of the item, in place of {//}'
complete -c fairpar -n __fairpar_in_options -l bner -l basenameextensionreplace -x -d 'S is the item without both, in place of {/.}'
complete -c fairpar -n __fairpar_in_options -l seqreplace -x -d 'S is the number of the job, in place of {#}'
complete -c fairpar -n __fairpar_in_options -l slotreplace -x -d 'S is the number of the slot, in place of {%}'
complete -c fairpar -n __fairpar_in_options -s q -l quote -d 'no word of the command means anything to a shell'
complete -c fairpar -n __fairpar_in_options -l shell-quote -l shellquote -d 'print the commands, quoted, and run nothing'
complete -c fairpar -n __fairpar_in_options -s n -l max-args -l maxargs -x -d 'at most N items for one command'
complete -c fairpar -n __fairpar_in_options -s N -l max-replace-args -l maxreplaceargs -x -d 'the same; {1} to {N} are the items'
complete -c fairpar -n __fairpar_in_options -s L -l lines -x -d 'the same; a line that ends with a blank goes on'
complete -c fairpar -n __fairpar_in_options -s l -l max-lines -l maxlines -d 'as --lines, but N is 1 if it is left out'
complete -c fairpar -n __fairpar_in_options -s X -l context -d 'as many items as fit; repeat the word around {}'
complete -c fairpar -n __fairpar_in_options -s m -l m -d 'as many items as fit, inserted as a list'
complete -c fairpar -n __fairpar_in_options -l xargs -d 'as --m, without the spread'
complete -c fairpar -n __fairpar_in_options -s s -l max-chars -l maxchars -x -d 'a command is shorter than N bytes (63664)'
complete -c fairpar -n __fairpar_in_options -l pack -x -a 'auto' -d 'as many items as a process does in 200 ms'
complete -c fairpar -n __fairpar_in_options -s x -l exit -d 'stop at an item that is too long'
complete -c fairpar -n __fairpar_in_options -l max-line-length-allowed -l maxlinelengthallowed -d 'print the length of the longest command line'
complete -c fairpar -n __fairpar_in_options -l show-limits -l showlimits -d 'print the limits, then go on'
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
complete -c fairpar -n __fairpar_in_options -s f -l manifest -r -k -a '(__fish_complete_suffix .yml; __fish_complete_suffix .yaml)' -d 'run the batches of a manifest, a YAML file'
complete -c fairpar -n __fairpar_in_options -l check -d 'with -f: check the manifest and run nothing'
complete -c fairpar -n __fairpar_in_options -l list -a 'names dot' -d 'with -f: list the batches and run nothing'
complete -c fairpar -n __fairpar_in_options -l schema -d 'print the JSON Schema of manifests, for editors'
complete -c fairpar -n __fairpar_in_options -l pipe -l spreadstdin -d 'cut stdin into blocks, one for each job\'s stdin'
complete -c fairpar -n __fairpar_in_options -l pipe-part -l pipepart -d 'the same with the file of --arg-file, much faster'
complete -c fairpar -n __fairpar_in_options -l block -l block-size -l blocksize -x -d 'size of a block (1M)'
complete -c fairpar -n __fairpar_in_options -l recend -x -d 'a record ends with TEXT (\\n)'
complete -c fairpar -n __fairpar_in_options -l recstart -x -d 'a record begins with TEXT'
complete -c fairpar -n __fairpar_in_options -l regexp -l regex -d '--recend and --recstart are regular expressions'
complete -c fairpar -n __fairpar_in_options -l remove-rec-sep -l removerecsep -l rrs -d 'remove --recend and --recstart from the data'
complete -c fairpar -n __fairpar_in_options -l round-robin -l roundrobin -l round -d 'with --pipe: deal the blocks out to running jobs'
complete -c fairpar -n __fairpar_in_options -l tee -d 'with --pipe: give all data to the job of each item'
complete -c fairpar -n __fairpar_in_options -l cat -d '{} is the name of a file that holds the block'
complete -c fairpar -n __fairpar_in_options -l fifo -d 'as --cat'
complete -c fairpar -n __fairpar_in_options -s j -s P -l jobs -l max-procs -r -F -d 'run N jobs at once (100%)'
complete -c fairpar -n __fairpar_in_options -l shell -x -a '(__fish_complete_command)' -d 'run commands with shell syntax by PROGRAM'
complete -c fairpar -n __fairpar_in_options -l timeout -x -d 'end a job that takes longer than TIME'
complete -c fairpar -n __fairpar_in_options -l retries -x -d 'try a failing job up to N times in all'
complete -c fairpar -n __fairpar_in_options -l term-seq -l termseq -x -d 'signals that end a job, and pauses in ms'
complete -c fairpar -n __fairpar_in_options -l nice -x -d 'run jobs at a niceness that is N higher'
complete -c fairpar -n __fairpar_in_options -l dry-run -l dryrun -d 'print the commands, in order, and run nothing'
complete -c fairpar -n __fairpar_in_options -s t -l verbose -d 'print each command on stderr as it starts'
complete -c fairpar -n __fairpar_in_options -s v -l show-command -d 'print each command on stdout, before its output'
complete -c fairpar -n __fairpar_in_options -l workdir -l wd -l work-dir -r -F -d 'run jobs in DIR, which is made if it is missing'
complete -c fairpar -n __fairpar_in_options -l tmpdir -l tempdir -r -F -d 'temporary files in DIR; also $TMPDIR of the jobs'
complete -c fairpar -n __fairpar_in_options -l process-slot-var -x -d 'the slot\'s number, from 0, in variable NAME'
complete -c fairpar -n __fairpar_in_options -l env -x -d 'nothing to change: jobs have the environment'
complete -c fairpar -n __fairpar_in_options -l load -r -F -d 'start jobs only while the load is below MAX'
complete -c fairpar -n __fairpar_in_options -l memfree -x -d 'start jobs only while SIZE of memory is available'
complete -c fairpar -n __fairpar_in_options -l memsuspend -x -d 'stop young jobs while less than 2 SIZE is available'
complete -c fairpar -n __fairpar_in_options -l noswap -d 'start no jobs while the machine is swapping'
complete -c fairpar -n __fairpar_in_options -l delay -x -d 'let TIME pass between the starts of two jobs'
complete -c fairpar -n __fairpar_in_options -s p -l interactive -d 'ask on the terminal before each job starts'
complete -c fairpar -n __fairpar_in_options -s o -l tty -l open-tty -d 'give each job the terminal; one job at a time'
complete -c fairpar -n __fairpar_in_options -l group -d 'output of a job comes when it ends (default)'
complete -c fairpar -n __fairpar_in_options -l line-buffer -l lb -l linebuffer -d 'output comes line by line'
complete -c fairpar -n __fairpar_in_options -s u -l ungroup -d 'jobs write directly; output may mix'
complete -c fairpar -n __fairpar_in_options -s k -l keep-order -d 'output in the order of the input, in each batch'
complete -c fairpar -n __fairpar_in_options -l no-keep-order -l nokeeporder -l nok -l no-k -d 'output as jobs end, whatever --keep-order says'
complete -c fairpar -n __fairpar_in_options -l tag -d 'begin each line with the item and a tab'
complete -c fairpar -n __fairpar_in_options -l tagstring -x -d 'begin each line with TEMPLATE and a tab'
complete -c fairpar -n __fairpar_in_options -l color-failed -l cf -d 'the output of failed jobs is white on red'
complete -c fairpar -n __fairpar_in_options -l progress -a 'auto tty plain none' -d 'how to show what is done: auto, tty, plain, none'
complete -c fairpar -n __fairpar_in_options -l bar -d 'show it as a bar'
complete -c fairpar -n __fairpar_in_options -l eta -r -F -d 'show the time that is left, and the mean of a job'
complete -c fairpar -n __fairpar_in_options -l total-jobs -l totaljobs -l total -x -d 'the input has N items, for --bar and --eta'
complete -c fairpar -n __fairpar_in_options -l latest-line -l latestline -l ll -d 'show the latest line of each job, nothing else'
complete -c fairpar -n __fairpar_in_options -l halt -l halt-on-error -x -a 'never now,fail=1 soon,fail=1 now,success=1 soon,success=1 now,done=1 soon,done=1' -d 'when to stop: never, or as now,fail=1'
complete -c fairpar -n __fairpar_in_options -l exit-status -x -a 'gnu xargs first max any' -d 'what the exit status says (gnu)'
complete -c fairpar -n __fairpar_in_options -l quiet -d 'no summary of failures, and fewer warnings'
complete -c fairpar -n __fairpar_in_options -l trace-service -r -F -d 'log which batch was served when, as JSON lines'
complete -c fairpar -n __fairpar_in_options -l joblog -l jl -r -F -d 'write a row for each job that has ended'
complete -c fairpar -n __fairpar_in_options -l resume -d 'leave out the jobs that the joblog has'
complete -c fairpar -n __fairpar_in_options -l resume-failed -l resumefailed -d 'the same, but run those that failed again'
complete -c fairpar -n __fairpar_in_options -l retry-failed -l retryfailed -d 'run what failed again, as the joblog has it'
complete -c fairpar -n __fairpar_in_options -l log -r -F -d 'write what happens in the run as JSON lines'
complete -c fairpar -n __fairpar_in_options -l log-output -d 'write what jobs write to the log, too'
complete -c fairpar -n __fairpar_in_options -l results -l result -l res -r -F -d 'keep the output in files, or in a table'
complete -c fairpar -n __fairpar_in_options -l files -l output-as-files -l outputasfiles -d 'keep stdout in files and print their names'
complete -c fairpar -n __fairpar_in_options -l files0 -d 'the same, with a NUL behind each name'
complete -c fairpar -n __fairpar_in_options -l summary -a 'auto always never' -d 'print a summary at the end: auto, always, never'
complete -c fairpar -n __fairpar_in_options -l from-log -r -F -d 'run nothing: print the summary of a run\'s log'
complete -c fairpar -n __fairpar_in_options -l report -r -F -d 'draw the run, at its end: FILE.html or FILE.svg'
complete -c fairpar -n __fairpar_in_options -l trace -r -F -d 'write the run as a trace for Perfetto or speedscope'
complete -c fairpar -n __fairpar_in_options -l explain -d 'say why jobs run when and where they do'
complete -c fairpar -n __fairpar_in_options -l semaphore -d 'wait until less than -j (1) run, then run COMMAND'
complete -c fairpar -n __fairpar_in_options -l id -l semaphore-name -l semaphorename -x -d 'the semaphore\'s name, else that of the terminal'
complete -c fairpar -n __fairpar_in_options -l fg -d 'wait for the command, and exit with its status'
complete -c fairpar -n __fairpar_in_options -l bg -d 'exit when the command has been started (default)'
complete -c fairpar -n __fairpar_in_options -l wait -d 'wait for all commands of the semaphore'
complete -c fairpar -n __fairpar_in_options -l semaphore-timeout -l semaphoretimeout -l st -x -d 'take it by force after SECS; below 0: give up'
complete -c fairpar -n __fairpar_in_options -s h -l help -a 'input replacement packing batches manifest pipe jobs start output status outcome log report semaphore about' -d 'all options; -h: those of every day'
complete -c fairpar -n __fairpar_in_options -s V -l version -d 'print the version'
complete -c fairpar -n __fairpar_in_options -l completions -x -a 'bash zsh fish' -d 'print the completion script for SHELL'
complete -c fairpar -n __fairpar_in_options -l will-cite -l no-notice -l gnu -l compress -l silent -d 'taken for GNU parallel\'s sake, without effect'
complete -c fairpar -n __fairpar_in_options -l plain -d 'do not warn of options for GNU parallel'
complete -c fairpar -n __fairpar_in_options -l citation -l bibtex -d 'the same, and ends'
