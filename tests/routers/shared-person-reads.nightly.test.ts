import type { AnyTRPCProcedure } from '@trpc/server';
import * as assert from 'uvu/assert';
import { appRouter } from '../../routers/index.ts';
import { userId } from '../support/access-views.ts';
import { addRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const reads = appSuite('what admins read of a person of two clients');

const SHARED = 'both@people.test';
const MARK = 'other-tenant-mark';
/** What only the second client knows: texts that were written there, its app and its admin. */
const FOREIGN = [MARK, FLEET, GLOBEX, 'fleet'];

/** Everything that the second client can write about the person. */
reads.before(async ({ app }) => {
  const [root, globex] = [app.as(ROOT), app.as(GLOBEX)];
  await app.as(ACME).users.create({ email: SHARED, apps: [SALES], first_name: 'Both', client: 1 });
  await root.clients.update({ id: 2, name: `${MARK} client`, invitation_body: `${MARK} body` });
  await root.apps.update({ app_id: FLEET, label: `${MARK} app` });
  await root.users.update({ email: SHARED, apps: [SALES, FLEET] });
  await app.tokenOf(SHARED);
  await app
    .as(SHARED)
    .savedFilters.create({ stack_id: 'd3d64b79', hash: 'of-fleet', name: `${MARK} filter` });
  await globex.memberships.update({ id: 2, email: SHARED, extra: { data: `${MARK} extra` } });
  await globex.grants.update({ app_id: FLEET, email: SHARED, reason: `${MARK} reason` });
  await globex.groups.create({ id: 2, name: `${MARK} group`, members: [SHARED], apps: [FLEET] });
  await globex.accessViews.create({
    app: 'fleet',
    user_email: SHARED,
    data_permissions: { rows: `${MARK} view` },
  });
  const entry = { email: SHARED, action: 'STACK_ACCESS', action_description: `${MARK} usage` };
  await globex.usage.record({ app_id: FLEET, entries: [entry] });
  const now = app.clock.now();
  const requestable = { client_id: 2, slug: 'request', label: `${MARK} requestable`, is_requestable: true };
  await addRows(app, 'apps', { id: 'request0', ...requestable, created_at: now });
  await app.as(SHARED).requests.create({ app: 'request0', reason: `${MARK} request` });
  const invitation = { client_id: 2, inviter_id: await userId(app, GLOBEX), email: SHARED, key: 'of-both' };
  const closed = { status: 'accepted', date_invited: now, expires_at: now, closed_at: now } as const;
  const extra = { data: `${MARK} invitation` };
  await addRows(app, 'invitations', { ...invitation, extra, ...closed });
  await globex.invitations.create({ items: [{ email: `guest@${MARK}.test`, client: 2 }] });
});

type Input = Record<string, unknown>;

/** Procedures ignore keys that they do not know, so each gets what it needs from one of these. */
const inputsFor = (client: number, app_id: string, slug: string): Input[] => {
  const ids = { email: SHARED, app_id, app_slug: slug, id: client };
  const one = { ...ids, stack_id: 'd3d64b79', hash: 'of-fleet', key: '1' };
  return [
    { ...one, client, app: slug, days: 90, apps: [app_id] },
    one,
    { ...one, app: app_id, group_id: 1, limit: 200, target: SHARED, search: 'both', status: 'all' },
    { ...one, group_id: 2, search: MARK },
  ];
};

const procedures = appRouter._def.procedures as unknown as Record<string, AnyTRPCProcedure>; // flat, by path
const queries = Object.entries(procedures)
  .filter(([, procedure]) => procedure._def.type === 'query')
  .map(([path]) => path);

/** The whole text of a result, also of a stream of pages. */
const textOf = async (result: unknown): Promise<string> => {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result))
    return JSON.stringify(result) ?? '';
  const parts: string[] = [];
  for await (const page of result as AsyncIterable<unknown>) parts.push(await textOf(page));
  return parts.join('\n');
};

/** What a caller reads with each input that is accepted, by procedure. */
const readAll = async (app: TestApp, who: string, inputs: readonly Input[]) => {
  const caller = app.as(who) as unknown as Record<string, Record<string, (input: Input) => Promise<unknown>>>; // called by path
  const found = new Map<string, string[]>();
  for (const path of queries) {
    const [router = '', name = ''] = path.split('.');
    for (const input of inputs) {
      const [outcome] = await Promise.allSettled([
        Promise.resolve(caller[router]?.[name]?.(input)).then(textOf),
      ]);
      if (outcome.status === 'fulfilled') found.set(path, [...(found.get(path) ?? []), outcome.value]);
    }
  }
  return found;
};

const OWN = inputsFor(1, SALES, 'sales');
const OTHER = inputsFor(2, FLEET, 'fleet');

for (const [what, who, inputs, forbidden] of [
  ['the other client, by any query', ACME, OWN, FOREIGN],
  ['the other client with its own ids', ACME, OTHER, FOREIGN],
  ['either client for a member', ADA, [...OWN, ...OTHER], [...FOREIGN, SHARED]],
] as const)
  reads(`hold nothing of ${what}`, async ({ app }) => {
    const found = await readAll(app, who, inputs);
    const leaks = [...found].filter(([, texts]) =>
      texts.some((text) => forbidden.some((mark) => text.includes(mark))),
    );

    console.log(`${found.size} of ${queries.length} queries read`);
    assert.equal(
      leaks.map(([path]) => path),
      [],
    );
    if (inputs === OWN) assert.ok([...found.values()].flat().some((text) => text.includes(SHARED)));
  });

reads('show the marks to the admin of that client, so that the test can fail', async ({ app }) => {
  const found = await readAll(app, GLOBEX, inputsFor(2, FLEET, 'fleet'));
  const marked = [...found].filter(([, texts]) => texts.some((text) => text.includes(MARK)));
  console.log(
    `${marked.length} queries show what the client has written: ${marked.map(([path]) => path).join(', ')}`,
  );
  assert.ok(marked.length >= 15);
  const unread = queries.filter((path) => !found.has(path));
  console.log(`not read: ${unread.join(', ')}`);
});

reads('do not say when a password was set before the person joined', async ({ app }) => {
  const email = 'later@people.test';
  await app.as(GLOBEX).users.create({ email, client: 2, send_email: false });
  const before = app.clock.now();
  app.clock.advance(60_000);
  await app.as(ROOT).users.update({ email, apps: [SALES] });
  const setSeenBy = async (admin: string, id: number) => {
    const users = await app.as(admin).clients.users({ id, search: email });
    return [...users].find((user) => user.email === email)?.last_password_set;
  };

  assert.equal(await setSeenBy(GLOBEX, 2), before);
  assert.equal(await setSeenBy(ROOT, 1), before);
  assert.equal(await setSeenBy(ACME, 1), app.clock.now());
});

reads.run();
