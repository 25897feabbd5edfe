import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { FactorPolicy } from '../../entities/client.ts';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { setApp, usedView } from '../support/access-views.ts';
import { createScript, createVisitor } from '../support/http-clients.ts';
import { enrollPasskey } from '../support/passkeys.ts';
import { enroll, forgetAttempts, nextCode, problemIn, setFactorPolicy } from '../support/second-factors.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

/** Each person × policy × grace × second factor, by every way into the service and its apps. */
const matrix = appSuite('policies for second factors, for each person and way in');

type Case = {
  person: string;
  email: string;
  isMember: boolean;
  policy: FactorPolicy;
  isGraceOver: boolean;
  factor: 'none' | 'app' | 'passkey';
};

const PEOPLE = [
  { person: 'a member', email: ADA, isMember: true },
  { person: 'a client admin', email: ACME, isMember: true },
  { person: 'a member of staff', email: STAFF, isMember: false },
  { person: 'a superuser', email: ROOT, isMember: false },
];

const CASES: Case[] = PEOPLE.flatMap((person) =>
  (['off', 'optional', 'required', 'passkey'] as const).flatMap((policy) =>
    [false, true].flatMap((isGraceOver) =>
      (['none', 'app', 'passkey'] as const).map((factor) => ({ ...person, policy, isGraceOver, factor })),
    ),
  ),
);

type State = Case & {
  token: string;
  named: string;
  secret: string | null;
  session: ReturnType<typeof createScript>;
};
type Way = {
  run: (app: TestApp, state: State) => Promise<unknown>;
  /** With a second factor; without one but in time, or not concerned; without one and too late. */
  expected: [withFactor: unknown, inTime: unknown, tooLate: unknown];
  /** Whether it is about the app, so that the policy of its client also concerns those who are no members. */
  isApp?: boolean;
};

const outcomeOf = (response: { statusCode: number; json: () => { type?: string } }) =>
  response.statusCode >= 400 ? `${response.statusCode} ${problemIn(response)}` : response.statusCode;

const login = ({ email: username }: State) => ({ username, password: DEMO_PASSWORD });

const HTML = { accept: 'text/html' };

const WAYS: Record<string, Way> = {
  'password page': {
    run: async (app, state) => {
      const visitor = createVisitor(app);
      await visitor.get('/login/');
      const { location } = await visitor.submit('/login/', login(state));
      return [location, visitor.jar.has('steward_session')];
    },
    expected: [
      ['/login/code/', false],
      ['/', true],
      ['/login/enrol/', false],
    ],
  },
  'session API': {
    run: async (app, state) => outcomeOf(await createScript(app).logIn(state.email, DEMO_PASSWORD)),
    expected: ['400 otp-required', 200, '400 second-factor-required'],
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
  },
  'named token': {
    run: async (app, { named }) =>
      (await app.send('GET /session/', { headers: { authorization: `Token ${named}` } })).statusCode,
    expected: [200, 200, 200],
  },
  'ticket by a named token': {
    run: async (app, { named }) =>
      (await app.send(`POST /jb/apps/${SALES}/ticket/`, { headers: { authorization: `Token ${named}` } }))
        .statusCode,
    expected: [200, 200, 200],
  },
  'gate by a named token': {
    run: async (app, { named }) =>
      (await app.send('GET !/gate/sales/', { headers: { authorization: `Token ${named}` } })).statusCode,
    expected: [204, 204, 204],
  },
  'ticket by a session of a password': {
    isApp: true,
    run: async (_app, { session }) => outcomeOf(await session.send(`POST /jb/apps/${SALES}/ticket/`)),
    expected: [200, 200, '403 second-factor-required'],
  },
  'launch by a session of a password': {
    isApp: true,
    run: async (_app, { session }) => outcomeOf(await session.send('POST /app/launch/sales/')),
    expected: [200, 200, '403 second-factor-required'],
  },
  'launch page': {
    isApp: true,
    run: async (_app, { session }) => {
      const { location } = (await session.send('GET !/launch/sales/', { headers: HTML })).headers;
      return String(location).replace(/\?code=.*/, '');
    },
    expected: ['https://sales.test/', 'https://sales.test/', '/login/?next=%2Flaunch%2Fsales%2F&enrol=1'],
  },
  gate: {
    isApp: true,
    run: async (_app, { session }) => {
      const { statusCode, headers } = await session.send('GET !/gate/sales/?redirect=1', { headers: HTML });
      return [statusCode, headers.location];
    },
    expected: [
      [204, undefined],
      [204, undefined],
      [303, 'http://localhost:8000/login/?next=%2Flaunch%2Fsales%2F&enrol=1'],
    ],
  },
  'view without a login': {
    isApp: true,
    run: async (app, { email }) => {
      const { key } = await viewOf(app, email);
      return (await app.send(`GET !/v/${key}/`, { headers: HTML })).statusCode;
    },
    expected: [303, 303, 403],
  },
  'one-time view of a platform': {
    isApp: true,
    run: async (app, { email }) => {
      const { key } = await viewOf(app, email, true);
      return (await app.send(`GET !/v/${key}/`, { headers: HTML })).statusCode;
    },
    expected: [303, 303, 303],
  },
};

