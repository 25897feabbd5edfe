import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { setApp, usedView } from '../support/access-views.ts';
import { createScript, createVisitor } from '../support/http-clients.ts';
import { inviteByLink, mailedPasswordPath } from '../support/mails.ts';
import { type Authenticator, challengedByPasskey, enrollPasskey, requested } from '../support/passkeys.ts';
import { enroll, forgetAttempts, nextCode, problemIn } from '../support/second-factors.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  GLOBEX,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

/** Every kind of person, without a second factor, with an app and with a passkey, by every way in. */
const matrix = appSuite('a second factor, for each person and way in');

const PEOPLE = {
  'a member': ADA,
  'a client admin': ACME,
  'a member of staff': STAFF,
  'a superuser': ROOT,
};

/** `secret` and `authenticator`: of their second factor. */
type Person = {
  email: string;
  password: string;
  secret: string | null;
  authenticator: Authenticator | null;
  token: string;
  named: string;
};
type Way = (app: TestApp, person: Person) => Promise<unknown>;

const login = ({ email: username, password }: Person) => ({ username, password });

const statusWith = async (app: TestApp, token: string) => {
  const headers = { authorization: `Token ${token}` };
  return (await app.send('GET /session/', { headers })).statusCode;
};

/** The status, or the problem of a refused login. */
const outcomeOf = (response: { statusCode: number; json: () => { type?: string } }) =>
  response.statusCode === 400 ? problemIn(response) : response.statusCode;

const WAYS: Record<string, Way> = {
  'password page': async (app, person) => {
    const visitor = createVisitor(app);
    await visitor.get('/login/');
    const { location } = await visitor.submit('/login/', login(person));
    return [location, visitor.jar.has('steward_session')];
  },
  'session API': async (app, person) => {
    const browser = createScript(app);
    const response = await browser.logIn(person.email, person.password);
    return [outcomeOf(response), (await browser.send('GET /session/')).statusCode];
  },
  'token endpoint': async (app, person) =>
    outcomeOf(await app.send('POST /api-token-auth/', { payload: login(person) })),
  'token endpoint with a code': async (app, person) => {
    const otp = person.secret === null ? '123456' : nextCode(app, person.secret);
    return outcomeOf(await app.send('POST /api-token-auth/', { payload: { ...login(person), otp } }));
  },
  'passkey after the password': async (app, person) => {
    const { options, answer } = await challengedByPasskey(app, person.email, person.password);
    const key = person.authenticator;
    return options && key ? outcomeOf(await answer(key.get(options))) : 'nothing to answer';
  },
  'passkey alone': async (app, { authenticator }) => {
    const { options, answer } = await requested(app);
    return authenticator ? outcomeOf(await answer(authenticator.get(options))) : 'nothing to answer';
  },
  'existing token': (app, { token }) => statusWith(app, token),
  'named token': (app, { named }) => statusWith(app, named),
  'refreshed token': async (app, { token }) =>
    (await app.send('POST /jb/api-token-refresh/', { payload: { token } })).statusCode,
  'invitation link': async (app, { email }) => {
    const { path } = await inviteByLink(app, { email, client: 2, by: GLOBEX });
    const visitor = createVisitor(app);
    const page = await visitor.get(path);
    await visitor.post(path, { password: 'Violet-harbor-92-kite', first_name: 'x' });
    return [/Log in to accept/.test(page.text), visitor.jar.has('steward_session')];
  },
  'password link': async (app, person) => {
    await app.as(null).passwords.requestReset({ email: person.email });
    const token = new URL(await mailedPasswordPath(app, person.email), 'http://x').searchParams.get('token');
    const browser = createScript(app);
    person.password = `Violet-harbor-${newPassword++}-kite`;
    const set = { token, password: person.password };
    assert.is((await browser.send('POST /password/reset/', { payload: set })).statusCode, 204);
    const before = browser.cookies.has('steward_session');
    return [before, outcomeOf(await browser.logIn(person.email, person.password))];
  },
  launch: async (app, { email }) => {
    await app.renewToken(email);
    return typeof (await app.as(email).apps.launch({ app_slug: 'sales' })).url;
  },
  'access view': async (app, { email }) => {
    const { key, viewId } = await usedView(app, { user: email, by_superuser: true });
    await app.db().updateTable('access_views').set({ allowed_uses: 0 }).where('id', '=', viewId).execute();
    return (await app.send(`GET !/v/${key}/`, { headers: { accept: 'text/html' } })).statusCode;
  },
  gate: async (app, { email }) => (await app.send('GET !/gate/sales/', { as: email })).statusCode,
  'gate after the password': async (app, person) => {
    const browser = createScript(app);
    await browser.logIn(person.email, person.password);
    return (await browser.send('GET !/gate/sales/')).statusCode;
  },
};

let newPassword = 1;

/** Without a second factor, with an authenticator app, and with a passkey. */
const EXPECTED: Record<keyof typeof WAYS, [without: unknown, withApp: unknown, withPasskey: unknown]> = {
  'password page': [
    ['/', true],
    ['/login/code/', false],
    ['/login/code/', false],
  ],
  'session API': [
    [200, 200],
    ['otp-required', 401],
    ['otp-required', 401],
  ],
  'token endpoint': [200, 'otp-required', 'otp-required'],
  'token endpoint with a code': [200, 200, 'invalid-otp'],
  'passkey after the password': ['nothing to answer', 'nothing to answer', 200],
  'passkey alone': ['nothing to answer', 'nothing to answer', 200],
  'existing token': [200, 200, 200],
  'named token': [200, 200, 200],
  'refreshed token': [200, 200, 200],
  'invitation link': [
    [true, false],
    [true, false],
    [true, false],
  ],
  'password link': [
    [false, 200],
    [false, 'otp-required'],
    [false, 'otp-required'],
  ],
  launch: ['string', 'string', 'string'],
  'access view': [303, 303, 303],
  gate: [204, 204, 204],
  'gate after the password': [204, 401, 401],
};

matrix.before(async ({ app }) => {
  await setApp(app, { launch_url: 'https://sales.test/' });
  await sql`insert into app_grants (user_id, app_id) select id, ${SALES} from users
    where email = any(${Object.values(PEOPLE)}) on conflict do nothing`.execute(app.db());
});

for (const [kind, email] of Object.entries(PEOPLE)) {
  matrix(`lets ${kind} in as the table says, by every way`, async ({ app }) => {
    const person: Person = {
      email,
      password: DEMO_PASSWORD,
      secret: null,
      authenticator: null,
      token: '',
      named: '',
    };
    for (const index of [0, 1, 2] as const) {
      await forgetAttempts(app);
      await app.renewToken(email);
      person.token = await app.tokenOf(email);
      person.named = (await app.as(email).tokens.createNamed({ name: `script ${index}` })).token;
      if (index === 1) person.secret = (await enroll(app, email)).secret;
      if (index === 2) {
        await sql`delete from mfa_factors`.execute(app.db());
        person.secret = null;
        person.authenticator = (await enrollPasskey(app, email)).authenticator;
      }
      for (const [way, run] of Object.entries(WAYS))
        assert.equal(await run(app, person), EXPECTED[way]?.[index], `${way} of ${kind}, ${index}`);
    }
  });
}

matrix.run();
