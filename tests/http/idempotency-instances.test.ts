import * as assert from 'uvu/assert';
import { ACME, appSuite, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const AT_ONCE = 10;
const ROUNDS = 5;

const instances = appSuite('Idempotency-Key on several instances');

/** Sends the request to both instances, many times at once. */
const sendToBoth = async (
  app: TestApp,
  twin: Pick<TestApp, 'server'>,
  path: string,
  as: string,
  payload: object,
) => {
  const key = JSON.stringify(payload).replaceAll(/\W/g, '');
  const headers = { authorization: `Token ${await app.tokenOf(as)}`, 'idempotency-key': key };
  const send = ({ server }: Pick<TestApp, 'server'>) =>
    server.inject({ method: 'POST', url: `/api/v1${path}`, headers, payload });
  return Promise.all(Array.from({ length: AT_ONCE }, () => [send(app), send(twin)]).flat());
};

instances('does the work on one instance and returns the same response on all', async ({ app }) => {
  const twin = await app.startTwin();
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [path, as, payload] of [
        ['/jb/tokens/', ACME, { name: `twin${round}` }],
        ['/jb/users/', ACME, { email: `twin${round}@acme.test` }],
        [`/jb/apps/${SALES}/usage/`, STAFF, { email: 'x@x.test', action: `TWIN_${round}` }],
      ] as const) {
        const responses = await sendToBoth(app, twin, path, as, payload);
        const ok = responses.filter(({ statusCode }) => [200, 201].includes(statusCode));
        assert.is(ok.length, responses.length, responses.find((response) => !ok.includes(response))?.body);
        assert.is(new Set(responses.map(({ body }) => body)).size, 1, path);
        const replayed = responses.filter(({ headers }) => headers['idempotency-replayed'] === 'true');
        assert.is(replayed.length, responses.length - 1, path);
      }
    }
    const entries = app.db().selectFrom('usage_entries').select('id').where('action', 'like', 'TWIN%');
    assert.is((await entries.execute()).length, ROUNDS);
  } finally {
    await twin.close();
  }
});

instances.run();
