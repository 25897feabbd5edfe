import { sql } from 'kysely';
import { MINUTE_MS } from '../../../src/lib/clock.ts';
import { EVERYWHERE } from '../../../src/services/access/scope.ts';
import { tokenDigest } from '../../../src/services/auth/credentials.ts';
import { createFactorSecrets } from '../../../src/services/auth/one-time-codes.ts';
import { createLaunchCode } from '../../../src/services/gate/launches.ts';
import { userId } from '../../support/access-views.ts';
import { startProviderMetadata } from '../../support/identity-provider.ts';
import { cookieHeader } from '../../support/logins.ts';
import { sessionOf } from '../../support/looks.ts';
import { mailedEmailToken, mailedPasswordPath, setProved } from '../../support/mails.ts';
import { createAuthenticator, enrollPasskey, requested } from '../../support/passkeys.ts';
import { addRows, rowOf, setRows } from '../../support/rows.ts';
import { codeAt, enroll } from '../../support/second-factors.ts';
import {
  ACME,
  ADA,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  ROOT,
  SECRET_KEY,
  type TestApp,
} from '../../support/test-app.ts';
import { CHURN, SALES } from '../../support/usage.ts';
import type { Row } from './walk-rows.ts';

const END = '2030-01-31T12:00:00Z';
const NEW_PASSWORD = 'Violet-harbor-92-kite';
const LOGIN = { username: ADA, password: DEMO_PASSWORD };

/** A successful request for every operation that the interface document does not have. */
export const extensionRows = async (app: TestApp): Promise<Row[]> => [
  ...(await aboutCredentialsOfUsers(app)),
  ...aboutLogins(),
  ...(await aboutTokens(app)),
  ...(await aboutSecondFactors(app)),
  ...(await aboutSingleSignOn(app)),
  ...(await aboutOpenid(app)),
  ...(await aboutDirectories(app)),
  ...(await aboutWebhooks(app)),
  ...(await aboutServiceAccounts(app)),
  ...(await aboutPasswords(app)),
  ...(await aboutInvitations(app)),
  ...(await aboutMails(app)),
  ...(await aboutManyUsers(app)),
  ...(await aboutMemberships(app)),
  ...(await aboutProfiles(app)),
  ...(await aboutGroups(app)),
  ...(await aboutAccessRequests(app)),
  ...aboutTenants,
  ...(await aboutErasures(app)),
  ...aboutApps,
  ...(await aboutSavedFilters(app)),
  ...(await aboutListViews(app)),
  ...(await aboutDataPermissions(app)),
  ...(await aboutTickets(app)),
  ...(await aboutLooks(app)),
  ...(await aboutAccessViews(app)),
  ...(await aboutRemovals(app)),
];

const aboutCredentialsOfUsers = async (app: TestApp): Promise<Row[]> => {
  await app.send('POST /session/', { payload: { username: GRACE, password: DEMO_PASSWORD } });
  const [session] = await app.as(ROOT).sessions.listByUser({ email: GRACE });
  const { id } = await app.as(GRACE).tokens.createNamed({ name: 'Backup' });
  return [
    { line: `GET /jb/users/${GRACE}/sessions/`, as: ROOT },
    { line: `DELETE /jb/users/${GRACE}/sessions/${session?.id}/`, as: ROOT },
    { line: `GET /jb/users/${GRACE}/tokens/`, as: ROOT },
    { line: `GET /jb/tokens/${id}/uses/`, as: GRACE },
    { line: `POST /jb/tokens/${id}/narrow/`, as: GRACE, body: { scopes: ['users:read'] } },
    { line: `DELETE /jb/users/${GRACE}/tokens/${id}/`, as: ROOT },
  ];
};

const aboutProfiles = async (app: TestApp): Promise<Row[]> => {
  const [email, to, other] = ['mover@acme.test', 'moved@acme.test', 'later@acme.test'];
  await app.as(ROOT).users.create({ email, apps: [SALES] });
  await setProved(app, email);
  await app.as(email).profile.requestEmail({ email: to });
  const token = await mailedEmailToken(app, to, 'confirm');
  await app.as(email).profile.confirmEmail({ token });
  const undo = await mailedEmailToken(app, email, 'undo');
  await app.as(ROOT).users.create({ email: 'second@acme.test', apps: [SALES] });
  await app.as('second@acme.test').profile.requestEmail({ email: other });
  const confirm = await mailedEmailToken(app, other, 'confirm');
  const path = '/jb/profile/email/';
  return [
    { line: 'PATCH /jb/profile/', as: ADA, body: { profile_color: '2A9D8F' } },
    { line: `POST ${path}`, as: ADA, body: { email: 'ada.king@acme.test' } },
    { line: `GET ${path}`, as: ADA },
    { line: `DELETE ${path}`, as: ADA },
    { line: `POST ${path}verify/`, body: { token: undo, kind: 'undo' } },
    { line: `POST ${path}undo/`, body: { token: undo } },
    { line: `POST ${path}confirm/`, as: 'second@acme.test', body: { token: confirm } },
    { line: `DELETE /jb/users/${other}/email/`, as: ACME },
    { line: `POST /jb/users/${other}/email/`, as: ROOT, body: { new_email: 'last@acme.test' } },
  ];
};

