#compdef fairpar
# zsh completion for fairpar, made by: fairpar --completions zsh

# the value of --batch: NAME or NAME=FILE
_fairpar_named() {
	if compset -P '*='; then
		_files
	else
		_message NAME=FILE
	fi
}

# the names of the batches in the manifest, if there is one; a fifo or stdin is not read: it would be lost for fairpar
_fairpar_batches() {
	local manifest=${opt_args[-f]:-${opt_args[--manifest]}} expl
	local -a names
	[[ -n $manifest ]] || return
	manifest=${(Q)${(Q)manifest}}
	manifest=${manifest/#\~\//$HOME/}
	if [[ -f $manifest ]]; then
		names=(${(f)"$(_call_program batches fairpar -f ${(q)manifest} --list=names 2>/dev/null)"})
	fi
	_wanted batches expl batch compadd -a names
	return 0
}

_fairpar_first() {
	_fairpar_batches || _command_names -e
}

# what follows the command: after ::: and its kin items, before that what the command takes
_fairpar_rest() {
	if _fairpar_batches; then
		return
	elif ((${words[(I):::*]})); then
		_files
	else
		_normal
	fi
}

_fairpar() {
	_arguments -s -S -A '-*' : \
@OPTIONS@
		'(-):command:_fairpar_first' \
		'*::argument:_fairpar_rest'
}

_fairpar "$@"
