/** Of one process: more would only wait for each other in the server. */
const MAX_POOL_SIZE = 10;
/** Requests take a second connection now and then while they hold one. */
const MIN_POOL_SIZE = 4;
/** What all pools may take together of the hundred that PostgreSQL has by default. */
const POOLED = 72;
const SERVER_DEFAULT = 100;
/** Commands beside the service, migrations, and what PostgreSQL keeps for superusers. */
const OTHERS = 20;

/** How many connections each of so many processes may have, and how many the embedded server takes for them. */
export const sizePools = (workers: number): { poolSize: number; serverSize: number } => ({
  poolSize: Math.max(MIN_POOL_SIZE, Math.min(MAX_POOL_SIZE, Math.floor(POOLED / workers))),
  // One more for each, which listens for mails.
  serverSize: Math.max(SERVER_DEFAULT, workers * (MIN_POOL_SIZE + 1) + OTHERS),
});
