/** The only source of the current time, so that tests can set it. SQL gets it as a parameter. */
export type Clock = { now(): Date };

/** The clock of this machine, for work without a database. The service uses the clock of the database: `createDatabaseClock`. */
export const systemClock: Clock = { now: () => new Date() };

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/**
 * The latest time that can have been stored until now. Later times were stored while the clock was ahead. The clocks of instances, and of
 * servers that replaced each other, may differ by less.
 */
export const latestPossible = (now: Date): Date => new Date(now.getTime() + 5 * MINUTE_MS);

/** Midnight UTC, some days ago. */
export const midnightBefore = (now: Date, days: number): Date =>
  new Date((Math.floor(now.getTime() / DAY_MS) - days) * DAY_MS);
