import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { askGate, isActive, LAUNCH_URL, openedView, openView, setApp } from '../support/access-views.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const ended = appSuite('access that ends', { BASE_URL: 'https://steward.test' });

ended.before(async ({ app }) => {
  await setApp(app, { launch_url: LAUNCH_URL });
  await app.db().updateTable('apps').set({ launch_url: LAUNCH_URL }).where('id', '=', FLEET).execute();
});

type Person = { email: string; group: number };

let added = 0;

/** A person of both clients. Sales comes by a grant, or by a group of Acme; Fleet by a grant. */
const addPerson = async (app: TestApp, sales: 'grant' | 'group'): Promise<Person> => {
  added += 1;
  const email = `ending-${added}@acme.test`;
  const apps = sales === 'grant' ? [SALES, FLEET] : [FLEET];
  await app.as(ROOT).users.create({ email, client: 1, apps, send_email: false });
  const members = sales === 'group' ? [email] : [];
  const { id } = await app.as(ACME).groups.create({ id: 1, name: `Ending ${added}`, members, apps: [SALES] });
  return { email, group: id };
};

/** Everything by which someone gets into an app, opened now and tried later. Each returns whether it leads into the app. */
const openDoors = async (app: TestApp, { email }: Person, slug: 'sales' | 'fleet') => {
  const [app_id, admin] = slug === 'sales' ? [SALES, ACME] : [FLEET, GLOBEX];
  const { ticket } = await app.as(email).apps.openTicket({ app_id });
  const { url } = await app.as(email).apps.launch({ app_slug: slug });
  const code = new URL(url).searchParams.get('code') ?? '';
  const embedded = (await app.send(`GET /jb/apps/${slug}/embed/${email}/`, { as: admin })).json().url;
  const succeeds = (work: Promise<unknown>) =>
    work.then(
      () => true,
      () => false,
    );
  return {
    'a live ticket': () => isActive(app, ticket),
    'a new ticket': () => succeeds(app.as(email).apps.openTicket({ app_id })),
    'a launch code': () => succeeds(app.as(null).tickets.exchange({ code, app: slug })),
    'a new launch': () => succeeds(app.as(email).apps.launch({ app_slug: slug })),
    'the gate': async () => (await askGate(app, { as: email }, `/gate/${slug}/`)).statusCode === 204,
    'an embed link': async () => (await openView(app, embedded.slice(-33, -1))).statusCode === 303,
    'the list of apps': async () =>
      (
        await app
          .as(email)
          .apps.list({})
          .catch(() => [])
      ).some(({ id }) => id === app_id),
  };
};

const stateOf = async (doors: Awaited<ReturnType<typeof openDoors>>): Promise<Record<string, boolean>> => {
  const entries = Object.entries(doors);
  const states = [];
  for (const [name, isOpen] of entries) states.push([name, await isOpen()]);
  return Object.fromEntries(states);
};

const ENDINGS: Record<
  string,
  { sales: 'grant' | 'group'; end: (app: TestApp, who: Person) => Promise<unknown> }
> = {
  'when a grant expires': {
    sales: 'grant',
    end: (app, { email }) =>
      sql`update app_grants set expires_at = ${app.clock.now()}::timestamptz where app_id = ${SALES}
          and user_id = (select id from users where email = ${email})`.execute(app.db()),
  },
  'when a grant is revoked': {
    sales: 'grant',
    end: (app, { email }) => app.as(ACME).grants.remove({ app_id: SALES, email }),
  },
  'when a membership is suspended': {
    sales: 'grant',
    end: (app, { email }) => app.as(ACME).memberships.update({ id: 1, email, is_active: false }),
  },
  'when a membership ends': {
    sales: 'grant',
    end: (app, { email }) => app.as(ACME).memberships.remove({ id: 1, email }),
  },
  'when someone leaves a group': {
    sales: 'group',
    end: (app, { group }) => app.as(ACME).groups.update({ id: 1, group_id: group, members: [] }),
  },
  'when a group loses the app': {
    sales: 'group',
    end: (app, { group }) => app.as(ACME).groups.update({ id: 1, group_id: group, apps: [] }),
  },
};

for (const [title, { sales, end }] of Object.entries(ENDINGS))
  ended(`closes every way into the app ${title}, and none into an app of another client`, async ({ app }) => {
    const open = await addPerson(app, sales);
    const closed = await addPerson(app, sales);
    const controls = await stateOf(await openDoors(app, open, 'sales'));
    assert.equal(new Set(Object.values(controls)), new Set([true]), JSON.stringify(controls));

    const [ofAcme, ofGlobex] = [await openDoors(app, closed, 'sales'), await openDoors(app, closed, 'fleet')];
    const view = await openedView(app, { user: closed.email });
    assert.is((await askGate(app, { headers: view.headers })).statusCode, 204);
    await end(app, closed);

    const after = await stateOf(ofAcme);
    assert.equal(new Set(Object.values(after)), new Set([false]), JSON.stringify(after));
    // A suspension also deletes the session of the opened link: the gate then answers 401.
    assert.ok([401, 403].includes((await askGate(app, { headers: view.headers })).statusCode));
    const elsewhere = await stateOf(ofGlobex);
    assert.equal(new Set(Object.values(elsewhere)), new Set([true]), JSON.stringify(elsewhere));
  });

ended.run();