/** Those of sessions that were made before a second factor was: with one, a policy that is too late asks for its code. */
const WITH_FACTOR_TOO_LATE: Partial<Record<string, unknown>> = {
  'ticket by a session of a password': '403 second-factor-required',
  'launch by a session of a password': '403 second-factor-required',
  'launch page': '/login/code/?next=%2Flaunch%2Fsales%2F',
  gate: [303, 'http://localhost:8000/login/code/?next=%2Flaunch%2Fsales%2F'],
  'view without a login': 403,
};

const oneTime = (app: TestApp) => ({
  is_one_time: true,
  allowed_uses: 1,
  uses: 0,
  expires_at: new Date(app.clock.now().getTime() + MINUTE_MS),
});

const viewOf = async (app: TestApp, email: string, isOneTime = false) => {
  const { key, viewId } = await usedView(app, { user: email, by_superuser: true });
  await app
    .db()
    .updateTable('access_views')
    .set(isOneTime ? oneTime(app) : { allowed_uses: 0 })
    .where('id', '=', viewId)
    .execute();
  return { key };
};

/** If the factor has to be a passkey, the page asks for it. */
const PASSKEY_TOO_LATE: Partial<Record<string, unknown>> = {
  ...WITH_FACTOR_TOO_LATE,
  'launch page': '/login/code/?next=%2Flaunch%2Fsales%2F&passkey=1',
  gate: [303, 'http://localhost:8000/login/code/?next=%2Flaunch%2Fsales%2F&passkey=1'],
};

const expectedOf = (name: string, { expected, isApp = false }: Way, state: Case): unknown => {
  const { policy, isGraceOver, isMember, factor } = state;
  const isConcerned = (policy === 'required' || policy === 'passkey') && isGraceOver && (isApp || isMember);
  if (factor === 'none') return expected[isConcerned ? 2 : 1];
  if (name === 'token endpoint with a code') {
    if (factor === 'passkey') return '400 invalid-otp';
    return isConcerned && policy === 'passkey' ? '400 second-factor-required' : expected[0];
  }
  const late = policy === 'passkey' ? PASSKEY_TOO_LATE : WITH_FACTOR_TOO_LATE;
  return isConcerned && name in late ? late[name] : expected[0];
};

const prepare = async (app: TestApp, each: Case): Promise<State> => {
  const { email, policy, isGraceOver, factor } = each;
  await sql`delete from mfa_factors`.execute(app.db());
  await sql`delete from api_tokens where name <> ''`.execute(app.db());
  await forgetAttempts(app);
  await setFactorPolicy(app, 1, { policy: 'off' });
  await app.renewToken(email);
  const session = createScript(app);
  assert.is((await session.logIn(email, DEMO_PASSWORD)).statusCode, 200);
  const { token: named } = await app.as(email).tokens.createNamed({ name: 'script' });
  const secret = factor === 'app' ? (await enroll(app, email)).secret : null;
  if (factor === 'passkey') await enrollPasskey(app, email);
  await setFactorPolicy(app, 1, { policy, daysAgo: 10, graceDays: isGraceOver ? 5 : 30 });
  return { ...each, token: await app.tokenOf(email), named, secret, session };
};

matrix.before(async ({ app }) => {
  await setApp(app, { launch_url: 'https://sales.test/' });
  await sql`insert into app_grants (user_id, app_id) select id, ${SALES} from users
    where email = any(${PEOPLE.map(({ email }) => email)}) on conflict do nothing`.execute(app.db());
});

const WITH = { none: 'none', app: 'an app', passkey: 'a passkey' };

for (const each of CASES) {
  const { person, policy, isGraceOver, factor } = each;
  const title = `${person} with ${WITH[factor]}, if it is ${policy}, ${isGraceOver ? 'after' : 'during'} the grace`;
  matrix(title, async ({ app }) => {
    const state = await prepare(app, each);
    for (const [name, way] of Object.entries(WAYS))
      assert.equal(await way.run(app, state), expectedOf(name, way, state), name);
  });
}

