import * as assert from 'uvu/assert';
import type { TestSmtpServer } from '../support/smtp-server.ts';
import { DEMO_PASSWORD } from '../support/test-server.ts';
import { until } from '../support/time.ts';
import {
  ACME,
  ADA,
  APP,
  assertSameItems,
  call,
  createUser,
  type Instance,
  linkMailedTo,
  ROOT,
  tokenOf,
} from './calls.ts';

const STACK = 'b1b82f57';
const NEW_PASSWORD = 'violet-harbor-92-kite';

/** `name` is unique to the exchange. */
type Exchange = (first: Instance, second: Instance, name: string, smtp: TestSmtpServer) => Promise<void>;

const LISTS = [
  'GET /jb/users/',
  'GET /jb/clients/1/users/',
  'GET /jb/users/invitations/',
  'GET /jb/invitations/',
  'GET /jb/clients/',
  'GET /jb/sites/',
  'GET /jb/apps/',
  `GET /jb/apps/${APP}/stacks/`,
  `GET /jb/apps/${APP}/versions/`,
  `GET /jb/apps/${APP}/usage/?window=30`,
  'GET /jb/mails/',
  'GET /jb/audit/',
];

/** What one instance does, and another sees. */
export const exchanges: Record<string, Exchange> = {
  'tokens and their revocation': async (first, second) => {
    const [token, other] = [await tokenOf(first, ROOT), await tokenOf(first, ROOT)];
    const listed: { id: number; is_current: boolean }[] = await call(first, 'GET /jb/tokens/', {
      token: other,
    });
    const id = listed.find(({ is_current }) => is_current)?.id;

    await call(second, 'GET /jb/users/', { token: other });
    await call(second, `DELETE /jb/tokens/${id}/`, { token });

    assert.is((await first.send('GET /jb/users/', { token: other })).status, 401);
  },

  'browser sessions with their CSRF tokens, and saved filters': async (first, second, name) => {
    const login = await first.send('POST /session/', { body: { username: ACME, password: DEMO_PASSWORD } });
    assert.is(login.status, 200, login.text);
    const cookie = login.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    const headers = { cookie, 'x-csrftoken': String(login.json.csrf_token) };
    const filter = { stack_id: STACK, hash: name, name };

    await call(second, 'POST /hashr/saved_global_filters/', { headers, body: filter });
    const saved = await call(first, `GET /hashr/saved_global_filters/${name}/`, { headers });
    await call(second, 'DELETE /session/', { headers });

    assert.is(saved.name, name);
    assert.is((await first.send('GET /session/', { headers })).status, 401);
  },

  'users that are created, changed and deactivated': async (first, second, name, smtp) => {
    const email = `${name}@acme.test`;
    const path = `/jb/users/${email}/`;
    await createUser(first, email, smtp);
    const [token, other] = [await tokenOf(first, ACME), await tokenOf(second, ACME)];

    await call(second, `PATCH ${path}`, { token: other, body: { first_name: 'Second', extra: { name } } });
    const changed = await call(first, `GET ${path}`, { token });
    const own = await tokenOf(second, email);
    await call(first, `DELETE ${path}`, { token });
    const deactivated = await call(second, `GET ${path}`, { token: other });

    assert.equal([changed.first_name, changed.extra], ['Second', { name }]);
    assert.is(deactivated.is_active, false);
    assert.is((await second.send('GET /session/', { token: own })).status, 401);
    assert.is((await second.logIn(email, DEMO_PASSWORD)).status, 400);
  },

  'requests that are repeated with an idempotency key': async (first, second, name) => {
    const token = await tokenOf(first, ACME);
    const body = { email: `${name}-once@acme.test`, client: 1, apps: [], send_email: false };
    const request = { token, body, headers: { 'idempotency-key': name } };

    const done = await first.send('POST /jb/users/', request);
    const again = await second.send('POST /jb/users/', request);

    assert.is(done.status, 200, done.text);
    assert.equal([again.text, again.headers.get('idempotency-replayed')], [done.text, 'true']);
  },

  'invitations that are changed, mailed once, and accepted': async (first, second, name, smtp) => {
    const email = `${name}-guest@acme.test`;
    const [token, other] = [await tokenOf(first, ACME), await tokenOf(second, ACME)];
    const invited = { email, initial_apps: [] };
    const { id } = await call(first, 'POST /jb/clients/1/users/invitations/', { token, body: invited });

    await call(second, `PATCH /jb/users/invitations/${email}/`, {
      token: other,
      body: { initial_apps: [APP] },
    });
    const changed = await call(first, `GET /jb/invitations/${id}/`, { token });
    const link = await linkMailedTo(smtp, email, '/invitation/');
    const key = link.pathname.split('/')[2];
    const signature = link.searchParams.get('signature');
    await call(second, `POST /invitations/${key}/`, { body: { signature } });
    await call(second, `POST /invitations/${key}/accept/`, { body: { signature, password: DEMO_PASSWORD } });
    const apps = await call(first, 'GET /jb/apps/', { token: await tokenOf(first, email) });

    assert.equal(changed.initial_apps, [APP]);
    assert.equal(
      apps.map((app: { id: string }) => app.id),
      [APP],
    );
    assert.is(smtp.recipients().filter((to) => to === email).length, 1);
  },

  'passwords that are changed and reset': async (first, second, name, smtp) => {
    const email = `${name}-password@acme.test`;
    await createUser(first, email, smtp);
    const token = await tokenOf(first, email);
    await call(second, 'POST /password/change/', {
      token,
      body: { password: DEMO_PASSWORD, new_password: NEW_PASSWORD },
    });
    await tokenOf(first, email, NEW_PASSWORD);

    const mails = smtp.taken.length;
    await call(first, 'POST /password/request-reset/', { body: { email } });
    const link = await linkMailedTo(smtp, email, '/password/reset/', mails);
    const reset = { token: link.searchParams.get('token'), password: `${NEW_PASSWORD}-2` };
    await call(second, 'POST /password/reset/', { body: reset });

    assert.is((await first.logIn(email, NEW_PASSWORD)).status, 400);
    await tokenOf(first, email, `${NEW_PASSWORD}-2`);
  },

  'usage and its totals': async (first, second, name) => {
    const token = await tokenOf(first, ACME);
    const body = [1, 2].map((mark) => ({ email: ADA, action: 'STACK_ACCESS', extra: { name, mark } }));
    const actionsOf = async (instance: Instance): Promise<number> => {
      const [today] = await call(instance, `GET /jb/usage/report/?app_id=${APP}&email=${ADA}&periods=1`, {
        token,
      });
      return today.actions;
    };
    const before = await actionsOf(second);

    await call(first, `POST /jb/apps/${APP}/usage/`, { token, body });
    const page = await call(second, `GET /jb/apps/${APP}/usage/entries/?limit=10`, { token });

    const isOwn = ({ extra }: { extra: { name?: string } }) => extra.name === name;
    assert.is(page.items.filter(isOwn).length, 2);
    assert.is(await actionsOf(second), before + 2);
  },

  'apps and their packages': async (first, second, name) => {
    const [token, other] = [await tokenOf(first, ROOT), await tokenOf(second, ROOT)];
    await call(first, `PATCH /jb/apps/${APP}/`, { token, body: { description: name, in_maintenance: true } });
    const app = await call(second, `GET /jb/apps/${APP}/`, { token: other });
    await call(second, `PATCH /jb/apps/${APP}/`, { token: other, body: { in_maintenance: false } });
    const status = await call(first, `GET /jb/apps/${APP}/status/`, { token });

    for (const version of ['1.0.0', '1.1.0']) {
      await call(first, 'POST /app/fetch/sales/', { token, body: { app_version: version } });
      await call(second, 'POST /app/load/sales/', { token: other });
    }
    await call(first, 'POST /app/rollback/sales/', { token, body: { app_version: '1.0.0' } });
    const versions = await call(second, `GET /jb/apps/${APP}/versions/`, { token: other });

    assert.is(app.description, name);
    assert.is(status.in_maintenance, false);
    assert.ok(versions.length >= 2);
  },

  'all lists': async (first, second, name) => {
    const token = await tokenOf(first, ROOT);
    const body = { email: `${name}-list@acme.test`, client: 1, initial_apps: [] };
    await call(first, 'POST /jb/users/invitations/', { token, body });
    // Sending a mail changes it and its invitation.
    await until('no mail waits', async () => {
      const mails: { status: string }[] = await call(second, 'GET /jb/mails/', { token });
      return mails.every(({ status }) => status !== 'queued');
    });

    for (const line of LISTS)
      assertSameItems(line, await call(first, line, { token }), await call(second, line, { token }));
  },
};

/** Runs all exchanges between two instances. */
export const runExchanges = async (first: Instance, second: Instance, name: string, smtp: TestSmtpServer) => {
  for (const [index, exchange] of Object.values(exchanges).entries())
    await exchange(first, second, `${name}-${index}`, smtp);
};