const aboutMemberships = async (app: TestApp): Promise<Row[]> => {
  const email = 'member@acme.test';
  await app.as(ROOT).users.create({ email, apps: [SALES] });
  const path = `/jb/clients/1/users/${email}/`;
  return [
    { line: `GET /jb/users/${email}/memberships/`, as: ROOT },
    { line: `GET /jb/users/${email}/access/${SALES}/`, as: ACME },
    { line: `PATCH ${path}`, as: ACME, body: { extra: { region: 'north' } } },
    { line: `GET ${path}removal/`, as: ACME },
    { line: `GET /jb/users/${email}/offboarding/`, as: ACME },
    { line: `POST /jb/apps/${CHURN}/grants/`, as: ACME, body: { email, reason: 'Audit' } },
    { line: `GET /jb/apps/${CHURN}/grants/`, as: ACME },
    { line: `GET /jb/apps/${CHURN}/access/`, as: ACME },
    { line: `GET /jb/users/${email}/home/`, as: ACME },
    { line: `PATCH /jb/apps/${CHURN}/grants/${email}/`, as: ACME, body: { expires_at: END } },
    { line: 'GET /jb/grants/', as: ACME },
    {
      line: 'POST /jb/grants/extend/',
      as: ACME,
      body: { grants: [{ app_id: CHURN, email }], expires_at: END },
    },
    { line: `DELETE /jb/apps/${CHURN}/grants/${email}/`, as: ACME },
    { line: `DELETE ${path}`, as: ACME },
  ];
};

/** Of the client that `aboutTenants` creates. */
const aboutRemovals = async (app: TestApp): Promise<Row[]> => {
  const removed = { id: 'removed0', client_id: 1, slug: 'removed', label: 'Removed', in_maintenance: true };
  await addRows(app, 'apps', { ...removed, created_at: app.clock.now() });
  return [
    { line: 'GET /jb/apps/removed0/removal/', as: ROOT },
    { line: 'POST /jb/apps/removed0/removal/', as: ROOT, body: { confirm_name: 'Removed' } },
    { line: 'PATCH /jb/clients/3/gate/', as: ROOT, body: { is_open: false } },
    { line: 'GET /jb/clients/3/removal/', as: ROOT },
    { line: 'POST /jb/clients/3/removal/', as: ROOT, body: { confirm_name: 'Initech' } },
  ];
};

const aboutGroups = async (app: TestApp): Promise<Row[]> => {
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Finance' });
  const path = `/jb/clients/1/groups/${id}/`;
  return [
    { line: 'POST /jb/clients/1/groups/', as: ACME, body: { name: 'Sales', members: [ADA], apps: [SALES] } },
    { line: 'GET /jb/clients/1/groups/', as: ACME },
    { line: `GET ${path}`, as: ACME },
    { line: `PATCH ${path}`, as: ACME, body: { members: [ADA] } },
    { line: `DELETE ${path}`, as: ACME },
  ];
};

const aboutAccessRequests = async (app: TestApp): Promise<Row[]> => {
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
  const ask = async (email: string): Promise<string> => {
    await app.as(ACME).users.create({ email, client: 1 });
    const { id } = await app.as(email).requests.create({ app: CHURN });
    return `/jb/access-requests/${id}/`;
  };
  const asker = 'asks-3@acme.test';
  const [first, second, third] = [
    await ask('asks-1@acme.test'),
    await ask('asks-2@acme.test'),
    await ask(asker),
  ];
  return [
    { line: 'GET /jb/requestable-apps/', as: asker },
    { line: 'POST /jb/access-requests/', as: asker, body: { app: CHURN, reason: 'x', days: 14 } },
    { line: 'GET /jb/access-requests/', as: ACME },
    { line: `GET ${first}`, as: ACME },
    { line: `POST ${first}approve/`, as: ACME, body: { version: 1, expires_at: END } },
    { line: `POST ${second}deny/`, as: ACME, body: { version: 1, reason: 'x' } },
    { line: `POST ${third}withdraw/`, as: asker },
  ];
};

