import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../../src/demo/packages.ts';
import { forgetAttempts } from '../../support/second-factors.ts';
import { appSuite, ROOT, STAFF, type TestApp } from '../../support/test-app.ts';
import { makeActors, makeTargets } from './actors.ts';
import { type Actor, allowsAllOf, COLUMN_OF, type Column, expected } from './columns.ts';
import { INPUTS } from './inputs.ts';
import {
  type Cell,
  headersOf,
  IN_REST,
  type Outcome,
  overRest,
  overTrpc,
  procedureOf,
  TYPES,
} from './requests.ts';
import { makeThings, type Things } from './things.ts';

const table = appSuite('procedures, for each kind of actor');

table('have a decision, and a request, each', () => {
  const procedures = (requests: Iterable<string>) => [...new Set([...requests].map(procedureOf))].sort();

  assert.equal(procedures(COLUMN_OF.keys()), [...TYPES.keys()].sort());
  assert.equal([...COLUMN_OF.keys()].sort(), Object.keys(INPUTS).sort());
});

/**
 * Lets no transaction commit that changes a row, so that each request finds the same data. The refusal to commit shows that a request got
 * that far. Attempts are counted beforehand, and an operation begins before its changes.
 */
const refuseCommits = async (app: TestApp): Promise<void> => {
  await sql`create function refuse_commit() returns trigger language plpgsql as $$ begin
    raise exception 'a test refuses to commit' using errcode = 'read_only_sql_transaction'; end $$`.execute(
    app.db(),
  );
  await sql`do $$ declare name regclass; begin
    for name in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
      and relname not in ('rate_limits', 'operations') loop
      execute format('create constraint trigger refuse_commit after insert or update or delete on %s
        deferrable initially deferred for each row execute function refuse_commit()', name);
    end loop; end $$`.execute(app.db());
};

/** What everything else is measured on. */
let things: Record<1 | 2, Things>;
let actors: Actor[] = [];
let targets: Awaited<ReturnType<typeof makeTargets>> = [];

table.before(async ({ app }) => {
  await publishDemoPackages(app.store);
  things = await makeThings(app);
  for (const app_version of ['1.0.0', '1.1.0']) {
    await app.as(STAFF).appPackages.fetch({ app_slug: 'sales', app_version });
    await app.as(STAFF).appPackages.load({ app_slug: 'sales' });
  }
  targets = await makeTargets(app);
  actors = await makeActors(app, things);
  // Publishes what has happened.
  await app.as(ROOT).events.list({});
  await refuseCommits(app);
});

/** What permissions refuse, and an allowed request does not get. */
const REFUSALS = new Set([
  ...['unknown', 'unauthenticated', 'insufficient-scope', 'confined-session', 'forbidden', 'not-found'],
  ...['csrf-failed', 'role-lost', 'shared-user', 'client-admin-locked', 'self-modification'],
  ...['second-factor-required', 'client-closed', 'reauthentication-required'],
]);

/** Requests to which 404 may also say that the caller has nothing of the kind. */
const ABSENT: Record<string, RegExp> = {
  'mfa.confirmTotp': /No second factor is being set up/,
  'mfa.renewRecoveryCodes': /No such second factor/,
  'appPackages.fetch': /No such package version/,
  'appPackages.load': /No such fetched package/,
  'apps.rollback': /was never loaded/,
};

/** Requests that name things of the client in their body: what is not the caller's is invalid there. */
const REFERENCES = new Set([
  ...['accessViews.create', 'invitations.create', 'requests.create', 'users.create'],
  ...['users.bulkUpdate add-to-groups', 'users.bulkUpdate grant-apps'],
]);

const isRead = (request: string): boolean => TYPES.get(procedureOf(request)) !== 'mutation';

const isAsExpected = (wanted: string, { code, body }: Outcome, { request, client, actor }: Cell): boolean => {
  if (wanted === 'ok') return !REFUSALS.has(code) || ABSENT[request]?.test(body) === true;
  if (wanted.includes(code) || (REFERENCES.has(request) && code === 'invalid-input')) return true;
  // Lists of a client in which the actor has no role are empty: their texts are searched for traces.
  const isEmpty = code === 'ok' && isRead(request) && client !== null && actor.roles[client] === 'none';
  return wanted.includes('nothing') && (code === 'not-found' || isEmpty);
};

/** Texts that name a client or what it has. */
const tracesOf = ({ domain, app, slug, spare, stack }: Things): RegExp =>
  new RegExp([domain.split('.')[0], app, slug, spare, stack].join('|'), 'i');

const TRANSPORTS = { REST: overRest, tRPC: overTrpc };
type Sent = Cell & { transport: keyof typeof TRANSPORTS };

/**
 * All requests of an actor over both transports, once if they name nothing of a client. Those outside of the scope of a token are sent over
 * REST for one client, and over tRPC for the other.
 */
const cellsOf = (actor: Actor, csrf: Record<string, string>): Sent[] =>
  Object.entries(INPUTS).flatMap(([request, inputOf]) => {
    const inputs = { 1: inputOf(things[1]), 2: inputOf(things[2]) };
    const isNeutral = JSON.stringify(inputs[1]) === JSON.stringify(inputs[2]);
    const clients = isNeutral ? [null] : ([1, 2] as const);
    const isOutside = actor.scope !== undefined && actor.scope !== scopeOf(request);
    return clients.flatMap((client) => {
      const cell = { request, client, input: inputs[client ?? 1], actor, csrf };
      const transports = IN_REST.has(procedureOf(request))
        ? (['REST', 'tRPC'] as const)
        : (['tRPC'] as const);
      return transports
        .filter(
          (transport) =>
            !isOutside ||
            client === null ||
            transports.length === 1 ||
            (client === 1) === (transport === 'REST'),
        )
        .map((transport) => ({ ...cell, transport }));
    });
  });

