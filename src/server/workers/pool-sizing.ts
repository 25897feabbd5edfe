/** Per process: more would only wait for each other in the server. */
const MAX_POOL_SIZE = 10;
/** Some requests need a second connection. */
const MIN_POOL_SIZE = 4;
/** Of all pools together: PostgreSQL's default `max_connections` is 100. */
const MAX_POOLED = 72;
const SERVER_DEFAULT = 100;
/** For commands, migrations, and PostgreSQL's reserved superuser connections. */
const RESERVED = 20;

/** Computes the pool size of each worker and `max_connections` of the embedded server. */
export const sizePools = (workers: number): { poolSize: number; serverSize: number } => ({
  poolSize: Math.max(MIN_POOL_SIZE, Math.min(MAX_POOL_SIZE, Math.floor(MAX_POOLED / workers))),
  // Each worker has one more connection for LISTEN.
  serverSize: Math.max(SERVER_DEFAULT, workers * (MIN_POOL_SIZE + 1) + RESERVED),
});