const aboutTokens = async (app: TestApp): Promise<Row[]> => {
  const body = await app.as(null).tokens.create(LOGIN);
  return [
    ...['/jb/api-token-verify/', '!/api/v2/auth/verify/'],
    ...['/jb/api-token-refresh/', '!/api/v2/auth/refresh/'],
  ].map((path) => ({ line: `POST ${path}`, body }));
};

const aboutLogins = (): Row[] => [
  { line: 'POST /jb/api-token-auth/', body: { email: ADA, password: DEMO_PASSWORD } },
  { line: 'POST !/api/v2/auth/', body: LOGIN },
  { line: 'GET /jb/tokens/', as: ADA },
  { line: 'POST /jb/tokens/', as: ADA, body: { name: 'Nightly export' } },
  { line: 'DELETE /jb/tokens/1/', as: ADA },
  { line: 'POST /session/', body: LOGIN },
  { line: 'GET /session/', as: GRACE },
  { line: 'POST /session/confirm/', as: GRACE, body: { password: DEMO_PASSWORD } },
  { line: 'GET /jb/sessions/', as: GRACE },
  { line: 'DELETE /jb/sessions/3/', as: ADA },
  { line: `DELETE /jb/users/${EDSGER}/sessions/`, as: ROOT },
  { line: 'DELETE /session/', as: GRACE },
];

const aboutSecondFactors = async (app: TestApp): Promise<Row[]> => {
  const [email, starter, confirmer, lost, newcomer] = ['mfa-1', 'mfa-2', 'mfa-3', 'mfa-4', 'mfa-5'].map(
    (name) => `${name}@acme.test`,
  ) as [string, string, string, string, string]; // as many as names
  for (const each of [email, starter, confirmer, lost, newcomer])
    await app.as(ROOT).users.create({ email: each, client: 1 });
  const { codes } = await enroll(app, email);
  await enroll(app, lost);
  const { secret } = await app.as(confirmer).mfa.startTotp({});
  const { factors } = await app.as(email).mfa.list({});
  const enrolment = await enrolmentOf(app, newcomer);
  const code = codeAt(enrolment.secret, app.clock.now());
  return [
    { line: 'GET /mfa/', as: email },
    { line: 'POST /session/otp/', body: { code: codes[0] }, cookie: await challengeCookie(app, email) },
    { line: 'GET /session/enrol/', cookie: enrolment.cookie },
    { line: 'POST /session/enrol/', body: { code }, cookie: enrolment.cookie },
    { line: 'POST /mfa/recovery-codes/', as: email },
    { line: `DELETE /mfa/${factors[0]?.id}/`, as: email },
    { line: 'POST /mfa/totp/', as: starter, body: { name: 'Phone' } },
    { line: 'POST /mfa/totp/confirm/', as: confirmer, body: { code: codeAt(secret, app.clock.now()) } },
    { line: `POST /jb/users/${lost}/mfa/reset/`, as: ROOT, body: { reason: 'Lost' } },
    ...(await aboutPasskeys(app)),
  ];
};

const aboutPasskeys = async (app: TestApp): Promise<Row[]> => {
  const [starter, adder, owner] = ['passkeys-1@acme.test', 'passkeys-2@acme.test', 'passkeys-3@acme.test'];
  for (const email of [starter, adder, owner]) await app.as(ROOT).users.create({ email, client: 1 });
  const credential = createAuthenticator().create(await app.as(adder).mfa.startPasskey({}));
  const { authenticator, factor } = await enrollPasskey(app, owner);
  const { browser, options } = await requested(app);
  const cookie = `steward_passkey=${browser.cookies.get('steward_passkey')}`;
  return [
    { line: 'POST /mfa/passkeys/options/', as: starter },
    { line: 'POST /mfa/passkeys/', as: adder, body: { name: 'Laptop', credential } },
    { line: `PATCH /mfa/${factor.id}/`, as: owner, body: { name: 'Old laptop' } },
    { line: 'POST /session/passkey/options/', body: { purpose: 'login' } },
    { line: 'POST /session/passkey/', body: { passkey: authenticator.get(options) }, cookie },
  ];
};

