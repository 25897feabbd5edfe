/** The only source of the current time, so that tests can set it. SQL gets it as a parameter. */
export type Clock = { now(): Date };

/** The clock of this machine, for work without a database. The service uses the clock of the database: `createDatabaseClock`. */
export const systemClock: Clock = { now: () => new Date() };

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Midnight UTC, some days ago. */
export const midnightBefore = (now: Date, days: number): Date =>
  new Date((Math.floor(now.getTime() / DAY_MS) - days) * DAY_MS);
