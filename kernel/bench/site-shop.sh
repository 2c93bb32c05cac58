# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # clients-guest and clients-serve have the variables
#
# The site `shop` of kernel/bench/clients, in the virtual machine: Apache, the application shop.c, and PostgreSQL. Application and database are
# unprivileged; the database is in a directory of /tmp, which is in memory, and listens in that directory only.
# shellcheck source=kernel/bench/apache.sh
. /bench/apache.sh
# shellcheck source=kernel/bench/postgres.sh
. /bench/postgres.sh
first='/shop?0&0&0&0&0'
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)

prepare() {
	postgres_make "$work/shop" /bench/shop.sql $((workers + 10)) >"$work/log.database" 2>&1 || {
		cat "$work/log.database" >&2
		return 1
	}
	begin_database
	(unprivileged /bench/shop rates "$work/shop") >"$work/rates" || return
	kill -INT "$database"
	wait
	apache_conf "$work" "$workers" mpm_prefork authz_core proxy proxy_http >"$work/conf"
	# A client keeps its connection, and a worker its one to the application.
	echo "MaxKeepAliveRequests 0
KeepAliveTimeout 600" >>"$work/conf"
}

begin_database() { # sets database
	(unprivileged postgres -D "$work/shop/data" 2>>"$work/log.postgres") &
	database=$!
}

begin() { # PORT: sets database, and servers
	begin_database
	rm -f "$work/shop/listens" "$work/pid"
	(unprivileged /bench/shop serve "$(($1 + 1000))" "$workers" "$work/shop" "$work/rates" 2>>"$work/log.shop") &
	servers=$!
	tries=0
	until [ -e "$work/shop/listens" ]; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || return
		sleep 0.1
	done
	echo "Listen 127.0.0.1:$1
ProxyPass /shop http://127.0.0.1:$(($1 + 1000))/shop retry=0" >"$work/listen"
	setsid apache2 -f "$work/conf" -D FOREGROUND 2>>"$work/log" &
	servers="$servers $!"
}
