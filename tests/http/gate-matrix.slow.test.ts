import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { openedView, openView, setApp, setClient, ticketOf, usedView } from '../support/access-views.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, GRACE, IDLE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

/** Every kind of person, in every state of an app, by every way in: all ways give the same answer. */
const matrix = appSuite('the gate, for each person and state of the app');

const PEOPLE = {
  'a member with the app': { email: GRACE, isGranted: true },
  'a member without the app': { email: ADA },
  'a client admin': { email: ACME, isAdministrator: true },
  'a member of staff': { email: STAFF, isAdministrator: true },
  'a superuser': { email: ROOT, isAdministrator: true },
  'a deactivated member with the app': { email: IDLE, isGranted: true, isInactive: true },
};
type Person = { email: string; isGranted?: boolean; isAdministrator?: boolean; isInactive?: boolean };

const STATES = {
  open: {},
  'in maintenance': { isInMaintenance: true },
  'of a closed client': { isClosed: true },
  'in maintenance, of a closed client': { isInMaintenance: true, isClosed: true },
  'taken away from its members': { isTakenAway: true },
};
type State = { isInMaintenance?: boolean; isClosed?: boolean; isTakenAway?: boolean };

type Answer = 'open' | 'maintenance' | 'closed' | 'hidden' | 'logged out';

const expectedAnswer = (person: Person, state: State): Answer => {
  if (person.isInactive) return 'logged out';
  const hasAccess = person.isAdministrator || (person.isGranted && !state.isTakenAway);
  if (!hasAccess) return 'hidden';
  if (state.isClosed) return person.isAdministrator ? 'closed' : 'hidden';
  return state.isInMaintenance ? 'maintenance' : 'open';
};

type Answers = { list: string; gate: number; ticket: string; code: string; active: boolean; view: number };

/** What each way answers. Views show the reason to everyone who has the link; they need no login. */
const REFUSED = { code: 'invalid-launch-code', active: false, view: 403 };
const MAINTENANCE = { ticket: 'app-in-maintenance', code: 'app-in-maintenance', active: false, view: 503 };
const EXPECTED: Record<Answer, Answers> = {
  open: { list: 'listed', gate: 204, ticket: 'issued', code: 'issued', active: true, view: 303 },
  maintenance: { list: 'listed', gate: 503, ...MAINTENANCE },
  closed: { list: 'listed', gate: 403, ticket: 'client-closed', ...REFUSED },
  hidden: { list: 'not listed', gate: 403, ticket: 'not-found', ...REFUSED },
  'logged out': { list: 'unauthenticated', gate: 401, ticket: 'unauthenticated', ...REFUSED },
};

const codeOf = (error: unknown): string => {
  for (let at = error; at instanceof Error; at = at.cause)
    if ('code' in at && at.name === 'Problem') return String(at.code);
  throw error;
};

const setActive = (app: TestApp, email: string, is_active: boolean) =>
  setRows(app, 'users', { email }, { is_active });

const setGrants = async (app: TestApp, emails: string[]) => {
  await sql`delete from app_grants where app_id = ${SALES}`.execute(app.db());
  await sql`insert into app_grants (user_id, app_id)
    select id, ${SALES} from users where email = any(${emails})`.execute(app.db());
};

const setState = async (app: TestApp, { isInMaintenance, isClosed, isTakenAway }: State) => {
  const people: Person[] = Object.values(PEOPLE);
  const granted = people.filter(({ isGranted }) => isGranted);
  await setApp(app, { in_maintenance: isInMaintenance === true, launch_url: 'https://sales.test/' });
  await setClient(app, 1, isClosed !== true);
  await setGrants(app, isTakenAway ? [] : granted.map(({ email }) => email));
};

type Prepared = { ticket: string; code: string; key: string; cookie: string };

/** A ticket, a code, a view and an opened view of each person, from a time when they could open the app. */
const prepare = async (app: TestApp) => {
  await setState(app, {});
  const emails = Object.values(PEOPLE).map(({ email }) => email);
  await setGrants(app, emails);
  await setActive(app, IDLE, true);
  const prepared: Record<string, Prepared> = {};
  for (const email of emails) {
    const { key, viewId } = await usedView(app, { user: email, by_superuser: true });
    await setRows(app, 'access_views', { id: viewId }, { allowed_uses: 0 });
    const { url } = await app.as(email).apps.launch({ app_slug: 'sales' });
    const { headers } = await openedView(app, { user: email, by_superuser: true });
    const code = String(new URL(url).searchParams.get('code'));
    prepared[email] = { ticket: await ticketOf(app, email), code, key, cookie: headers.cookie };
  }
  await setActive(app, IDLE, false);
  return prepared;
};

for (const [state, change] of Object.entries(STATES)) {
  matrix(`gives one answer by every way in while the app is ${state}`, async ({ app }) => {
    const prepared = await prepare(app);
    await setState(app, change);

    for (const [kind, person] of Object.entries(PEOPLE)) {
      const { email } = person;
      const { ticket = '', code = '', key = '', cookie = '' } = prepared[email] ?? {};
      const caller = app.as(email);
      const issued = (work: Promise<unknown>) => work.then(() => 'issued', codeOf);
      const list = caller.apps
        .list({})
        .then((apps) => (apps.some(({ id }) => id === SALES) ? 'listed' : 'not listed'), codeOf);
      const actual = {
        list: await list,
        gate: (await app.send('GET !/gate/sales/', { as: email })).statusCode,
        ticket: await issued(caller.apps.openTicket({ app_id: SALES })),
        code: await issued(app.as(null).tickets.exchange({ code, app: 'sales' })),
        active: (await app.as(ROOT).tickets.introspect({ token: ticket })).active,
        view: (await openView(app, key)).statusCode,
      };
      const expected = EXPECTED[expectedAnswer(person, change)];
      assert.equal(actual, expected, `${kind}, ${state}`);
      const launched = await issued(caller.apps.launch({ app_slug: 'sales' }));
      assert.is(launched, expected.ticket, `launched by ${kind}, ${state}`);
      // A browser that has opened a view is refused, and not asked for a login.
      const embedded = (await app.send('GET !/gate/sales/', { headers: { cookie } })).statusCode;
      assert.is(embedded, expected.gate === 401 ? 403 : expected.gate, `embedded for ${kind}, ${state}`);
    }
  });
}

matrix.run();
