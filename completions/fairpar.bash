# bash completion for fairpar, made by: fairpar --completions bash

_fairpar_files() {
	compopt -o filenames 2>/dev/null # fails when called by hand
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_fairpar_manifests() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -X '!*.yaml' -- "$1"; compgen -f -X '!*.yml' -- "$1")
	if [[ -n ${COMPREPLY[*]} ]]; then
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$1")
	else
		_fairpar_files "$1"
	fi
}

# The names of the batches in a manifest. A fifo or stdin is not read: it would be lost for fairpar.
_fairpar_batches() {
	local file=${1//[\\\"\']/} program=${COMP_WORDS[0]} name
	file=${file/#\~\//$HOME/}
	COMPREPLY=()
	[[ -f $file ]] || return
	while IFS= read -r name; do
		if [[ $name == "$2"* ]]; then
			COMPREPLY+=("$(printf %q "$name")")
		fi
	done < <("${program/#\~\//$HOME/}" -f "$file" --list=names 2>/dev/null)
}

_fairpar_commands() {
	if [[ $1 == */* ]]; then
		_fairpar_files "$1"
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$1" | sort -u)
	fi
}

_fairpar() {
	local options='
		-a --arg-file
		-0 --null
		-d --delimiter
		-C --colsep
		--csv
		--header
		--trim
		-E -e --eof
		-r --no-run-if-empty
		--skip-first-line
		--link --xapply
		--shuf
		--arg-sep
		--arg-file-sep
		--plus
		-I -i --replace
		--er --extensionreplace
		--bnr --basenamereplace
		--dnr --dirnamereplace
		--bner --basenameextensionreplace
		--seqreplace
		--slotreplace
		-q --quote
		--shell-quote --shellquote
		-n --max-args --maxargs
		-N --max-replace-args --maxreplaceargs
		-L --lines
		-l --max-lines --maxlines
		-X --context
		-m --m
		--xargs
		-s --max-chars --maxchars
		--pack
		-x --exit
		--max-line-length-allowed --maxlinelengthallowed
		--show-limits --showlimits
		--batch
		--batch-by
		--weight
		--max-parallel
		--priority
		--fair
		--long-running
		--max-long
		--prefer-fairness
		--queue-mem
		--then
		--on-failure
		-f --manifest
		--check
		--list
		--schema
		--pipe --spreadstdin
		--pipe-part --pipepart
		--block --block-size --blocksize
		--recend
		--recstart
		--regexp --regex
		--remove-rec-sep --removerecsep --rrs
		--round-robin --roundrobin --round
		--tee
		--cat
		--fifo
		-j -P --jobs --max-procs
		--shell
		--timeout
		--retries
		--term-seq --termseq
		--nice
		--dry-run --dryrun
		-t --verbose
		-v --show-command
		--workdir --wd --work-dir
		--tmpdir --tempdir
		--process-slot-var
		--env
		--load
		--memfree
		--memsuspend
		--noswap
		--delay
		-p --interactive
		-o --tty --open-tty
		--group
		--line-buffer --lb --linebuffer
		-u --ungroup
		-k --keep-order
		--no-keep-order --nokeeporder --nok --no-k
		--tag
		--tagstring
		--color-failed --cf
		--progress
		--bar
		--eta
		--total-jobs --totaljobs --total
		--latest-line --latestline --ll
		--halt --halt-on-error
		--exit-status
		--quiet
		--trace-service
		--joblog --jl
		--resume
		--resume-failed --resumefailed
		--retry-failed --retryfailed
		--log
		--log-output
		--results --result --res
		--files --output-as-files --outputasfiles
		--files0
		--summary
		--from-log
		--report
		--trace
		--explain
		--semaphore
		--id --semaphore-name --semaphorename
		--fg
		--bg
		--wait
		--semaphore-timeout --semaphoretimeout --st
		-h --help
		-V --version
		--completions
		--will-cite --no-notice --gnu --compress --silent
		--plain
		--citation --bibtex
	' valued=' -a --arg-file -d --delimiter -C --colsep --header --trim -E -e --eof --arg-sep --arg-file-sep -I -i --replace --er --extensionreplace --bnr --basenamereplace --dnr --dirnamereplace --bner --basenameextensionreplace --seqreplace --slotreplace -n --max-args --maxargs -N --max-replace-args --maxreplaceargs -L --lines -s --max-chars --maxchars --pack --batch --batch-by --weight --max-parallel --priority --fair --max-long --queue-mem --then --on-failure -f --manifest --block --block-size --blocksize --recend --recstart -j -P --jobs --max-procs --shell --timeout --retries --term-seq --termseq --nice --workdir --wd --work-dir --tmpdir --tempdir --process-slot-var --env --load --memfree --memsuspend --delay --tagstring --total-jobs --totaljobs --total --halt --halt-on-error --exit-status --trace-service --joblog --jl --log --results --result --res --from-log --report --trace --id --semaphore-name --semaphorename --semaphore-timeout --semaphoretimeout --st --completions ' manifests=' -f --manifest '
	local cur=${COMP_WORDS[COMP_CWORD]} i=1 command=0 want='' manifest='' word rest
	while ((i < COMP_CWORD)); do
		word=${COMP_WORDS[i]}
		if [[ -n $want ]]; then
			if [[ $word != = && ${COMP_WORDS[i + 1]} != = ]]; then
				[[ $manifests != *" $want "* ]] || manifest=$word
				want=
			fi
		elif [[ $word == -- ]]; then
			command=$((i + 1))
			break
		elif [[ $word == --* ]]; then
			if [[ ${COMP_WORDS[i + 1]} == = || $valued == *" $word "* ]]; then
				want=$word
			fi
		elif [[ $word == -?* ]]; then
			for ((rest = 1; rest < ${#word}; rest++)); do
				if [[ $valued == *" -${word:rest:1} "* ]]; then
					if ((rest == ${#word} - 1)); then
						want=-${word:rest:1}
					elif [[ $manifests == *" -${word:rest:1} "* ]]; then
						manifest=${word:rest + 1}
					fi
					break
				fi
			done
		else
			command=$i
			break
		fi
		((i++))
	done
	if [[ -n $want && $cur == = ]]; then
		cur=
	fi
	case $want in
	'') ;;
	-a | --arg-file)
		_fairpar_files "$cur"
		return
		;;
	--header)
		mapfile -t COMPREPLY < <(compgen -W ': 0' -- "$cur")
		return
		;;
	--trim)
		mapfile -t COMPREPLY < <(compgen -W 'n l r lr rl' -- "$cur")
		return
		;;
	--pack)
		mapfile -t COMPREPLY < <(compgen -W 'auto' -- "$cur")
		return
		;;
	--batch)
		_fairpar_files "$cur"
		return
		;;
	--fair)
		mapfile -t COMPREPLY < <(compgen -W 'turns time' -- "$cur")
		return
		;;
	--then)
		_fairpar_commands "$cur"
		return
		;;
	--on-failure)
		_fairpar_commands "$cur"
		return
		;;
	-f | --manifest)
		_fairpar_manifests "$cur"
		return
		;;
	--list)
		mapfile -t COMPREPLY < <(compgen -W 'names dot' -- "$cur")
		return
		;;
	-j | -P | --jobs | --max-procs)
		_fairpar_files "$cur"
		return
		;;
	--shell)
		_fairpar_commands "$cur"
		return
		;;
	--workdir | --wd | --work-dir)
		_fairpar_files "$cur"
		return
		;;
	--tmpdir | --tempdir)
		_fairpar_files "$cur"
		return
		;;
	--load)
		_fairpar_files "$cur"
		return
		;;
	--progress)
		mapfile -t COMPREPLY < <(compgen -W 'auto tty plain none' -- "$cur")
		return
		;;
	--eta)
		_fairpar_files "$cur"
		return
		;;
	--halt | --halt-on-error)
		mapfile -t COMPREPLY < <(compgen -W 'never now,fail=1 soon,fail=1 now,success=1 soon,success=1 now,done=1 soon,done=1' -- "$cur")
		return
		;;
	--exit-status)
		mapfile -t COMPREPLY < <(compgen -W 'gnu xargs first max any' -- "$cur")
		return
		;;
	--trace-service)
		_fairpar_files "$cur"
		return
		;;
	--joblog | --jl)
		_fairpar_files "$cur"
		return
		;;
	--log)
		_fairpar_files "$cur"
		return
		;;
	--results | --result | --res)
		_fairpar_files "$cur"
		return
		;;
	--summary)
		mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur")
		return
		;;
	--from-log)
		_fairpar_files "$cur"
		return
		;;
	--report)
		_fairpar_files "$cur"
		return
		;;
	--trace)
		_fairpar_files "$cur"
		return
		;;
	-h | --help)
		mapfile -t COMPREPLY < <(compgen -W 'input replacement packing batches manifest pipe jobs start output status outcome log report semaphore about' -- "$cur")
		return
		;;
	--completions)
		mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- "$cur")
		return
		;;
	*)
		return
		;;
	esac
	if [[ -n $manifest && ($command != 0 || $cur != -*) ]]; then
		_fairpar_batches "$manifest" "$cur"
	elif ((command > 0 && command < COMP_CWORD)); then
		if [[ " ${COMP_WORDS[*]:command:COMP_CWORD-command} " != *' :::'* ]] && declare -F _command_offset >/dev/null; then
			_command_offset "$command"
		else
			_fairpar_files "$cur"
		fi
	elif ((command == 0)) && [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
	else
		_fairpar_commands "$cur"
	fi
} && complete -F _fairpar fairpar
