import argon2 from 'argon2';
import { DAY_MS } from '../../src/lib/clock.ts';
import { copyLine } from './copying.ts';
import { createLog } from './entries.ts';
import { type Grant, makeGrants, makePeople, type Person } from './people.ts';
import { before, type LogDay, makeCalendar, type Plan } from './plan.ts';
import { createRandom, type Random } from './random.ts';
import { appTables, peopleTables, type TableLines, tenantTables } from './tables.ts';
import { type App, type Client, makeTenants } from './tenants.ts';

export const PASSWORD = 'steward-bench-1';

/** Hashes like the service, but with a salt from the seed: the same plan gives the same rows. */
const hashOf = (seed: number): Promise<string> =>
  argon2.hash(PASSWORD, {
    memoryCost: 19_456,
    timeCost: 2,
    parallelism: 1,
    salt: Buffer.from(createRandom(seed, 'salt').text('0123456789abcdef', 16)),
  });

/** Generates all rows of a plan: tables in foreign-key order, and the log by day. */
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

const USERS_PER_INVITATION = 20;
const GRANTS_PER_FILTER = 10;
const INVITATION_DAYS = 14;
const KEY_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const KEY_LENGTH = 32;

type Invitation = {
  id: number;
  client: Client;
  inviter: Person;
  app: App;
  key: string;
  isPending: boolean;
  invitedAt: Date;
};

/** Invitations by admins to one app each, half of them pending. */
export const invitationTables = (plan: Plan, people: readonly Person[]): TableLines[] => {
  const random = createRandom(plan.seed, 'invitations');
  const inviters = people.flatMap((inviter) =>
    inviter.isAdmin ? inviter.clients.map((client) => ({ inviter, client })) : [],
  );
  const invitations = Array.from({ length: Math.ceil(people.length / USERS_PER_INVITATION) }, (_, index) => {
    const by = inviters[index % inviters.length];
    if (!by) throw new Error('Every client has an admin.');
    return { ...by, ...makeInvitation(plan, index + 1, by.client, random) };
  });
  return [
    {
      table: 'invitations',
      columns:
        'id, client_id, email, key, inviter_id, status, date_invited, expires_at, closed_at, email_count',
      lines: invitations.map(invitationLine),
    },
    {
      table: 'invitation_apps',
      columns: 'invitation_id, app_id',
      lines: invitations.map(({ id, app }) => copyLine(id, app.id)),
    },
  ];
};

const makeInvitation = (plan: Plan, id: number, client: Client, random: Random) => ({
  id,
  app: random.pick(client.apps),
  key: random.text(KEY_ALPHABET, KEY_LENGTH),
  isPending: random.chance(0.5),
  // Pending ones are still valid on the day after the log ends.
  invitedAt: before(plan, DAY_MS + random.below((INVITATION_DAYS - 2) * DAY_MS)),
});

const invitationLine = ({ id, client, inviter, key, isPending, invitedAt }: Invitation): string => {
  const expiresAt = new Date(invitedAt.getTime() + INVITATION_DAYS * DAY_MS);
  const status = isPending ? 'pending' : 'revoked';
  const closedAt = isPending ? null : new Date(invitedAt.getTime() + DAY_MS);
  const email = `invitee${id}@client-${client.id}.test`;
  return copyLine(id, client.id, email, key, inviter.id, status, invitedAt, expiresAt, closedAt, 1);
};

/** Saved filters for stacks of apps that their owners can open. */
export const savedFilterTable = (plan: Plan, grants: readonly Grant[]): TableLines => {
  const random = createRandom(plan.seed, 'saved filters');
  const owned = grants.filter((_, index) => index % GRANTS_PER_FILTER === 0);
  const lines = owned.map(({ person, app }, index) => {
    const at = before(plan, DAY_MS + random.below((plan.days - 1) * DAY_MS));
    const name = `My filters of ${app.label}`;
    return copyLine(index + 1, person.id, random.pick(app.stacks).id, `filters-${index + 1}`, name, at, at);
  });
  return { table: 'saved_filters', columns: 'id, user_id, stack_id, hash, name, created, modified', lines };
};
