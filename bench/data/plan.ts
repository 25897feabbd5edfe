import { DAY_MS } from '../../src/lib/clock.ts';
import { OperatorError } from '../../src/lib/errno.ts';

/** The amount of data to generate. The same plan gives the same rows. */
export type Plan = {
  users: number;
  apps: number;
  /** One site each. */
  clients: number;
  /** Of the usage log. */
  entries: number;
  /** Length of the log. */
  days: number;
  seed: number;
  /** Midnight UTC at which the log ends. */
  until: Date;
};

/** The data behind the figures in docs/benchmarks.md. */
export const defaultPlan = (): Plan => ({
  users: 100_000,
  apps: 200,
  clients: 20,
  entries: 2_000_000,
  days: 120,
  seed: 1,
  until: new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS),
});

/** Accounts with the password: a superuser, a staff member, and an admin of the first client. */
export const ROOT = 'root@bench.test';
export const STAFF = 'staff@bench.test';
export const ADMIN = 'admin@client-1.test';
export const PASSWORD = 'steward-bench-1';

export class InvalidPlan extends OperatorError {}

/** @throws InvalidPlan with a sentence per error */
export const checkPlan = ({ users, apps, clients, until }: Plan): void => {
  const errors = [
    clients < 1 && 'A plan needs a client.',
    clients > apps && 'Each client needs an app: there cannot be more clients than apps.',
    users < 10 * clients && 'Each client needs ten users.',
    until.getTime() % DAY_MS !== 0 && 'The log must end at midnight UTC.',
  ].filter((error) => error !== false);
  if (errors.length > 0) throw new InvalidPlan(errors.join('\n'));
};