const aboutOpenid = async (app: TestApp): Promise<Row[]> => {
  await app.as(ACME).openid.update({ app_id: SALES, redirect_uris: ['https://sales.acme.test/callback'] });
  const settings = `/jb/apps/${SALES}/oidc/`;
  return [
    { line: `GET ${settings}`, as: ACME },
    {
      line: `PUT ${settings}`,
      as: ACME,
      body: { redirect_uris: ['https://sales.acme.test/callback'], claims: ['email', 'name'] },
    },
    { line: `POST ${settings}secret/`, as: ACME },
    { line: `GET ${settings}logouts/`, as: ACME },
    { line: `DELETE ${settings}`, as: ACME },
  ];
};

const aboutDirectories = async (app: TestApp): Promise<Row[]> => {
  const now = app.clock.now();
  const { id: user_id } = await rowOf(app, 'users', { email: ADA });
  const held = { client_id: 1, user_id, is_last_admin: false, held_at: now, tried_at: now };
  await addRows(app, 'directory_holds', held);
  const path = '/jb/clients/1/directory/';
  return [
    { line: `GET ${path}`, as: ACME },
    { line: `GET ${path}people/`, as: ACME },
    { line: `GET ${path}groups/`, as: ACME },
    { line: `GET ${path}requests/`, as: ACME },
    { line: `GET ${path}held/`, as: ACME },
    { line: `POST ${path}approve/`, as: ACME, body: { held: 1, held_until: now.toISOString() } },
    { line: `PATCH ${path}`, as: ACME, body: { mode: 'show', attributes: { title: 'title' } } },
  ];
};

/** The cookie of a browser in which the password was entered, and that waits for the enrolment of an app with this secret. */
const enrolmentOf = async (app: TestApp, email: string) => {
  const cookie = await challengeCookie(app, email, 'e'.repeat(43));
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const user_id = await userId(app, email);
  const sealed_secret = createFactorSecrets(SECRET_KEY).seal(user_id, secret);
  await setRows(app, 'login_challenges', { user_id }, { step: 'enrol', sealed_secret });
  return { cookie, secret };
};

const aboutSingleSignOn = async (app: TestApp): Promise<Row[]> => {
  const registration = { issuer: await startProviderMetadata(), client_id: 'steward' };
  const { id } = await app.as(ACME).sso.create({ id: 1, name: 'Acme ID', ...registration });
  const domain = await app.as(ACME).domains.add({ id: 1, domain: 'acme.example' });
  app.txtRecords.set(domain.record_name, [domain.record_value]);
  const email = 'linked@acme.test';
  await app.as(ACME).users.create({ email });
  const user_id = await userId(app, email);
  const about = { connection_id: id, user_id, subject: 'linked', email, created_at: app.clock.now() };
  await addRows(app, 'external_identities', about);
  const { id: identity } = await rowOf(app, 'external_identities', { subject: 'linked' });
  const [connections, domains] = ['/jb/clients/1/sso/', '/jb/clients/1/domains/'];
  return [
    { line: 'POST /session/methods/', body: { email } },
    { line: `GET ${connections}`, as: ACME },
    { line: `POST ${connections}`, as: ACME, body: { name: 'Other', ...registration } },
    { line: `PATCH ${connections}${id}/`, as: ACME, body: { provisions: true } },
    { line: `POST ${connections}${id}/test/`, as: ACME },
    { line: `GET /jb/users/${email}/identities/`, as: ACME },
    { line: `DELETE /jb/users/${email}/identities/${identity}/`, as: ACME },
    { line: `DELETE ${connections}${id}/`, as: ACME },
    { line: `GET ${domains}`, as: ACME },
    { line: `POST ${domains}`, as: ACME, body: { domain: 'acme.test' } },
    { line: `POST ${domains}${domain.id}/verify/`, as: ACME },
    { line: `POST ${domains}${domain.id}/vouch/`, as: ROOT },
    { line: `DELETE ${domains}${domain.id}/`, as: ACME },
    ...(await aboutSingleSignOnOfTheInstallation(app, registration)),
  ];
};

const aboutSingleSignOnOfTheInstallation = async (
  app: TestApp,
  registration: { issuer: string; client_id: string },
): Promise<Row[]> => {
  const { id } = await app.as(ROOT).installationSso.create({ name: 'Operations', ...registration });
  const domain = await app.as(ROOT).installationSso.addDomain({ domain: 'ops.example' });
  const [connections, domains] = ['/jb/sso/', '/jb/sso/domains/'];
  return [
    { line: `GET ${connections}`, as: ROOT },
    { line: `POST ${connections}`, as: ROOT, body: { name: 'Other', ...registration } },
    { line: `PATCH ${connections}${id}/`, as: ROOT, body: { name: 'Renamed' } },
    { line: `POST ${connections}${id}/test/`, as: ROOT },
    { line: `DELETE ${connections}${id}/`, as: ROOT },
    { line: `GET ${domains}`, as: ROOT },
    { line: `POST ${domains}`, as: ROOT, body: { domain: 'ops.test' } },
    { line: `DELETE ${domains}${domain.id}/`, as: ROOT },
  ];
};

