# SPDX-License-Identifier: GPL-2.0-only
# Completion of blklat(8) for bash. tests/package/test_completion.py holds it against the program's --help.

# Devices that have a size, as 'blklat list' shows them.
_blklat_devices()
{
	local dir size path
	local -a paths

	if [[ $cur == /* || $cur == .* ]]; then
		_filedir
		for path in "${COMPREPLY[@]}"; do
			[[ -b $path || -d $path ]] && paths+=("$path")
		done
		COMPREPLY=("${paths[@]}")
		return
	fi
	for dir in /sys/class/block/*; do
		{ read -r size <"$dir/size"; } 2>/dev/null
		[[ ${size:-0} == 0 ]] || COMPREPLY+=("${dir##*/}")
	done
	for dir in /dev/mapper/*; do
		[[ -b $dir ]] && COMPREPLY+=("${dir##*/}")
	done
	COMPREPLY=($(compgen -W "all ${COMPREPLY[*]}" -- "$cur"))
}

# One of the words, or several with commas between, none twice.
_blklat_list()
{
	local before= word left=

	[[ $cur == *,* ]] && before=${cur%,*},
	for word in $1; do
		[[ ,$before == *,$word,* ]] || left+=" $word"
	done
	COMPREPLY=($(compgen -P "$before" -W "$left" -- "${cur##*,}"))
}

# Returns 1 when the word before takes no value.
_blklat_value()
{
	case $1:$prev in
	*:--dev | live:-d | top:-d | record:-d | serve:-d)
		_blklat_devices ;;
	live:--format | live:-f | record:--format | record:-f)
		COMPREPLY=($(compgen -W 'text json csv' -- "$cur")) ;;
	report:--format | report:-f)
		COMPREPLY=($(compgen -W 'html json text' -- "$cur")) ;;
	compare:--format | compare:-f)
		COMPREPLY=($(compgen -W 'text json markdown' -- "$cur")) ;;
	export:--format | export:-f)
		COMPREPLY=($(compgen -W 'csv hlog' -- "$cur")) ;;
	list:--format | list:-f | check:--format | check:-f)
		COMPREPLY=($(compgen -W 'text json' -- "$cur")) ;;
	*:--engine)
		COMPREPLY=($(compgen -W 'auto bpf kmod' -- "$cur")) ;;
	*:--stage | live:-s | top:-s | record:-s | serve:-s)
		_blklat_list 'device queue total wait' ;;
	*:--scale)
		COMPREPLY=($(compgen -W 'auto 0 1 2 3 4 5 6' -- "$cur")) ;;
	*:--by)
		COMPREPLY=($(compgen -W 'size flags depth beside cgroup process priority operation' -- "$cur")) ;;
	*:--prom-schema)
		COMPREPLY=($(compgen -W '0 1 2 3 4 5 6' -- "$cur")) ;;
	*:--phases)
		COMPREPLY=($(compgen -W 'marks auto' -- "$cur")) ;;
	*:--user)
		COMPREPLY=($(compgen -u -- "$cur")) ;;
	*:--otlp)
		COMPREPLY=($(compgen -W 'http://127.0.0.1:4318' -- "$cur")) ;;
	*:--listen)
		COMPREPLY=($(compgen -W '127.0.0.1:9834 [::1]:9834 :9834 none' -- "$cur")) ;;
	*:--config | *:--otlp-ca | *:--otlp-headers | *:--output | *:-o | *:--replay | *:--web-config)
		_filedir ;;
	*:--sysroot | *:--record | *:--kubernetes)
		_filedir -d ;;
	*:--at | *:--count | *:--duration | *:--fail-if | *:--from | *:--history | *:--idle-gap | *:--interval | *:--keep | *:--keep-if | *:--keep-size | *:--label | \
	*:--map | *:--otlp-interval | *:--max-bios | *:--max-memory | *:--max-parts | *:--max-size | *:--percentiles | *:--slow | *:--slow-max | *:--steady-from | *:--to | *:--top | \
	*:-c | *:-i | *:-p)
		;;
	*)
		return 1 ;;
	esac
	return 0
}

_blklat_options()
{
	local capture='--dev --engine --interval --kubernetes --max-bios --max-memory --replay --scale --stage'
	local run="$capture --bins --by --count --duration --format --idle-gap --max-parts --no-owners --percentiles --slow --slow-max --top"

	case $1 in
	live) echo "$run" ;;
	top) echo "$capture --by --count --duration --max-parts --no-owners --slow --slow-max" ;;
	record) echo "$run --label --max-size --output --overwrite --quiet" ;;
	serve) echo "$capture --bins --by --config --history --keep --keep-if --keep-size --listen --max-parts --no-owners --otlp --otlp-ca --otlp-headers --otlp-interval --prom-schema --record --slow --slow-max --user --web-config" ;;
	mark) echo '--at' ;;
	report) echo '--format --from --max-memory --output --phases --steady-from --to' ;;
	compare) echo '--baseline --fail-if --format --from --map --max-memory --phases --to' ;;
	export) echo '--format --percentiles' ;;
	list) echo '--all --format --sysroot' ;;
	check) echo '--by --config --dev --format --max-memory --max-parts --stage --sysroot' ;;
	esac
	echo '--help --usage --version'
}

# Sets COMPREPLY for the words of the caller.
_blklat_complete()
{
	local i
	local commands='live top record mark serve report compare export list check'
	# Without a command it is live.
	local command=live

	if ((cword == 1)) && [[ $cur != -* ]]; then
		COMPREPLY=($(compgen -W "$commands help" -- "$cur"))
		return
	fi
	if [[ ${words[1]} == help ]]; then
		((cword > 2)) || COMPREPLY=($(compgen -W "$commands" -- "$cur"))
		return
	fi
	[[ ${words[1]} == -* ]] || command=${words[1]}
	for ((i = 2; i < cword; i++)); do
		# What follows is another program's.
		if [[ $command == record && ${words[i]} == -- ]]; then
			_command_offset $((i + 1))
			return
		fi
	done
	_blklat_value "$command" && return
	$split && return
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(_blklat_options "$command")" -- "$cur"))
		return
	fi
	case $command in
	live | top | record | serve | check) _blklat_devices ;;
	mark | report | compare | export) _filedir ;;
	esac
}

_blklat()
{
	local cur prev words cword split

	# Colons stand in addresses and in paths of devices.
	_init_completion -s -n : || return
	_blklat_complete
	__ltrim_colon_completions "$cur"
} && complete -F _blklat blklat
