import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { startService } from '../support/service-process.ts';

const ROUNDS = 20;
const PASSWORD = 'steward-demo-1';

const revocations = suite('two instances on one database');

revocations('refuse what was revoked at either of them with the next request at both', async () => {
  await using server = await startExternalDatabase();
  const { settings } = await server.makeDatabase();
  await using first = await startService('demo', settings);
  await using second = await startService('serve', settings);
  const instances = [first, second] as const;
  const { token: admin } = await first.logIn('admin@acme.test', PASSWORD);
  const { token: ada } = await first.logIn('ada@acme.test', PASSWORD);
  let [taken, made] = [0, 0];

  /** Sends the request to both instances. */
  const statuses = (token: string, line = 'GET /jb/users/') =>
    Promise.all(instances.map(async (instance) => (await instance.send(line, { token })).status));

  for (let round = 0; round < ROUNDS; round += 1) {
    const revoking = instances[round % 2] ?? first;
    const as = (token: string) => async (line: string, body?: object) => {
      const { status, json, text } = await revoking.send(line, { token, body });
      assert.ok(status < 300, `${line}: ${status} ${text}`);
      return json;
    };
    const byAdmin = as(admin);
    const account = await byAdmin('POST /jb/service-accounts/', {
      name: `Round ${round}`,
      client: 1,
      roles: ['help-desk'],
    });
    const path = `/jb/service-accounts/${account.id}`;
    const newToken = async (): Promise<{ id: number; token: string }> =>
      byAdmin(`POST ${path}/tokens/`, { name: `Host ${++made}` });
    const [revoked, kept, other, outside] = [
      await newToken(),
      await newToken(),
      await newToken(),
      await newToken(),
    ];

    const setRoles = (...roles: string[]) => byAdmin('PUT /jb/clients/1/roles/ada@acme.test/', { roles });
    await setRoles('auditor');

    const steps: [token: string, revoke: () => Promise<unknown>, expected: number][] = [
      [revoked.token, () => byAdmin(`DELETE ${path}/tokens/${revoked.id}/`), 401],
      [ada, () => setRoles(), 403],
      [kept.token, () => byAdmin(`PATCH ${path}/`, { roles: [] }), 403],
      [other.token, () => byAdmin(`PATCH ${path}/`, { is_active: false }), 401],
      [
        outside.token,
        () => byAdmin(`POST ${path}/tokens/${outside.id}/narrow/`, { networks: ['10.0.0.0/8'] }),
        401,
      ],
    ];
    for (const [token, revoke, expected] of steps) {
      await byAdmin(`PATCH ${path}/`, { roles: ['help-desk'], is_active: true });
      assert.equal(await statuses(token), [200, 200]);
      await revoke();
      assert.equal(await statuses(token), [expected, expected]);
      taken += 1;
    }
  }
  console.log(`# ${taken} of ${ROUNDS * 5} revocations took effect with the next request at both instances`);
});

revocations.run();
