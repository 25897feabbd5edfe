import type { AuditAction } from '../../src/services/audit/audit.ts';
import { createVisitor, type Page } from './http-clients.ts';
import { locationOf, pathOf, startIdentityProvider, type TestProvider } from './identity-provider.ts';
import { setRows } from './rows.ts';
import { suiteWith } from './suite.ts';
import { ACME, ROOT, startTestApp, type TestApp } from './test-app.ts';

/** The client of `ACME` in the demo workspace. */
export const ACME_ID = 1;

type Fixture = { app: TestApp; provider: TestProvider; connection: number };

/** A suite whose client Acme has a tested, active connection, and the verified domain acme.test. */
export const ssoSuite = (
  name: string,
  settings: Record<string, string> = {},
  options: Parameters<typeof startTestApp>[1] = {},
) =>
  suiteWith(name, async (started): Promise<Fixture> => {
    const app = await startTestApp(settings, options);
    started.defer(app.close);
    const provider = await startIdentityProvider(app.config.baseUrl);
    started.defer(provider.close);
    const connection = await addConnection(app, provider);
    await activate(app, connection);
    await verifyDomain(app, ACME_ID, 'acme.test');
    return { app, provider, connection };
  });

export const addConnection = async (app: TestApp, provider: TestProvider, client = ACME_ID) => {
  const { issuer, clientId: client_id, clientSecret: client_secret } = provider;
  const input = { id: client, name: 'Acme ID', issuer, client_id, client_secret };
  return (await app.as(ROOT).sso.create({ ...input, scopes: 'openid email profile groups' })).id;
};

/** As after a test. */
export const activate = async (app: TestApp, id: number, client = ACME_ID): Promise<void> => {
  await setRows(app, 'sso_connections', { id }, { tested_at: app.clock.now() });
  await app.as(ROOT).sso.update({ id: client, connection_id: id, is_active: true });
};

export const verifyDomain = async (app: TestApp, client: number, domain: string): Promise<number> => {
  const { id } = await app.as(ROOT).domains.add({ id: client, domain });
  await app.as(ROOT).domains.vouch({ id: client, domain_id: id });
  return id;
};

type Visit = { path?: string; subject: string | null; amr?: string[] };

/** Opens the page that starts a login, logs in at the provider, and returns the URL to which it sends the browser back. */
export const visitProvider = async (
  { provider, connection }: Pick<Fixture, 'provider' | 'connection'>,
  visitor: ReturnType<typeof createVisitor>,
  { path = `/sso/${connection}/start/`, subject, amr = ['pwd'] }: Visit,
): Promise<string> => {
  const started = await visitor.get(path);
  Object.assign(provider.state, { subject, amr });
  return pathOf(await provider.openBrowser().follow(locationOf(started)));
};

/** A whole login in a new browser. */
export const logInWithSso = async (fixture: Fixture, visit: Visit) => {
  const visitor = createVisitor(fixture.app);
  const callback = await visitProvider(fixture, visitor, visit);
  const page: Page = await visitor.get(callback);
  return { visitor, callback, page };
};

/** The address of the person who is logged in, or null. */
export const personOf = async (
  app: TestApp,
  visitor: ReturnType<typeof createVisitor>,
): Promise<string | null> => {
  const cookie = [...visitor.jar].map(([name, value]) => `${name}=${value}`).join('; ');
  const response = await app.send('GET /session/', { headers: { cookie } });
  return response.statusCode === 200 ? response.json().user.email : null;
};

export const actionsOf = async (app: TestApp, filter: { target?: string; action?: AuditAction }) =>
  (await app.as(ROOT).audit.list({ ...filter, limit: 200 })).map(({ action, details }) => ({
    action,
    details,
  }));

export { ACME };