const aboutServiceAccounts = async (app: TestApp): Promise<Row[]> => {
  const { id } = await app.as(ACME).serviceAccounts.create({ name: 'Exports', client: 1 });
  const token = await app.as(ACME).serviceAccounts.createToken({ id, name: 'Host 1' });
  const account = `/jb/service-accounts/${id}/`;
  return [
    { line: 'GET /jb/service-accounts/', as: ACME },
    {
      line: 'POST /jb/service-accounts/',
      as: ACME,
      body: { name: 'Imports', client: 1, roles: ['client-admin'] },
    },
    { line: `GET ${account}`, as: ACME },
    { line: `PATCH ${account}`, as: ACME, body: { description: 'Runs at night' } },
    { line: `GET ${account}tokens/`, as: ACME },
    { line: `POST ${account}tokens/`, as: ACME, body: { name: 'Host 2', networks: ['10.0.0.0/8'] } },
    { line: `GET ${account}tokens/${token.id}/uses/`, as: ACME },
    { line: `POST ${account}tokens/${token.id}/narrow/`, as: ACME, body: { scopes: ['users:read'] } },
    { line: `DELETE ${account}tokens/${token.id}/`, as: ACME },
    { line: `DELETE ${account}`, as: ACME },
  ];
};

const aboutWebhooks = async (app: TestApp): Promise<Row[]> => {
  const url = 'http://127.0.0.1:9/';
  const { id } = await app.as(ACME).webhooks.create({ url, client: 1 });
  const webhook = `/jb/webhooks/${id}/`;
  return [
    { line: 'GET /jb/webhooks/', as: ACME },
    { line: 'POST /jb/webhooks/', as: ACME, body: { url, client: 1, types: ['user.deactivated'] } },
    { line: `GET ${webhook}`, as: ACME },
    { line: `PATCH ${webhook}`, as: ACME, body: { description: 'The data platform' } },
    { line: `POST ${webhook}secret/`, as: ACME },
    { line: `POST ${webhook}test/`, as: ACME },
    { line: `POST ${webhook}replay/`, as: ACME, body: { from: app.clock.now().toISOString() } },
    { line: `GET ${webhook}deliveries/`, as: ACME },
    { line: `DELETE ${webhook}`, as: ACME },
  ];
};

/** The cookie of a browser in which the password was entered. */
const challengeCookie = async (app: TestApp, email: string, token = 'c'.repeat(43)): Promise<string> => {
  const now = app.clock.now();
  const times = { created_at: now, expires_at: new Date(now.getTime() + MINUTE_MS) };
  const user_id = await userId(app, email);
  const row = { user_id, digest: tokenDigest(token), first_step: 'password' as const, ...times };
  await addRows(app, 'login_challenges', row);
  return `steward_challenge=${token}`;
};

const aboutPasswords = async (app: TestApp): Promise<Row[]> => {
  await app.as(null).passwords.requestReset({ email: GRACE });
  const token = new URL(await mailedPasswordPath(app, GRACE), 'http://x').searchParams.get('token');
  const change = { password: DEMO_PASSWORD, new_password: NEW_PASSWORD };
  await app.as(ROOT).clients.update({ id: 2, password_expiration_days: 30 });
  const expired = await app.as(ROOT).users.create({ email: 'expired@globex.test', client: 2 });
  await sql`update users set last_password_set = '2020-01-01', password_hash = (select password_hash from users where email = ${EDSGER})
    where email = ${expired.email}`.execute(app.db());
  return [
    { line: 'POST /password/check/', body: { password: 'summer' } },
    { line: 'GET /jb/clients/1/password-expiry/?days=90', as: ACME },
    { line: 'POST /password/request-reset/', body: { email: GRACE } },
    { line: 'POST /password/reset/verify/', body: { token } },
    { line: 'POST /password/reset/', body: { token, password: NEW_PASSWORD } },
    { line: 'POST /password/change/', as: EDSGER, body: change },
    { line: 'POST /password/change-expired/', body: { ...change, username: expired.email } },
  ];
};

