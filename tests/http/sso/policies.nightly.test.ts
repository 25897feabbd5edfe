import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { FactorPolicy } from '../../../entities/client.ts';
import { setApp } from '../../support/access-views.ts';
import { cookieHeader } from '../../support/logins.ts';
import { enrollPasskey } from '../../support/passkeys.ts';
import { enroll, setFactorPolicy } from '../../support/second-factors.ts';
import { ACME_ID, logInWithSso, personOf, ssoSuite } from '../../support/sso.ts';
import { ACME, ROOT, type TestApp } from '../../support/test-app.ts';
import { SALES } from '../../support/usage.ts';

/** Each kind of person × policy × grace × second factor × what the provider states: the login, and the app after it. */
const matrix = ssoSuite('single sign-on and policies for second factors');

const POLICIES: FactorPolicy[] = ['off', 'optional', 'required', 'passkey'];
const FACTORS = ['none', 'app', 'passkey'] as const;
/** The claim `amr`: a password, a second factor, a passkey. */
const STATED = [['pwd'], ['mfa'], ['hwk']];

type Expected = { location: string | undefined; isLoggedIn: boolean; ticket: number; launch: string };

const CODE = '/login/code/';
const WAITS = { isLoggedIn: false, ticket: 401, launch: '/login/?next=%2Flaunch%2Fsales%2F' };
/** A login by a provider enrols no factor. */
const REFUSED = { location: undefined, ...WAITS };
const OPENS = { location: '/', isLoggedIn: true, ticket: 200, launch: 'https://sales.test/' };
/** Logged in with less than the app needs now: the page asks for the passkey that the person has. */
const STEPS_UP = { ...OPENS, ticket: 403, launch: '/login/code/?next=%2Flaunch%2Fsales%2F&passkey=1' };

/** By what the provider states, for a person without a second factor, with an app, and with a passkey. */
const ALL_OPEN = [OPENS, OPENS, OPENS];
const ASKED = { location: CODE, ...WAITS };
const BY_DEMAND: Record<'nothing' | 'a second factor' | 'a passkey', Record<string, Expected[]>> = {
  nothing: { pwd: ALL_OPEN, mfa: ALL_OPEN, hwk: ALL_OPEN },
  'a second factor': { pwd: [REFUSED, ASKED, ASKED], mfa: ALL_OPEN, hwk: ALL_OPEN },
  'a passkey': { pwd: [REFUSED, REFUSED, ASKED], mfa: [REFUSED, REFUSED, STEPS_UP], hwk: ALL_OPEN },
};

const demandOf = (policy: FactorPolicy, isGraceOver: boolean) => {
  if (!isGraceOver || policy === 'off' || policy === 'optional') return 'nothing';
  return policy === 'passkey' ? 'a passkey' : 'a second factor';
};

const MEMBER = 'member@acme.test';

matrix.before(async ({ app, provider }) => {
  await setApp(app, { launch_url: 'https://sales.test/' });
  for (const email of [MEMBER, 'shared@acme.test', 'staff@acme.test', 'superuser@acme.test']) {
    await app.as(ACME).users.create({ email, apps: [SALES] });
    provider.people.set(email, { email });
  }
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: 'shared@acme.test', is_admin: true });
  await sql`update users set is_staff = email like 'staff%', is_superuser = email like 'superuser%'
    where email like '%@acme.test' and email ~ '^(staff|superuser)@'`.execute(app.db());
});

const prepare = async (
  app: TestApp,
  factor: (typeof FACTORS)[number],
  policy: FactorPolicy,
  isGraceOver: boolean,
) => {
  await sql`delete from mfa_factors`.execute(app.db());
  await setFactorPolicy(app, ACME_ID, { policy: 'off' });
  if (factor === 'app') await enroll(app, MEMBER);
  if (factor === 'passkey') await enrollPasskey(app, MEMBER);
  await setFactorPolicy(app, ACME_ID, { policy, daysAgo: 10, graceDays: isGraceOver ? 5 : 30 });
};

const outcomeOf = async (
  app: TestApp,
  { visitor, page }: Awaited<ReturnType<typeof logInWithSso>>,
): Promise<Expected> => {
  const headers = { cookie: cookieHeader(visitor.jar), 'x-csrftoken': visitor.jar.get('csrftoken') ?? '' };
  const launch = (await visitor.get('/launch/sales/')).location ?? '';
  return {
    location: page.location,
    isLoggedIn: (await personOf(app, visitor)) !== null,
    ticket: (await app.send(`POST /jb/apps/${SALES}/ticket/`, { headers })).statusCode,
    launch: launch.replace(/\?code=.*/, ''),
  };
};

for (const policy of POLICIES)
  for (const isGraceOver of [false, true])
    for (const [index, factor] of FACTORS.entries())
      for (const amr of STATED) {
        const when = `${isGraceOver ? 'after' : 'during'} the grace of the policy ${policy}`;
        matrix(`a member with factor ${factor}, stated by ${amr}, ${when}`, async (fixture) => {
          await prepare(fixture.app, factor, policy, isGraceOver);
          const login = await logInWithSso(fixture, { subject: MEMBER, amr });

          const expected = BY_DEMAND[demandOf(policy, isGraceOver)][String(amr)]?.[index];
          assert.equal(await outcomeOf(fixture.app, login), expected);
        });
      }

for (const person of ['shared', 'staff', 'superuser'])
  for (const policy of POLICIES)
    for (const amr of STATED)
      matrix(`a ${person} person logs in as any member, by ${amr}, if it is ${policy}`, async (fixture) => {
        await prepare(fixture.app, 'none', policy, true);
        const login = await logInWithSso(fixture, { subject: `${person}@acme.test`, amr });

        const [expected] = BY_DEMAND[demandOf(policy, true)][String(amr)] ?? [];
        assert.equal(await outcomeOf(fixture.app, login), expected);
      });

matrix.run();
