import { sql } from 'kysely';
import { App, AppGrant, Stack } from '../../entities/app.ts';
import { Client, Membership, Site } from '../../entities/client.ts';
import { User } from '../../entities/user.ts';
import type { PasswordHasher } from '../adapters/hashing/password-hasher.ts';
import { type Em, kysely } from '../db/kysely.ts';
import { DAY_MS, MINUTE_MS, midnightBefore } from '../lib/clock.ts';
import { updateDeclaredKeys } from '../services/attributes/declared-keys.ts';
import { defaultBranding } from '../services/clients/clients.ts';
import { OPENID_CLAIMS } from '../services/openid/openid-apps.ts';
import { type UsageEntryInput, writeUsage } from '../services/usage/usage-writes.ts';
import { addUserWithPassword, lockBootstrap } from '../services/users/bootstrap.ts';
import { addHistory, addMembers } from './fill-organization.ts';
import { OPENID_APP, openidCallback } from './openid-app.ts';
import {
  ALL_APPS,
  ALL_STACKS,
  APP_IN_MAINTENANCE,
  IDLE_APP,
  MAINTENANCE_DAYS,
  MEMBERS,
  type Member,
  MORE_APPS,
  MORE_CLIENTS,
  MORE_SITES,
  MORE_STACKS,
  NORTHWIND_ADMIN,
} from './organization.ts';
import {
  APPS,
  CLIENTS,
  PEOPLE,
  type Person,
  SALES_DECLARATIONS,
  SITES,
  STACKS,
  USAGE_DAYS,
} from './workspace.ts';

type Deps = {
  em: Em;
  hasher: PasswordHasher;
  password: string;
  port: number;
  now: Date;
  /** Also adds `organization.ts`. Tests do not, because it has ten times as many people. */
  hasOrganization?: boolean;
};

/** Fills an empty database with the demo workspace in one transaction. Returns false if the database is not empty. */
export const fillDemo = ({ em, hasher, password, port, now, hasOrganization }: Deps): Promise<boolean> =>
  em.transactional(async (tx) => {
    await lockBootstrap(tx);
    if (!(await isEmpty(tx))) return false;
    // Apps are as old as their usage.
    const appsCreatedAt = new Date(now.getTime() - USAGE_DAYS * DAY_MS);
    // One hash for all people: their password is published.
    const hash = await hasher.hash(password);
    await addClients(tx, WORKSPACE, port, appsCreatedAt);
    await addPeople(tx, PEOPLE, hash, now);
    const entries = demoUsage(now);
    if (hasOrganization) {
      const later = new Date(appsCreatedAt.getTime() + DAY_MS);
      await addClients(tx, MORE, port, later);
      await addPeople(tx, [NORTHWIND_ADMIN], hash, now);
      await addMembers(tx, hash, now);
      await addHistory(tx, now);
      await declareAttributes(tx);
      entries.push(...organizationUsage(now));
    }
    for (const [appId, ofApp] of Map.groupBy(entries, (entry) => entry.appId))
      await writeUsage(tx, appId, ofApp, now);
    return true;
  });

export const isEmpty = async (em: Em): Promise<boolean> =>
  (await em.count(User)) === 0 && (await em.count(Site)) === 0;

/** Whether the workspace was added earlier. */
export const hasDemo = async (em: Em): Promise<boolean> =>
  (await em.count(User, { email: PEOPLE[0]?.email ?? '' })) > 0;

const WORKSPACE = { sites: SITES, clients: CLIENTS, apps: APPS, stacks: STACKS };
const MORE = { sites: MORE_SITES, clients: MORE_CLIENTS, apps: MORE_APPS, stacks: MORE_STACKS };

const addClients = async (tx: Em, content: typeof WORKSPACE, port: number, appsCreatedAt: Date) => {
  const { sites, clients, apps, stacks } = content;
  // Browsers omit port 80 from the Host header.
  const suffix = port === 80 ? '' : `:${port}`;
  for (const { host, ...site } of sites) tx.create(Site, { ...site, domain: `${host}${suffix}` });
  for (const { siteId, ...client } of clients) {
    tx.create(Client, { ...client, site: tx.getReference(Site, siteId), ...defaultBranding(client.name) });
  }
  apps.forEach(({ clientId, ...app }, index) => {
    // Distinct times, because lists of apps are ordered by age.
    const createdAt = new Date(appsCreatedAt.getTime() + index);
    tx.create(App, { ...app, client: tx.getReference(Client, clientId), viewAs: true, createdAt });
  });
  for (const { appId, ...stack } of stacks) tx.create(Stack, { ...stack, app: tx.getReference(App, appId) });
  await tx.flush();
  for (const table of ['sites', 'clients']) {
    const newest = sql`(select max(id) from ${sql.table(table)})`;
    await sql`select setval(pg_get_serial_sequence(${table}, 'id'), ${newest})`.execute(kysely(tx));
  }
};

const addPeople = async (tx: Em, people: readonly Person[], hash: string, now: Date): Promise<void> => {
  for (const person of people) {
    const { clientId, isAdmin = false, isActive = true, apps = [], ...input } = person;
    const user = await addUserWithPassword(tx, { ...input, isEmailVerified: true }, hash, now);
    if (!isActive) user.deactivate(now);
    if (clientId)
      tx.create(Membership, { client: tx.getReference(Client, clientId), user, isAdmin, joinedAt: now });
    for (const id of apps) tx.create(AppGrant, { user, app: tx.getReference(App, id) });
  }
  await tx.flush();
};