const aboutInvitations = async (app: TestApp): Promise<Row[]> => {
  const items = ['kept', 'closed', 'taken'].map((name) => ({ email: `${name}@guest.test`, client: 1 }));
  const [kept, closed, taken] = await app.as(ACME).invitations.create({ items });
  const signature = new URL(app.links.invitation(taken?.key ?? '')).searchParams.get('signature');
  return [
    { line: 'GET /jb/invitations/?status=all&search=guest', as: ACME },
    { line: 'GET /jb/users/invitations/kept@guest.test/', as: ACME },
    { line: `GET /jb/invitations/${kept?.id}/`, as: ACME },
    { line: `POST /jb/invitations/${kept?.id}/resend/`, as: ACME },
    { line: 'POST /jb/invitations/bulk/', as: ACME, body: { ids: [kept?.id], action: 'resend' } },
    { line: `POST /jb/invitations/${kept?.id}/link/`, as: ACME },
    { line: 'POST /jb/invitations/links/', as: ACME, body: { ids: [kept?.id, closed?.id] } },
    { line: `POST /jb/invitations/${closed?.id}/revoke/`, as: ACME },
    { line: `POST /invitations/${taken?.key}/`, body: { signature } },
    { line: `POST /invitations/${taken?.key}/accept/`, body: { signature, password: NEW_PASSWORD } },
  ];
};

const aboutMails = async (app: TestApp): Promise<Row[]> => {
  const mails = await app.as(ROOT).mail.list({});
  const mail = mails.find(({ recipient }) => recipient === 'kept@guest.test');
  return [
    { line: 'GET /jb/mails/', as: ROOT },
    { line: 'GET /jb/mails/timeline/?email=kept@guest.test', as: ACME },
    { line: `GET /jb/mails/${mail?.id}/`, as: ROOT },
    { line: `POST /jb/mails/${mail?.id}/retry/`, as: ROOT },
  ];
};

const aboutTenants: Row[] = [
  { line: 'GET /branding/' },
  { line: 'POST /jb/sites/', as: ROOT, body: { domain: 'initech.test', name: 'Initech' } },
  { line: 'POST /jb/clients/', as: ROOT, body: { name: 'Initech', site: 3 } },
  { line: 'GET /jb/clients/1/factor-policy/', as: ACME },
  { line: 'GET /jb/clients/1/factor-policy/preview/', as: ACME },
  { line: 'PATCH /jb/clients/2/factor-policy/', as: ROOT, body: { factor_policy: 'optional' } },
  { line: 'GET /jb/clients/1/reminders/', as: ACME },
  { line: 'GET /jb/clients/1/reminders/preview/?access_days=7&inactive_days=30', as: ACME },
  { line: 'PATCH /jb/clients/2/reminders/', as: ROOT, body: { access_days: 7, weekly_digest: true } },
  { line: 'GET /jb/clients/1/gate/', as: ACME },
  { line: 'PATCH /jb/clients/1/gate/', as: ACME, body: { embed_origins: ['https://portal.example.com'] } },
  { line: `PUT /jb/users/${GRACE}/`, as: ROOT, body: { last_name: 'Hopper' } },
  { line: `GET /jb/users/${GRACE}/roles/`, as: ROOT },
  { line: `PATCH /jb/users/${GRACE}/roles/`, as: ROOT, body: { is_staff: true } },
  { line: `PUT /jb/clients/1/admins/${GRACE}/`, as: ROOT, body: { is_admin: true } },
  { line: 'GET /jb/client-overviews/', as: ACME },
  { line: 'GET /jb/clients/1/roles/', as: ACME },
  { line: `PUT /jb/clients/1/roles/${ADA}/`, as: ACME, body: { roles: ['help-desk'] } },
  { line: 'GET /jb/audit/', as: ROOT },
  { line: 'GET /jb/audit/operations/', as: ROOT },
  { line: 'GET /jb/events/?types=user.updated', as: ACME },
  { line: 'GET /jb/events/position/', as: ACME },
  // A GET does not end.
  { line: 'HEAD /jb/events/stream/', as: ACME, accept: 'text/event-stream' },
];

const aboutManyUsers = async (app: TestApp): Promise<Row[]> => {
  const body = { emails: [ADA], action: 'revoke-apps' as const, apps: [SALES] };
  const { operation } = await app.as(ROOT).users.bulkUpdate(body);
  const cell = { email: ADA, app_id: SALES, granted: false };
  return [
    { line: 'GET /jb/users/count/?role=member', as: ROOT },
    { line: 'GET /jb/users/table/?columns=email,apps', as: ROOT, accept: 'text/csv' },
    { line: 'GET /jb/attention/', as: ACME },
    { line: 'GET /jb/attention/setup/', as: ACME },
    { line: `POST /jb/operations/${operation}/undo/`, as: ROOT },
    { line: 'POST /jb/users/bulk/', as: ROOT, body },
    { line: 'GET /jb/clients/1/access/?sort=name', as: ACME },
    { line: `GET /jb/users/${ADA}/access/`, as: ACME },
    { line: 'PATCH /jb/clients/1/access/', as: ACME, body: { cells: [cell] } },
    { line: 'POST /jb/users/bulk/', as: ROOT, body: { ...body, action: 'grant-apps' } },
  ];
};

