# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=sh
#
# Apache's servers, of kernel/bench/web, kernel/bench/clients and kernel/bench/mix: what all need of this machine, and what their configurations begin with.

apache_modules=/usr/lib/apache2/modules

# Sets apache_files to the modules of these names. Installs Apache if one is missing: programs, and no service. $tree is the source tree.
apache_need() { # MODULE..
	apache_files=
	for module; do
		"$tree/.ci/need" "$apache_modules/mod_$module.so=apache2-bin" || exit 5
		apache_files="$apache_files $apache_modules/mod_$module.so"
	done
}

# The users of the guest that has the files which are named, and none of this machine's: DIRECTORY/passwd and group.
apache_users() { # DIRECTORY
	grep -E '^(root|nobody):' /etc/passwd >"$1/passwd"
	grep -E '^(root|nogroup):' /etc/group >"$1/group"
}

# Prints a configuration. DIRECTORY/listen says where it listens.
apache_conf() { # DIRECTORY WORKERS MODULE..
	cat <<END
ServerRoot $1
ServerName localhost
Include $1/listen
PidFile pid
ErrorLog log
User nobody
Group nogroup
# All workers are there from the start, and none ends.
StartServers $2
MinSpareServers $2
MaxSpareServers $2
ServerLimit $2
MaxRequestWorkers $2
Timeout 600
END
	shift 2
	for module; do echo "LoadModule ${module}_module $apache_modules/mod_$module.so"; done
}

# Prints the configuration of a server that searches, as that of GR3's paper does: FILE is search.lua.
apache_search_conf() { # DIRECTORY WORKERS FILE
	apache_conf "$1" "$2" mpm_prefork authz_core lua
	# A client keeps its connection, and so its worker.
	cat <<END
MaxKeepAliveRequests 0
KeepAliveTimeout 600
LuaScope thread
LuaMapHandler /search $3
END
}
