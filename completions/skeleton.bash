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
@OPTIONS@
	' valued='@VALUED@ ' manifests='@MANIFESTS@ '
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
@VALUES@
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