const aboutErasures = async (app: TestApp): Promise<Row[]> => {
  const email = 'leaver@acme.test';
  await app.as(ROOT).users.create({ email, client: 1 });
  const { confirmation } = await app.as(ROOT).users.previewErasure({ email });
  return [
    { line: `GET /jb/users/${ADA}/export/`, as: ADA, accept: 'application/zip' },
    { line: `GET /jb/users/${email}/erasure/`, as: ROOT },
    { line: `POST /jb/users/${email}/erasure/`, as: ROOT, body: { confirmation, confirm_email: email } },
  ];
};

const aboutApps: Row[] = [
  {
    line: 'POST /jb/apps/',
    as: ROOT,
    body: { client: 1, slug: 'wiki', label: 'Wiki', launch_url: 'https://wiki.example.com/' },
  },
  { line: `DELETE /jb/apps/${SALES}/clear_cache/`, as: ACME },
  { line: `PUT /jb/apps/${SALES}/`, as: ACME, body: { label: 'Sales' } },
  { line: `GET /jb/apps/${SALES}/stacks/`, as: ADA },
  { line: `GET /jb/apps/${SALES}/status/`, as: ADA },
  { line: 'POST /jb/clients/1/invitation-preview/', as: ACME, body: { invitation_body: 'Hi' } },
  { line: `GET /jb/apps/${SALES}/permissions/`, as: ADA },
  { line: `POST /jb/apps/${SALES}/maintenance-preview/`, as: ACME, body: { maintenance_message: 'Soon.' } },
  { line: 'GET /jb/users/ada@acme.test/permissions/', as: ADA },
  { line: `GET /jb/apps/${SALES}/versions/`, as: ACME },
  { line: 'POST /app/fetch/sales/', as: ROOT, body: { app_version: '1.0.0' } },
  { line: 'POST /app/load/sales/', as: ROOT },
  { line: 'POST /app/rollback/sales/', as: ROOT, body: { app_version: '1.1.0' } },
  { line: `GET /jb/users/${ADA}/usage/?window=7`, as: ACME },
  { line: `GET /jb/apps/${SALES}/usage/entries/?limit=2`, as: ACME },
  { line: `GET /jb/usage/report/?app_id=${SALES}&interval=week&periods=4`, as: ACME },
  { line: 'GET /jb/usage/report/?client=1&periods=4', as: ACME },
  { line: 'GET /jb/usage/summary/?client=1', as: ACME },
  { line: `POST /jb/apps/${SALES}/usage/`, as: ACME, body: { email: ADA, action: 'STACK_ACCESS' } },
];

const aboutDataPermissions = async (app: TestApp): Promise<Row[]> => {
  const schema = { properties: { region: { type: 'array', default: ['North'] } } };
  await addRows(app, 'fetched_packages', {
    ...{
      slug: 'sales',
      version: '9.0.0',
      sha256: 'f'.repeat(64),
      size_bytes: 1,
      fetched_at: app.clock.now(),
    },
    manifest: { slug: 'sales', version: '9.0.0', label: 'Sales', attributes: schema },
  });
  const value = { emails: [ADA], attribute: 'region', value: ['South'] };
  return [
    { line: 'PUT /jb/clients/1/attributes/', as: ACME, body: { schema, mode: 'warn' } },
    { line: 'GET /jb/clients/1/attributes/', as: ACME },
    { line: 'POST /jb/clients/1/attributes/preview/', as: ACME, body: value },
    { line: `GET /jb/users/${ADA}/data-permissions/${SALES}/`, as: ACME },
    { line: `GET /jb/apps/${SALES}/data-permissions/`, as: ACME },
    { line: `GET /jb/apps/${SALES}/load-preview/`, as: ACME },
  ];
};

