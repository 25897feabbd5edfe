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
import { addInvitations, addMembers, addTrail } from './fill-organization.ts';
import { MORE_APPS, MORE_CLIENTS, MORE_SITES, MORE_STACKS, NORTHWIND_ADMIN } from './organization.ts';
import { demoUsage, organizationUsage } from './usage.ts';
import { APPS, CLIENTS, PEOPLE, type Person, SITES, STACKS, USAGE_DAYS } from './workspace.ts';

type Deps = {
  em: Db;
  hasher: PasswordHasher;
  password: string;
  port: number;
  now: Date;
  /** Also adds `organization.ts`. Tests do without, because it has ten times as many people. */
  hasOrganization?: boolean;
};

/** Fills an empty database with the demo workspace in one transaction. Returns false if the database is not empty. */
export const fillDemo = ({
  em,
  hasher,
  password,
  port,
  now,
  hasOrganization = false,
}: Deps): Promise<boolean> =>
  em.transactional(async (tx) => {
    await lockBootstrap(tx);
    if (!(await isEmpty(tx))) return false;
    // As old as their usage.
    const appsCreatedAt = new Date(now.getTime() - USAGE_DAYS * DAY_MS);
    // One hash for all: their password is published.
    const hash = await hasher.hash(password);
    await addClients(tx, { sites: SITES, clients: CLIENTS, apps: APPS, stacks: STACKS, port, appsCreatedAt });
    await addPeople(tx, PEOPLE, hash, now);
    const entries = demoUsage(now);
    if (hasOrganization) {
      await addOrganization(tx, { hash, port, appsCreatedAt, now });
      entries.push(...organizationUsage(now));
    }
    for (const [appId, ofApp] of Map.groupBy(entries, (entry) => entry.appId))
      await writeUsage(tx, appId, ofApp, now);
    return true;
  });

export const isEmpty = async (em: Db): Promise<boolean> =>
  (await em.count(User)) === 0 && (await em.count(Site)) === 0;

/** Whether the workspace was added earlier. */
export const hasDemo = async (em: Db): Promise<boolean> =>
  (await em.count(User, { email: PEOPLE[0]?.email ?? '' })) > 0;

type Organization = { hash: string; port: number; appsCreatedAt: Date; now: Date };

const addOrganization = async (tx: Db, { hash, port, appsCreatedAt, now }: Organization): Promise<void> => {
  await addClients(tx, {
    sites: MORE_SITES,
    clients: MORE_CLIENTS,
    apps: MORE_APPS,
    stacks: MORE_STACKS,
    port,
    appsCreatedAt: new Date(appsCreatedAt.getTime() + DAY_MS),
  });
  await addPeople(tx, [NORTHWIND_ADMIN], hash, now);
  await addMembers(tx, hash, now);
  await addInvitations(tx, now);
  await addTrail(tx, now);
};

type Clients = {
  sites: typeof SITES;
  clients: typeof CLIENTS;
  apps: ((typeof APPS)[number] & { inMaintenance?: boolean; maintenanceMessage?: string })[];
  stacks: typeof STACKS;
  port: number;
  appsCreatedAt: Date;
};

const addClients = async (
  tx: Db,
  { sites, clients, apps, stacks, port, appsCreatedAt }: Clients,
): Promise<void> => {
  // Browsers omit port 80 from the Host header.
  const suffix = port === 80 ? '' : `:${port}`;
  for (const { host, ...site } of sites) tx.create(Site, { ...site, domain: `${host}${suffix}` });
  for (const { siteId, ...client } of clients) {
    tx.create(Client, { ...client, site: tx.getReference(Site, siteId), ...defaultBranding(client.name) });
  }
  apps.forEach(({ clientId, ...app }, index) => {
    // Distinct times, because lists of apps are ordered by age.
    const createdAt = new Date(appsCreatedAt.getTime() + index);
    tx.create(App, { ...app, client: tx.getReference(Client, clientId), createdAt });
  });
  for (const { appId, ...stack } of stacks) tx.create(Stack, { ...stack, app: tx.getReference(App, appId) });
  await tx.flush();
  for (const table of ['sites', 'clients']) {
    await sql`select setval(pg_get_serial_sequence(${table}, 'id'), (select max(id) from ${sql.table(table)}))`.execute(
      tables(tx),
    );
  }
};

const addPeople = async (tx: Db, people: readonly Person[], hash: string, now: Date): Promise<void> => {
  for (const person of people) {
    const { clientId, isAdmin = false, isActive = true, apps = [], ...input } = person;
    const user = await addUserWithPassword(tx, input, hash, now);
    if (!isActive) user.deactivate(now);
    if (clientId) tx.create(Membership, { client: tx.getReference(Client, clientId), user, isAdmin });
    for (const id of apps) tx.create(AppGrant, { user, app: tx.getReference(App, id) });
  }
  await tx.flush();
};
