import * as assert from 'uvu/assert';
import { ADA, appSuite, STAFF } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const complexity = appSuite('JSON complexity limit');

const PATH = `POST /jb/apps/${SALES}/usage/`;
const entry = (extra: string) => `{"email":"${ADA}","action":"X","extra":${extra}}`;
const repeated = (text: string, times: number) => Array.from({ length: times }, () => text).join(',');
const headers = { 'content-type': 'application/json' };

complexity('refuses bodies with too many values before parsing, over REST and tRPC', async ({ app }) => {
  // Neither is valid JSON, which a parser would report first.
  const bodies = {
    'empty arrays': `[${repeated(entry(`{"a":[${repeated('[]', 10_800)}]}`), 480)}`,
    'empty entries': `[${repeated('{}', 5_000_000)}`,
  };
  for (const [name, payload] of Object.entries(bodies)) {
    const rest = await app.send(PATH, { as: STAFF, payload, headers });
    const rpc = await app.send('POST !/trpc/usage.record', {
      as: STAFF,
      payload: `{"json":{"app_id":"${SALES}","entries":${payload}}}`,
      headers,
    });

    assert.equal([rest.statusCode, rpc.statusCode], [400, 400], name);
    assert.match(rest.json().errors.body[0], /500000 values/, name);
    assert.match(rpc.body, /500000 values/, name);
  }
});

complexity('accepts many usage entries and large strings', async ({ app }) => {
  const entries = `[${repeated(entry('{"request":{"path":"/a/","META":{"QUERY_STRING":"a=1,2,3"}}}'), 10_000)}]`;
  const texts = `[${repeated(entry(JSON.stringify({ text: 'x'.repeat(60_000) })), 250)}]`;

  assert.equal((await app.send(PATH, { as: STAFF, payload: entries, headers })).json().inserted, 10_000);
  assert.equal((await app.send(PATH, { as: STAFF, payload: texts, headers })).json().inserted, 250);
});

complexity.run();
