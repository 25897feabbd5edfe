import { sql } from 'kysely';
import { App, AppGrant, Stack } from '../../entities/app.ts';
import { Client } from '../../entities/client.ts';
import { Membership } from '../../entities/membership.ts';
import { Site } from '../../entities/site.ts';
import { User } from '../../entities/user.ts';
import type { PasswordHasher } from '../adapters/hashing/password-hasher.ts';
import { type Db, tables } from '../db/kysely.ts';
import { DAY_MS } from '../lib/clock.ts';
import { defaultBranding } from '../services/clients/clients.ts';
import { writeUsage } from '../services/usage/usage-writes.ts';
import { addUserWithPassword, lockBootstrap } from '../services/users/bootstrap.ts';
import { addHistory } from './history.ts';
import { demoUsage } from './usage.ts';
import { APPS, CLIENTS, PEOPLE, SITES, STACKS, USAGE_DAYS } from './workspace.ts';

type Deps = {
  em: Db;
  hasher: PasswordHasher;
  password: string;
  port: number;
  now: Date;
  /** Adds what the demo shows and most tests would stumble over. */
  hasHistory?: boolean;
};

/** Fills an empty database with the demo workspace in one transaction. Returns false if the database is not empty. */
export const fillDemo = ({ em, hasher, password, port, now, hasHistory = false }: Deps): Promise<boolean> =>
  em.transactional(async (tx) => {
    await lockBootstrap(tx);
    if (!(await isEmpty(tx))) return false;
    // As old as their usage.
    const appsCreatedAt = new Date(now.getTime() - USAGE_DAYS * DAY_MS);
    await addClients(tx, port, appsCreatedAt);
    await addPeople(tx, hasher, password, now);
    const entriesByApp = Map.groupBy(demoUsage(now), ({ appId }) => appId);
    for (const [appId, entries] of entriesByApp) await writeUsage(tx, appId, entries, now);
    if (hasHistory) await addHistory(tx, appsCreatedAt, now);
    return true;
  });

export const isEmpty = async (em: Db): Promise<boolean> =>
  (await em.count(User)) === 0 && (await em.count(Site)) === 0;

const addClients = async (tx: Db, port: number, appsCreatedAt: Date): Promise<void> => {
  // Browsers omit port 80 from the Host header.
  const suffix = port === 80 ? '' : `:${port}`;
  for (const { host, ...site } of SITES) tx.create(Site, { ...site, domain: `${host}${suffix}` });
  for (const { siteId, ...client } of CLIENTS) {
    tx.create(Client, { ...client, site: tx.getReference(Site, siteId), ...defaultBranding(client.name) });
  }
  APPS.forEach(({ clientId, ...app }, index) => {
    // Distinct times, because lists of apps are ordered by age.
    const createdAt = new Date(appsCreatedAt.getTime() + index);
    tx.create(App, { ...app, client: tx.getReference(Client, clientId), createdAt });
  });
  for (const { appId, ...stack } of STACKS) tx.create(Stack, { ...stack, app: tx.getReference(App, appId) });
  await tx.flush();
  for (const table of ['sites', 'clients']) {
    await sql`select setval(pg_get_serial_sequence(${table}, 'id'), ${SITES.length})`.execute(tables(tx));
  }
};

const addPeople = async (tx: Db, hasher: PasswordHasher, password: string, now: Date): Promise<void> => {
  const hashes = await Promise.all(PEOPLE.map(() => hasher.hash(password)));
  for (const [index, person] of PEOPLE.entries()) {
    const { clientId, isAdmin = false, isActive = true, apps = [], ...input } = person;
    const user = await addUserWithPassword(tx, input, hashes[index] ?? '', now);
    if (!isActive) user.deactivate(now);
    if (clientId) tx.create(Membership, { client: tx.getReference(Client, clientId), user, isAdmin });
    for (const id of apps) tx.create(AppGrant, { user, app: tx.getReference(App, id) });
  }
  await tx.flush();
};
