import argon2 from 'argon2';
import { type LogDay, makeCalendar } from './calendar.ts';
import { createLog } from './entries.ts';
import { invitationTables, savedFilterTable } from './extras.ts';
import { makeGrants } from './grants.ts';
import { makePeople } from './people.ts';
import type { Plan } from './plan.ts';
import { createRandom } from './random.ts';
import { appTables, peopleTables, type TableLines, tenantTables } from './tables.ts';
import { makeTenants } from './tenants.ts';

export const PASSWORD = 'steward-bench-1';

/** As a password set by the service, but for the salt: the same plan gives the same rows. */
const hashOf = (seed: number): Promise<string> =>
  argon2.hash(PASSWORD, {
    memoryCost: 19_456,
    timeCost: 2,
    parallelism: 1,
    salt: Buffer.from(createRandom(seed, 'salt').text('0123456789abcdef', 16)),
  });

/** Everything that a plan fills a database with: the tables in an order that keeps foreign keys, and the log by days. */
export const makeContent = async (plan: Plan) => {
  const { clients, apps } = makeTenants(plan);
  const people = makePeople(plan, clients);
  const grants = makeGrants(plan, people);
  const tables: TableLines[] = [
    ...tenantTables(clients),
    ...appTables(apps),
    ...peopleTables(people, grants, await hashOf(plan.seed)),
    ...invitationTables(plan, people),
    savedFilterTable(plan, grants),
  ];
  const log = createLog(plan, grants, clients, clients[0].apps[0]);
  return {
    tables,
    appIds: apps.map(({ id }) => id),
    months: byMonth(makeCalendar(plan)),
    linesOf: log.linesOf,
  };
};

const byMonth = (days: LogDay[]): LogDay[][] => [
  ...Map.groupBy(days, ({ start }) => start.toISOString().slice(0, 7)).values(),
];
