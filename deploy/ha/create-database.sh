#!/bin/sh
# Creates the role and the database of Steward. Patroni runs it once, on the first primary, with a connection string.
set -eu
psql --quiet --set=ON_ERROR_STOP=1 --set=password="$STEWARD_DATABASE_PASSWORD" "$1" <<'SQL'
create role steward login password :'password';
create database steward owner steward;
\connect steward
create extension pg_trgm;
SQL