const scopeOf = (request: string): string => `${request.split('.')[0]}:${isRead(request) ? 'read' : 'write'}`;

const AT_ONCE = 6;

const forEach = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  const queue = items.values();
  const workThrough = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, workThrough));
};

/** The headers of a POST of an API that needs a CSRF token. */
const csrfOf = async (app: TestApp, actor: Actor): Promise<Record<string, string>> => {
  const { cookies } = await app.send('GET /hashr/saved_global_filters/', { headers: headersOf(actor) });
  const token = cookies.find(({ name }) => name === 'csrftoken')?.value;
  return token === undefined ? {} : { 'x-csrftoken': token, cookie: `csrftoken=${token}` };
};

const describe = ({ request, actor, client, transport }: Sent): string =>
  `${request} by ${actor.name}, client ${client}, ${transport}`;

table('allow what the tables of roles say, and show nothing of other clients', async ({ app }) => {
  const traces = { 1: tracesOf(things[1]), 2: tracesOf(things[2]) };
  const wrong: string[] = [];
  const succeeded = new Set<string>();
  const ofVisitors = new Map<string, string>();
  let [cells, allowed, done] = [0, 0, 0];

  const check = async (sent: Sent): Promise<void> => {
    const { request, actor, transport } = sent;
    const column = COLUMN_OF.get(request) as Column; // the first test compares the names
    const outcome = await TRANSPORTS[transport](app, sent);
    const { code, body, isDone } = outcome;
    const knows = (id: 1 | 2) => actor.roles[id] !== 'none';
    cells += 1;
    if (isDone) succeeded.add(request);
    if (column === 'public') {
      // Credentials make no difference.
      const key = `${request} ${transport}`;
      if (actor.token === null) ofVisitors.set(key, code);
      if (code !== ofVisitors.get(key)) wrong.push(`${describe(sent)}: ${code}, not ${ofVisitors.get(key)}`);
      return;
    }
    const isVisitor = actor.token === null || actor.isDead;
    const wanted =
      column === 'visitor' && isVisitor && transport === 'tRPC'
        ? 'ok'
        : expected(request, { column, scope: scopeOf(request) }, actor, sent.client);
    if (wanted === 'ok') allowed += 1;
    if (wanted === 'ok' && isDone) done += 1;
    if (!isAsExpected(wanted, outcome, sent))
      wrong.push(`${describe(sent)}: ${code}, not ${wanted}: ${body.slice(0, 300)}`);
    for (const id of [1, 2] as const)
      if (code === 'ok' && !knows(id) && traces[id].test(body))
        wrong.push(`${describe(sent)}: shows client ${id}: ${body.slice(0, 300)}`);
  };

  for (const actor of actors) {
    await forgetAttempts(app);
    await forEach(cellsOf(actor, await csrfOf(app, actor)), check);
  }

  console.log(
    `\n# ${cells} cells of ${TYPES.size} procedures and ${actors.length} actors: ${allowed} allowed, ${done} of which succeeded; ${wrong.length} wrong`,
  );
  assert.equal(wrong, []);
});

const ON_PEOPLE: readonly string[] = ['people', 'grants', 'credentials', 'logins', 'settings'];
/** A new group, whose members only gain apps, and a preview, which changes nothing. */
const NOT_ON_PEOPLE = new Set(['groups.create', 'dataPermissions.previewValue']);

table('let nobody act on people with more rights', async ({ app }) => {
  const wrong: string[] = [];
  let [cells, done] = [0, 0];
  const ranked = actors.filter(
    ({ roles, token, isDead, scope }) => token !== null && !isDead && !scope && roles[1] !== 'owner',
  );
  const sent = ranked.flatMap((actor) =>
    targets.flatMap((target) =>
      Object.entries(INPUTS)
        .filter(
          ([request]) => ON_PEOPLE.includes(COLUMN_OF.get(request) ?? '') && !NOT_ON_PEOPLE.has(request),
        )
        .map(([request, inputOf]) => ({
          request,
          inputs: [inputOf(things[1]), inputOf({ ...things[1], email: target.email })],
        }))
        .filter(({ inputs }) => JSON.stringify(inputs[0]) !== JSON.stringify(inputs[1]))
        .map(({ request, inputs }, index): Sent & { target: (typeof targets)[number] } => ({
          ...{ request, actor, target, client: 1, input: inputs[1], csrf: {} },
          transport: index % 2 && IN_REST.has(procedureOf(request)) ? 'REST' : 'tRPC',
        })),
    ),
  );
  await forgetAttempts(app);
  await forEach(sent, async (cell) => {
    const { actor, target } = cell;
    const outcome = await TRANSPORTS[cell.transport](app, cell);
    cells += 1;
    if (outcome.isDone) done += 1;
    if (outcome.isDone && !allowsAllOf(actor.roles[1], target.role))
      wrong.push(`${describe(cell)}, on ${target.role}`);
  });

  console.log(`\n# ${cells} requests about people with roles: ${done} succeeded, ${wrong.length} wrong`);
  assert.ok(done > 100);
  assert.equal(wrong, []);
});

table.run();
