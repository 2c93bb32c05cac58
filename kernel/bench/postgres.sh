# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=sh
#
# PostgreSQL, of kernel/bench/clients and kernel/bench/mix: what both need of this machine, and how the guest makes a database.

# A query for the tables of shop.sql, with 50 rows
# shellcheck disable=SC2034 # mix-guest and mix-case have it
best_sellers='SELECT i_id, i_title, sum(ol_qty) FROM order_line JOIN item ON i_id = ol_i_id GROUP BY i_id, i_title ORDER BY 3 DESC LIMIT 50'

# Sets postgres to the directory of the newest that is whole; their names are versions. Ends the script whose name is in $0 if there is none: it is not installed by itself,
# as Debian's package starts a service.
postgres_need() {
	postgres=
	for version in $(find /usr/lib/postgresql -mindepth 1 -maxdepth 1 -printf '%f\n' 2>/dev/null | sort -V); do
		directory=/usr/lib/postgresql/$version
		if [ -x "$directory/bin/postgres" ] && [ -x "$directory/bin/initdb" ] && [ -d "/usr/share/postgresql/$version" ]; then postgres=$directory; fi
	done
	[ "$postgres" ] || {
		echo "${0##*/}: the database is missing: apt-get install postgresql. Debian's package also starts a database of its own, unless /etc/postgresql-common/createcluster.conf has create_main_cluster = false before; this does not need one" >&2
		exit 5
	}
}

# Executes it. What sleeps is woken at once. The shell of the virtual machine has a setpriv of its own, and that cannot do this.
unprivileged() { # COMMAND..
	echo 1 >/proc/self/timerslack_ns
	exec setsid /usr/bin/setpriv --reuid nobody --regid nogroup --clear-groups "$@"
}

# A database with the tables of a file, in DIRECTORY/data. Who is in the machine uses it as user `shop`.
postgres_make() { # DIRECTORY SQL CONNECTIONS
	mkdir "$1" && chown nobody "$1" || return
	(unprivileged initdb -D "$1/data" -U shop -A trust --no-locale -E SQL_ASCII --no-sync) || return
	# It need not keep what it has if the machine fails, and none of its processes works beside the backends.
	cat >>"$1/data/postgresql.conf" <<-END
		listen_addresses = ''
		unix_socket_directories = '$1'
		max_connections = $3
		shared_buffers = 16MB
		fsync = off
		wal_level = minimal
		max_wal_senders = 0
		autovacuum = off
		bgwriter_lru_maxpages = 0
		max_logical_replication_workers = 0
		max_parallel_workers_per_gather = 0
		jit = off
	END
	(unprivileged postgres --single -D "$1/data" postgres) <"$2"
}
