import type { Page } from 'playwright-core';
import { makeDemoDir } from '../demo-data.ts';
import { startService } from '../service-process.ts';
import { freePort } from '../tcp.ts';
import { ADA, DEMO_PASSWORD, ROOT } from '../test-app.ts';
import type { TestedProvider } from './tested-provider.ts';

const PERSON = { name: 'Ada Lovelace', email: ADA, groups: ['analysts', 'engineers'] };

/** Apps of Acme in the demo, one for each relying party. */
const APPS = ['zylTKNVx', 'Qm3vR8pa', 'Wd9kT4zx', 'Pr4cNg8u'];

/** The demo of Steward, in which a person may open all these apps. */
export const startSteward = async (): Promise<TestedProvider> => {
  const started = new AsyncDisposableStack();
  const folder = started.use(await makeDemoDir());
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  const service = started.use(
    await startService('demo', {
      DATA_DIR: folder.path,
      PORT: String(port),
      BASE_URL: issuer,
      WEBHOOK_PRIVATE_NETWORKS: '1',
    }),
  );
  const { token } = await service.logIn(ROOT, DEMO_PASSWORD);
  const call = async (line: string, body?: unknown) => {
    const { status, text, json } = await service.send(line, { token, ...(body !== undefined && { body }) });
    if (status >= 400) throw new Error(`${line}: ${text}`);
    return json;
  };
  const free = [...APPS];
  await call(`PATCH /jb/users/${ADA}/`, { apps: APPS });
  for (const name of PERSON.groups)
    await call('POST /jb/clients/1/groups/', { name, members: [ADA], apps: [] });
  const waitForLogin = (page: Page) => page.getByRole('button', { name: 'Log in', exact: true }).waitFor();
  const updateAda = (changes: object) => call(`PATCH /jb/users/${ADA}/`, changes);
  const suspendAda = (is_active: boolean) => call(`PATCH /jb/clients/1/users/${ADA}/`, { is_active });

  return {
    person: PERSON,
    register: async ({ sendsCodeChallenge }, { redirectUri, postLogoutUri, backchannelUri }) => {
      const clientId = free.shift() ?? '';
      await call(`PUT /jb/apps/${clientId}/oidc/`, {
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [postLogoutUri],
        backchannel_logout_uri: backchannelUri ?? '',
        requires_pkce: sendsCodeChallenge,
      });
      const { secret } = await call(`POST /jb/apps/${clientId}/oidc/secret/`);
      return { issuer, clientId, clientSecret: secret };
    },
    waitForLogin,
    logIn: async (page) => {
      await page.getByLabel('Email').fill(ADA);
      await page.getByLabel('Password').fill(DEMO_PASSWORD);
      await page.getByRole('button', { name: 'Log in', exact: true }).click();
    },
    // An ID token is enough.
    confirmLogout: async () => {},
    endSession: () => call(`DELETE /jb/users/${ADA}/sessions/`),
    causes: {
      'the account is deactivated': {
        happen: () => updateAda({ is_active: false }),
        undo: () => updateAda({ is_active: true }),
      },
      'the membership is suspended': {
        happen: () => suspendAda(false),
        undo: async () => {
          await suspendAda(true);
          await updateAda({ apps: APPS });
        },
      },
      'the app is taken from the person': {
        happen: () => updateAda({ apps: [] }),
        undo: () => updateAda({ apps: APPS }),
      },
      'the client is closed': {
        happen: () => call('PATCH /jb/clients/1/gate/', { is_open: false }),
        undo: () => call('PATCH /jb/clients/1/gate/', { is_open: true }),
      },
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
};