const aboutListViews = async (app: TestApp): Promise<Row[]> => {
  const input = { list: 'people', name: 'Without a factor', search: { second_factor: false } } as const;
  const { id } = await app.as(ACME).listViews.create(input);
  const view = `/jb/list-views/${id}/`;
  return [
    { line: 'POST /jb/list-views/', as: ACME, body: { ...input, client: 1, is_shared: true } },
    { line: 'GET /jb/list-views/?list=people', as: ACME },
    { line: `PATCH ${view}`, as: ACME, body: { name: 'No second factor' } },
    { line: `PUT ${view}pin/`, as: ACME, body: { is_pinned: true } },
    { line: `DELETE ${view}`, as: ACME },
  ];
};

const aboutSavedFilters = async (app: TestApp): Promise<Row[]> => {
  const path = '/hashr/saved_global_filters/';
  await app.as(ACME).savedFilters.create({ stack_id: 'a0a91e46', hash: 'spring', name: 'Spring' });
  const { id: filter } = await rowOf(app, 'saved_filters', { hash: 'spring' });
  const state = { state: { region: ['north'] }, version: '2', description: 'Northern regions' };
  return [
    { line: `PUT ${path}spring/state/`, as: ACME, body: state },
    { line: `GET ${path}spring/state/`, as: ACME },
    { line: `PUT ${path}spring/sharing/`, as: ACME, body: { client: true, groups: [] } },
    { line: `GET ${path}spring/sharing/`, as: ACME },
    { line: `GET ${path}shared/?stack_id=a0a91e46`, as: ROOT },
    { line: `PUT ${path}defaults/a0a91e46/`, as: ACME, body: { filter } },
    { line: `GET ${path}defaults/a0a91e46/`, as: ACME },
  ];
};

const aboutTickets = async (app: TestApp): Promise<Row[]> => {
  const { ticket } = await app.as(ROOT).apps.openTicket({ app_id: CHURN });
  const opener = { kind: 'user' as const, scope: EVERYWHERE, userId: await userId(app, ROOT), appId: CHURN };
  const code = await createLaunchCode(app.orm.em.fork(), opener, app.clock.now());
  return [
    { line: `POST /jb/apps/${CHURN}/ticket/`, as: ROOT },
    { line: 'POST /app/launch/churn/', as: ROOT },
    { line: 'POST /gate/exchange/', body: { code, app: 'churn' } },
    { line: 'POST /gate/introspect/', as: ROOT, body: { token: ticket } },
    { line: 'POST /jb/tickets/revoke/', as: ROOT, body: { all: true } },
    { line: 'GET /jb/signing-keys/', as: ROOT },
    { line: 'POST /jb/signing-keys/rotate/', as: ROOT },
  ];
};

const aboutLooks = async (app: TestApp): Promise<Row[]> => {
  await setRows(app, 'apps', { id: CHURN }, { launch_url: 'https://churn.example.com/', view_as: true });
  const { browser, self } = await sessionOf(app, ROOT);
  const look = { app: CHURN, reason: 'Ticket 4711', minutes: 5 };
  const { id } = await self.users.viewAs({ email: ACME, ...look });
  return [
    { line: 'GET /jb/view-as/', as: ROOT },
    { line: `DELETE /jb/view-as/${id}/`, as: ROOT },
    { line: `POST /jb/users/${ACME}/view-as/`, cookie: cookieHeader(browser.cookies), body: look },
    { line: 'GET /jb/profile/viewed-as/', as: ACME },
    { line: `GET /jb/apps/${CHURN}/compare/?people=${ADA},${GRACE}`, as: ACME },
  ];
};

const aboutAccessViews = async (app: TestApp): Promise<Row[]> => {
  const { key } = await app.as(ACME).accessViews.create({ app: 'sales' });
  const embeds = [`/jb/apps/${SALES}/embed/${ADA}/`, `!/api/v2/embed/sales/${ADA}/`];
  const ofPaths = ['/access_views/', '!/api/v2/accessviews/'].flatMap((path) => [
    { line: `GET ${path}?flags.color=red`, as: ACME },
    { line: `POST ${path}`, as: ACME, body: { app: 'sales', selections: { region: 'north' } } },
    { line: `GET ${path}${key}/`, as: ACME },
    { line: `PATCH ${path}${key}/`, as: ACME, body: { show_header: false } },
    { line: `PUT ${path}${key}/`, as: ACME, body: { show_header: true } },
    { line: `GET ${path}${key}/usage/`, as: ACME },
    { line: `DELETE ${path}${key}/`, as: ACME },
  ]);
  const { id } = await app.as(ACME).accessViews.create({ app: 'sales' });
  const rotation = { line: `POST /access_views/${id}/rotate_key/`, as: ACME };
  return [...ofPaths, rotation, ...embeds.map((path) => ({ line: `GET ${path}`, as: ROOT }))];
};
