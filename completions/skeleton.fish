# fish completion for fairpar, made by: fairpar --completions fish

set -g __fairpar_valued@VALUED@
set -g __fairpar_manifests@MANIFESTS@

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
			case -
				break
			case '--*=*'
				set value (string replace -r '^[^=]*=' '' -- $option)
				set option (string replace -r '=.*' '' -- $option)
			case '--*'
			case '-*' # fish 4 has no ? that stands for a character
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
		complete --do-complete=(string join ' ' -- $command (commandline -ct))
	end
end

function __fairpar_in_options
	test (count (__fairpar_walk)) -eq 0
end

complete -c fairpar -f
complete -c fairpar -a '(__fairpar_complete)'
@OPTIONS@
