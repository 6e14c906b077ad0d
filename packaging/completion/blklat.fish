# SPDX-License-Identifier: GPL-2.0-only
# Completion of blklat(8) for fish: commands and options as the program's --help has them.

# Devices that have a size, as 'blklat list' shows them.
function __blklat_devices
	if string match -q '/*' -- $argv[1]
		for path in (__fish_complete_path $argv[1] | string replace -r '\t.*' '')
			test -b $path -o -d $path; and echo $path
		end
		return
	end
	for file in /sys/class/block/*/size
		test (cat $file 2>/dev/null; or echo 0) = 0; or string replace -r '.*/(.*)/size' '$1' $file
	end
	for path in /dev/mapper/*
		test -b $path; and path basename $path
	end
	echo all
end

# What an option's value may be.
function __blklat_values -a command option value
	switch "$command $option"
		case '* --dev'
			__blklat_devices $value
		case 'live --format' 'record --format'
			printf '%s\n' text json csv
		case 'report --format'
			printf '%s\n' html json text
		case 'compare --format'
			printf '%s\n' text json markdown
		case 'export --format'
			printf '%s\n' csv hlog
		case '* --format'
			printf '%s\n' text json
		case '* --engine'
			printf '%s\n' auto bpf kmod
		case '* --stage'
			set -l before (string match -r '.*,' -- $value)
			for stage in device queue total wait
				contains $stage (string split , -- $value); or echo "$before$stage"
			end
		case '* --scale'
			printf '%s\n' auto (seq 0 6)
		case '* --by'
			printf '%s\n' size flags depth beside cgroup process
		case '* --prom-schema'
			seq 0 6
		case '* --phases'
			printf '%s\n' marks auto
		case '* --user'
			__fish_complete_users
		case '* --otlp'
			echo http://127.0.0.1:4318
		case '* --listen'
			printf '%s\n' 127.0.0.1:9834 '[::1]:9834' :9834 none
		case '* --config' '* --otlp-ca' '* --otlp-headers' '* --output' '* --replay' '* --web-config'
			__fish_complete_path $value
		case '* --sysroot' '* --record' '* --kubernetes'
			__fish_complete_directories $value ''
	end
end

function __blklat
	set -l words (commandline -opc)[2..]
	set -l current (commandline -ct)
	set -l commands (blklat --help | string replace -rf '^  (\w+) {2,}(.*)' '$1\t$2')
	# Without a command it is live.
	set -l command live
	if set -q words[1]
		if test $words[1] = help
			set -q words[2]; or printf '%s\n' $commands
			return
		end
		contains -- $words[1] (string replace -r '\t.*' '' $commands); and set command $words[1]
	else if not string match -q -- '-*' $current
		printf '%s\n' $commands help
		return
	end
	if test $command = record; and set -l at (contains -i -- -- $words)
		# What follows is another program's.
		complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..]) $current)
		return
	end
	set -l help (blklat $command --help)
	set -l option $words[-1]
	set -l value $current
	set -l before (string match -r -- '^--[\w-]+=' $current)
	if test -n "$before"
		set option (string trim -rc = -- $before)
		set value (string replace -- $before '' $current)
	end
	# Its long name if it takes a value.
	if set -l long (string match -q -- '-*' $option; and string match -rg -- "^  (?:$option, |(?:-\w, |    )(?=$option=))(--[\w-]+)=" $help)
		for word in (__blklat_values $command $long $value)
			echo "$before$word"
		end
	else if string match -q -- '-*' $current
		string replace -rf -- '^  (?:-\w, |    )(--[\w-]+)(?:=\w+)? +(.*)' '$1\t$2' $help
	else if contains $command live top record serve check
		__blklat_devices $current
	else if test $command != list
		__fish_complete_path $current
	end
end

complete -c blklat -fka '(__blklat)'