/** As if the next version of Sales had been loaded. Ada is an analyst there. */
const declareAttributes = async (tx: Em): Promise<void> => {
  const { attributes, roles } = SALES_DECLARATIONS;
  await tx.nativeUpdate(App, { slug: 'sales' }, { attributes, appRoles: roles });
  const ada = { email: 'ada@acme.test' };
  await tx.nativeUpdate(AppGrant, { user: ada, app: { slug: 'sales' } }, { appRoles: ['analyst'] });
  await updateDeclaredKeys(tx, 1);
};

/** Minutes between two actions. All actions of a day fit into 24 hours. */
const STEP_MINUTES = 97;

type Visitor = { email: string; firstName: string; lastName: string };
type OpenedStack = (typeof STACKS)[number];
type DemoEntry = UsageEntryInput & { appId: string };

/** Deterministic entries relative to `now`: each member of the workspace opens a few stacks per day. */
const demoUsage = (now: Date): DemoEntry[] =>
  PEOPLE.flatMap((person, index) => {
    const stacks = STACKS.filter(({ appId }) => person.apps?.includes(appId));
    return daysOf(USAGE_DAYS).flatMap((day) =>
      Array.from({ length: 1 + ((day * 7 + index * 3) % 4) }, (_, step) => {
        const occurredAt = new Date(
          now.getTime() - day * DAY_MS - (step * STEP_MINUTES + index + 1) * MINUTE_MS,
        );
        return entryOf(person, stacks[(day + step) % stacks.length], occurredAt);
      }).flat(),
    );
  });

/** Usage of the other people: on working days between 7:00 and 18:00 UTC, seldom at weekends. */
const organizationUsage = (now: Date): DemoEntry[] => {
  const random = createRandom();
  return MEMBERS.flatMap((member) => {
    const days = daysOf(Math.min(USAGE_DAYS, member.joinedDaysAgo));
    return days.flatMap((day) => entriesOfDay(member, day, now, random));
  });
};

const WEEKEND_SHARE = 0.12;
const FIRST_MINUTE = 7 * 60;
const WORKING_MINUTES = 11 * 60;

const entriesOfDay = (member: Member, day: number, now: Date, random: () => number): DemoEntry[] => {
  const midnight = midnightBefore(now, day);
  const weekday = midnight.getUTCDay();
  const share = member.frequency * (weekday === 0 || weekday === 6 ? WEEKEND_SHARE : 1);
  const { lastSeenDaysAgo } = member;
  if (lastSeenDaysAgo === null || day < lastSeenDaysAgo || random() >= share) return [];
  const stacks = ALL_STACKS.filter(({ appId }) => member.apps.includes(appId) && isUsed(appId, day));
  return Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
    const stack = stacks[Math.floor(random() * stacks.length)];
    const minute = FIRST_MINUTE + random() * WORKING_MINUTES;
    const occurredAt = new Date(midnight.getTime() + Math.floor(minute * MINUTE_MS));
    return occurredAt < now ? entryOf(member, stack, occurredAt) : [];
  }).flat();
};

const isUsed = (appId: string, day: number): boolean =>
  appId === APP_IN_MAINTENANCE ? day > MAINTENANCE_DAYS : appId !== IDLE_APP;

const daysOf = (count: number): number[] => Array.from({ length: count }, (_, day) => day);

/** Mulberry32: in every demo, the same numbers between 0 (inclusive) and 1. */
const createRandom = () => {
  let state = 1;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const entryOf = (person: Visitor, stack: OpenedStack | undefined, occurredAt: Date): DemoEntry[] => {
  const app = ALL_APPS.find(({ id }) => id === stack?.appId);
  if (!app || !stack) return [];
  const path = `/apps/${app.slug}/${stack.slug}/`;
  const request = { path, session: `demo-${occurredAt.getTime().toString(36)}` };
  const entry = {
    appId: app.id,
    email: person.email,
    fullName: `${person.firstName} ${person.lastName}`,
    action: 'STACK_ACCESS',
    actionDescription: `Opened ${stack.label} of ${app.label}`,
    entryKey: null,
    stack: stack.id,
    extra: JSON.stringify({ app: app.slug, stack: stack.id, app_id: app.id, request }),
    occurredAt,
  };
  return [entry];
};

/** Lets an app log people in with OpenID Connect at this URL of the service, unless it was set up in another way. */
export const setOpenidApp = async (em: Em, baseUrl: string, now: Date): Promise<void> => {
  const redirectUri = openidCallback(baseUrl);
  await sql`
    insert into openid_apps (app_id, redirect_uris, post_logout_redirect_uris, is_public, claims, created_at)
    select id, ${[redirectUri]}::text[], ${[`${baseUrl}/`]}::text[], true, ${[...OPENID_CLAIMS]}::text[], ${now}::timestamptz
    from apps where id = ${OPENID_APP.id}
    on conflict (app_id) do update
      set redirect_uris = excluded.redirect_uris, post_logout_redirect_uris = excluded.post_logout_redirect_uris
      where openid_apps.redirect_uris[1] like ${`%${new URL(redirectUri).pathname}`}`.execute(kysely(em));
};
