# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # clients-guest and clients-serve have the variables
#
# The site `cgi` of kernel/bench/clients, in the virtual machine: Apache and a CGI program.
# shellcheck source=kernel/bench/apache.sh
. /bench/apache.sh
first='/summary?0&0'

prepare() {
	{
		apache_conf "$work" "$workers" mpm_prefork authz_core alias cgi
		echo "KeepAlive Off"
		echo "ScriptAlias /summary /bench/summary"
	} >"$work/conf"
}

begin() { # PORT: adds to servers
	echo "Listen 127.0.0.1:$1" >"$work/listen"
	rm -f "$work/pid"
	setsid apache2 -f "$work/conf" -D FOREGROUND 2>>"$work/log" &
	servers=$!
}