matrix('lets a session in once the code is entered by page, or over REST', async ({ app }) => {
  const state = await prepare(app, {
    person: '',
    email: ADA,
    isMember: true,
    policy: 'required',
    isGraceOver: true,
    factor: 'app',
  });
  const code = nextCode(app, state.secret ?? '');
  assert.is((await state.session.send('POST /session/confirm/', { payload: { code } })).statusCode, 204);
  assert.is((await state.session.send('GET !/gate/sales/')).statusCode, 204);

  const visitor = createVisitor(app);
  await setFactorPolicy(app, 1, { policy: 'off' });
  await sql`delete from mfa_factors`.execute(app.db());
  await visitor.get('/login/');
  await visitor.submit('/login/', { username: ADA, password: DEMO_PASSWORD });
  const { secret } = await enroll(app, ADA);
  await setFactorPolicy(app, 1, { policy: 'required', daysAgo: 1 });
  const { location } = await visitor.get('/launch/sales/');
  const form = await visitor.get(location ?? '');
  assert.match(form.text, 'Enter your code');
  assert.is(
    (await visitor.submit('/login/code/', { code: nextCode(app, secret) })).location,
    '/launch/sales/',
  );
  assert.match((await visitor.get('/launch/sales/')).location ?? '', 'https://sales.test/?code=');
});

matrix(
  'lets a person open a link to themselves after the login, and ends it for their frames before',
  async ({ app }) => {
    const state = await prepare(app, {
      person: '',
      email: ADA,
      isMember: true,
      policy: 'required',
      isGraceOver: true,
      factor: 'app',
    });
    const { key } = await viewOf(app, ADA);
    const { session } = state;
    const open = () => session.send(`GET !/v/${key}/`, { headers: HTML });
    assert.match((await open()).body, `href="/login/code/?next=%2Fv%2F${key}%2F"`);
    const code = nextCode(app, state.secret ?? '');
    await session.send('POST /session/confirm/', { payload: { code } });
    assert.is((await open()).statusCode, 303);
  },
);

matrix('counts no use of a link that is refused', async ({ app }) => {
  await prepare(app, {
    person: '',
    email: ADA,
    isMember: true,
    policy: 'required',
    isGraceOver: true,
    factor: 'none',
  });
  const { key } = await viewOf(app, ADA);
  const uses = async () =>
    (
      await app
        .db()
        .selectFrom('access_views')
        .select('uses')
        .where('key', '=', key)
        .executeTakeFirstOrThrow()
    ).uses;
  const before = await uses();
  const refused = await app.send(`GET !/v/${key}/`, { headers: HTML });

  assert.is(refused.statusCode, 403);
  assert.match(refused.body, 'requires a second factor');
  assert.is(await uses(), before);
});

matrix('ends tickets of sessions that are not enough, and none of tokens', async ({ app }) => {
  const state = await prepare(app, {
    person: '',
    email: ADA,
    isMember: true,
    policy: 'off',
    isGraceOver: true,
    factor: 'none',
  });
  const bySession = (await state.session.send(`POST /jb/apps/${SALES}/ticket/`)).json().ticket;
  const byToken = (await app.send(`POST /jb/apps/${SALES}/ticket/`, { as: ADA })).json().ticket;
  const activity = async () =>
    Promise.all(
      [bySession, byToken].map(async (token) => (await app.as(ROOT).tickets.introspect({ token })).active),
    );

  assert.equal(await activity(), [true, true]);
  await setFactorPolicy(app, 1, { policy: 'required', daysAgo: 1 });
  assert.equal(await activity(), [false, true]);
});

matrix('asks for the factor of another client only at logins', async ({ app }) => {
  await setFactorPolicy(app, 1, { policy: 'off' });
  await sql`delete from mfa_factors`.execute(app.db());
  const session = createScript(app);
  await session.logIn(ADA, DEMO_PASSWORD);
  await sql`insert into memberships (client_id, user_id) select 2, id from users where email = ${ADA} on conflict do nothing`.execute(
    app.db(),
  );
  await setFactorPolicy(app, 2, { policy: 'required', daysAgo: 1 });

  assert.is((await session.send('GET !/gate/sales/')).statusCode, 204);
  assert.is(problemIn(await createScript(app).logIn(ADA, DEMO_PASSWORD)), 'second-factor-required');
});

matrix.run();
