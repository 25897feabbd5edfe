import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { FactorPolicy } from '../../entities/client.ts';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { isActive, setApp, usedView } from '../support/access-views.ts';
import { createScript, createVisitor } from '../support/http-clients.ts';
import { enterPassword, givePassword, loggedIn } from '../support/logins.ts';
import { inviteByLink, mailedPasswordPath } from '../support/mails.ts';
import { type Authenticator, challengedByPasskey, enrollPasskey, requested } from '../support/passkeys.ts';
import { setRows, valuesOf } from '../support/rows.ts';
import { enroll, forgetAttempts, nextCode, problemIn, setFactorPolicy } from '../support/second-factors.ts';
import { ADA, appSuite, DEMO_PASSWORD, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

/** Each policy × second factor, by every way into the service and its apps. */
const matrix = appSuite('second factors, for each policy and way in');

type Case = {
  email: string;
  isMember: boolean;
  policy: FactorPolicy;
  isGraceOver: boolean;
  factor: 'none' | 'app' | 'passkey';
};

const POLICIES = [
  { policy: 'off', isGraceOver: true },
  { policy: 'required', isGraceOver: false },
  { policy: 'required', isGraceOver: true },
  { policy: 'passkey', isGraceOver: true },
] as const;
const FACTORS = ['none', 'app', 'passkey'] as const;
const MEMBER = { email: ADA, isMember: true };
const SUPERUSER = { email: ROOT, isMember: false };

const CASES: Case[] = [
  ...POLICIES.flatMap((policy) => FACTORS.map((factor) => ({ ...MEMBER, ...policy, factor }))),
  ...(['none', 'app'] as const).map((factor) => ({ ...SUPERUSER, ...POLICIES[2], factor })),
];

type State = Case & {
  password: string;
  named: string;
  secret: string | null;
  authenticator: Authenticator | null;
  session: ReturnType<typeof createScript>;
};
type Way = {
  run: (app: TestApp, state: State) => Promise<unknown>;
  /** With a second factor; without one but in time, or not concerned; without one and too late. */
  expected: [withFactor: unknown, inTime: unknown, tooLate: unknown];
  /** Whether it is about the app, so that the policy of its client also concerns those who are no members. */
  isApp?: boolean;
  /** With a passkey, if that differs from another second factor. */
  withPasskey?: unknown;
  /** In a session that was made before the second factor was, if a policy that is too late asks for it. */
  withFactorTooLate?: unknown;
  /** Likewise, if the factor has to be a passkey. */
  withPasskeyTooLate?: unknown;
};

const outcomeOf = (response: { statusCode: number; json: () => { type?: string } }) =>
  response.statusCode >= 400 ? `${response.statusCode} ${problemIn(response)}` : response.statusCode;

const login = ({ email: username, password }: State) => ({ username, password });
const byToken = async (app: TestApp, line: string, token: string) =>
  (await app.send(line, { headers: { authorization: `Token ${token}` } })).statusCode;
const always = (outcome: unknown): [unknown, unknown, unknown] => [outcome, outcome, outcome];
const HTML = { accept: 'text/html' };
const REFUSED = '403 second-factor-required';
const LOGIN_FOR_APP = '/login/?next=%2Flaunch%2Fsales%2F&enrol=1';
const CODE_FOR_APP = '/login/code/?next=%2Flaunch%2Fsales%2F';
let passwords = 0;

const WAYS: Record<string, Way> = {
  'password page': {
    run: async (app, state) => {
      const visitor = createVisitor(app);
      const { location } = await enterPassword(visitor, state.email, { password: state.password });
      return `${location} ${visitor.jar.has('steward_session')}`;
    },
    expected: ['/login/code/ false', '/ true', '/login/enrol/ false'],
  },
  'session API': {
    run: async (app, { email, password }) => {
      const browser = createScript(app);
      const outcome = outcomeOf(await browser.logIn(email, password));
      return `${outcome}, ${(await browser.send('GET /session/')).statusCode}`;
    },
    expected: ['400 otp-required, 401', '200, 200', '400 second-factor-required, 401'],
  },
  'token endpoint': {
    run: async (app, state) => outcomeOf(await app.send('POST /api-token-auth/', { payload: login(state) })),
    expected: ['400 otp-required', 200, '400 second-factor-required'],
  },
  'token endpoint with a code': {
    run: async (app, state) => {
      const otp = state.secret === null ? '123456' : nextCode(app, state.secret);
      return outcomeOf(await app.send('POST /api-token-auth/', { payload: { ...login(state), otp } }));
    },
    expected: [200, 200, '400 second-factor-required'],
    withPasskey: '400 invalid-otp',
    withPasskeyTooLate: '400 second-factor-required',
  },
  'passkey after the password': {
    run: async (app, { email, password, authenticator }) => {
      const { options, answer } = await challengedByPasskey(app, email, password);
      return options && authenticator ? outcomeOf(await answer(authenticator.get(options))) : 'none';
    },
    expected: always('none'),
    withPasskey: 200,
  },
  'passkey alone': {
    run: async (app, { authenticator }) => {
      const { options, answer } = await requested(app);
      return authenticator ? outcomeOf(await answer(authenticator.get(options))) : 'none';
    },
    expected: always('none'),
    withPasskey: 200,
  },
  'link of an invitation': {
    run: async (app, { email }) => {
      const { path } = await inviteByLink(app, { email, client: 2, by: GLOBEX });
      const visitor = createVisitor(app);
      const page = await visitor.get(path);
      await visitor.post(path, { password: 'Violet-harbor-92-kite', first_name: 'x' });
      return [/Log in to accept/.test(page.text), visitor.jar.has('steward_session')];
    },
    expected: always([true, false]),
  },
  'named token': { run: (app, { named }) => byToken(app, 'GET /session/', named), expected: always(200) },
  'refreshed token': {
    run: async (app, { email }) => {
      const payload = { token: await app.tokenOf(email) };
      return (await app.send('POST /jb/api-token-refresh/', { payload })).statusCode;
    },
    expected: always(200),
  },
  'ticket by a named token': {
    run: (app, { named }) => byToken(app, `POST /jb/apps/${SALES}/ticket/`, named),
    expected: always(200),
  },
  'gate by a named token': {
    run: (app, { named }) => byToken(app, 'GET !/gate/sales/', named),
    expected: always(204),
  },
  'ticket by a session of a password': {
    isApp: true,
    run: async (_app, { session }) => outcomeOf(await session.send(`POST /jb/apps/${SALES}/ticket/`)),
    expected: [200, 200, REFUSED],
    withFactorTooLate: REFUSED,
  },
  'launch by a session of a password': {
    isApp: true,
    run: async (_app, { session }) => outcomeOf(await session.send('POST /app/launch/sales/')),
    expected: [200, 200, REFUSED],
    withFactorTooLate: REFUSED,
  },
  'launch page': {
    isApp: true,
    run: async (_app, { session }) => {
      const { location } = (await session.send('GET !/launch/sales/', { headers: HTML })).headers;
      return String(location).replace(/\?code=.*/, '');
    },
    expected: ['https://sales.test/', 'https://sales.test/', LOGIN_FOR_APP],
    withFactorTooLate: CODE_FOR_APP,
    withPasskeyTooLate: `${CODE_FOR_APP}&passkey=1`,
  },
  gate: {
    isApp: true,
    run: async (_app, { session }) => {
      const { statusCode, headers } = await session.send('GET !/gate/sales/?redirect=1', { headers: HTML });
      return statusCode === 303 ? String(headers.location).replace('http://localhost:8000', '') : statusCode;
    },
    expected: [204, 204, LOGIN_FOR_APP],
    withFactorTooLate: CODE_FOR_APP,
    withPasskeyTooLate: `${CODE_FOR_APP}&passkey=1`,
  },
  'view without a login': {
    isApp: true,
    run: async (app, { email }) => (await open(app, await viewOf(app, email))).statusCode,
    expected: [303, 303, 403],
    withFactorTooLate: 403,
  },
  'one-time view of a platform': {
    isApp: true,
    run: async (app, { email }) => (await open(app, await viewOf(app, email, true))).statusCode,
    expected: always(303),
  },
  // The last way, as it sets another password.
  'link to a new password': {
    run: async (app, { email }) => {
      await app.as(null).passwords.requestReset({ email });
      const token = new URL(await mailedPasswordPath(app, email), 'http://x').searchParams.get('token');
      const browser = createScript(app);
      passwords += 1;
      const password = `Violet-harbor-${passwords}-kite`;
      const set = await browser.send('POST /password/reset/', { payload: { token, password } });
      assert.equal([set.statusCode, browser.cookies.has('steward_session')], [204, false]);
      return outcomeOf(await browser.logIn(email, password));
    },
    expected: ['400 otp-required', 200, '400 second-factor-required'],
  },
};

const open = (app: TestApp, key: string) => app.send(`GET !/v/${key}/`, { headers: HTML });

const viewOf = async (app: TestApp, email: string, isOneTime = false) => {
  const { key, viewId } = await usedView(app, { user: email, by_superuser: true });
  const expires_at = new Date(app.clock.now().getTime() + MINUTE_MS);
  const change = isOneTime
    ? { is_one_time: true, allowed_uses: 1, uses: 0, expires_at }
    : { allowed_uses: 0 };
  await setRows(app, 'access_views', { id: viewId }, change);
  return key;
};

const expectedOf = (way: Way, { policy, isGraceOver, isMember, factor }: Case): unknown => {
  const isDemanded = (policy === 'required' || policy === 'passkey') && isGraceOver;
  const isConcerned = isDemanded && (way.isApp || isMember);
  if (factor === 'none') return way.expected[isConcerned ? 2 : 1];
  if (factor === 'passkey' && way.withPasskey !== undefined) return way.withPasskey;
  if (!isConcerned) return way.expected[0];
  const late = policy === 'passkey' ? way.withPasskeyTooLate : undefined;
  return late ?? way.withFactorTooLate ?? way.expected[0];
};

const PEOPLE = [ADA, ROOT];

const prepare = async (app: TestApp, changes: Partial<Case> = {}): Promise<State> => {
  const each: Case = { ...MEMBER, policy: 'required', isGraceOver: true, factor: 'app', ...changes };
  const { email, policy, isGraceOver, factor } = each;
  await sql`delete from mfa_factors`.execute(app.db());
  await sql`delete from api_tokens where name <> ''`.execute(app.db());
  await givePassword(app, ...PEOPLE);
  await forgetAttempts(app);
  await setFactorPolicy(app, 1, { policy: 'off' });
  for (const person of PEOPLE) await app.renewToken(person);
  const session = await loggedIn(app, email);
  const { token: named } = await app.as(email).tokens.createNamed({ name: 'script' });
  const secret = factor === 'app' ? (await enroll(app, email)).secret : null;
  const authenticator = factor === 'passkey' ? (await enrollPasskey(app, email)).authenticator : null;
  await setFactorPolicy(app, 1, { policy, daysAgo: 10, graceDays: isGraceOver ? 5 : 30 });
  return { ...each, password: DEMO_PASSWORD, named, secret, authenticator, session };
};

matrix.before(async ({ app }) => {
  await setApp(app, { launch_url: 'https://sales.test/' });
  await sql`insert into app_grants (user_id, app_id) select id, ${SALES} from users
    where email = any(${PEOPLE}) on conflict do nothing`.execute(app.db());
});

const WITH = { none: 'no second factor', app: 'an app', passkey: 'a passkey' };

for (const each of CASES) {
  const { isMember, policy, isGraceOver, factor } = each;
  const who = `${isMember ? 'a member' : 'a superuser'} with ${WITH[factor]}`;
  const when = `${isGraceOver ? 'after' : 'during'} the grace`;
  matrix(`let ${who} in as the table says, if they are ${policy}, ${when}`, async ({ app }) => {
    const state = await prepare(app, each);
    for (const [name, way] of Object.entries(WAYS))
      assert.equal(await way.run(app, state), expectedOf(way, state), name);
  });
}

matrix('lets a session in once the code is entered by page, or over REST', async ({ app }) => {
  const { session, secret: ofSession } = await prepare(app);
  const code = nextCode(app, ofSession ?? '');
  assert.is((await session.send('POST /session/confirm/', { payload: { code } })).statusCode, 204);
  assert.is((await session.send('GET !/gate/sales/')).statusCode, 204);

  const visitor = createVisitor(app);
  await setFactorPolicy(app, 1, { policy: 'off' });
  await sql`delete from mfa_factors`.execute(app.db());
  await enterPassword(visitor, ADA);
  const { secret } = await enroll(app, ADA);
  await setFactorPolicy(app, 1, { policy: 'required', daysAgo: 1 });
  const { location } = await visitor.get('/launch/sales/');
  assert.match((await visitor.get(location ?? '')).text, 'Enter your code');
  const entered = await visitor.submit('/login/code/', { code: nextCode(app, secret) });
  assert.is(entered.location, '/launch/sales/');
  assert.match((await visitor.get('/launch/sales/')).location ?? '', 'https://sales.test/?code=');
});

matrix('lets a person open a link to themselves after the code', async ({ app }) => {
  const { session, secret } = await prepare(app);
  const key = await viewOf(app, ADA);
  const openInSession = () => session.send(`GET !/v/${key}/`, { headers: HTML });
  assert.match((await openInSession()).body, `href="/login/code/?next=%2Fv%2F${key}%2F"`);
  await session.send('POST /session/confirm/', { payload: { code: nextCode(app, secret ?? '') } });
  assert.is((await openInSession()).statusCode, 303);
});

matrix('counts no use of a link that is refused', async ({ app }) => {
  await prepare(app, { factor: 'none' });
  const key = await viewOf(app, ADA);
  const uses = () => valuesOf(app, 'access_views', 'uses', { key });
  const before = await uses();
  const refused = await open(app, key);

  assert.is(refused.statusCode, 403);
  assert.match(refused.body, 'requires a second factor');
  assert.equal(await uses(), before);
});

matrix('ends tickets of sessions that are not enough, and none of tokens', async ({ app }) => {
  const { session } = await prepare(app, { policy: 'off', factor: 'none' });
  const ofSession = (await session.send(`POST /jb/apps/${SALES}/ticket/`)).json().ticket;
  const ofToken = (await app.send(`POST /jb/apps/${SALES}/ticket/`, { as: ADA })).json().ticket;
  const activity = () => Promise.all([ofSession, ofToken].map((ticket) => isActive(app, ticket)));

  assert.equal(await activity(), [true, true]);
  await setFactorPolicy(app, 1, { policy: 'required', daysAgo: 1 });
  assert.equal(await activity(), [false, true]);
});

matrix('asks for the factor of another client only at logins', async ({ app }) => {
  const { session } = await prepare(app, { policy: 'off', factor: 'none' });
  await app.as(ROOT).users.update({ email: ADA, apps: [SALES, FLEET] });
  await setFactorPolicy(app, 2, { policy: 'required', daysAgo: 1 });

  assert.is((await session.send('GET !/gate/sales/')).statusCode, 204);
  assert.is(problemIn(await createScript(app).logIn(ADA, DEMO_PASSWORD)), 'second-factor-required');
});

matrix.run();

const staff = appSuite('second factors that are required of staff', { STAFF_SECOND_FACTOR: 'required' });

staff('end what the password alone has opened when a person becomes staff', async ({ app }) => {
  const browser = await loggedIn(app);
  const { token: named } = await app.as(ADA).tokens.createNamed({ name: 'script' });
  const { token } = await app.as(null).tokens.create({ username: ADA, password: DEMO_PASSWORD });
  const { secret } = await enroll(app, GRACE);
  const strong = createScript(app);
  await strong.logIn(GRACE, DEMO_PASSWORD);
  const payload = { code: nextCode(app, secret) };
  assert.is((await strong.send('POST /session/otp/', { payload })).statusCode, 200);

  for (const email of [ADA, GRACE]) await app.as(ROOT).roles.update({ email, is_staff: true });

  assert.is((await browser.send('GET /session/')).statusCode, 401);
  const statuses = [await byToken(app, 'GET /session/', token), await byToken(app, 'GET /session/', named)];
  assert.equal(statuses, [401, 200]);
  assert.is((await strong.send('GET /session/')).statusCode, 200);

  // Sessions of before the setting end with the next role.
  await sql`update sessions set methods = array['pwd']`.execute(app.db());
  await app.as(ROOT).roles.update({ email: GRACE, is_superuser: true });
  assert.is((await strong.send('GET /session/')).statusCode, 401);
});

staff.run();
