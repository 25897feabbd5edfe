import * as assert from 'uvu/assert';
import { appSuite } from '../support/app-suite.ts';
import { ADA, STAFF } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const crowded = appSuite('bodies of many values');

const PATH = `POST /jb/apps/${SALES}/usage/`;
const entry = (extra: string) => `{"email":"${ADA}","action":"X","extra":${extra}}`;
const repeated = (text: string, times: number) => Array.from({ length: times }, () => text).join(',');
const headers = { 'content-type': 'application/json' };

crowded('are refused before they are parsed, over REST and tRPC', async ({ app }) => {
  const bodies = {
    'empty arrays': `[${repeated(entry(`{"a":[${repeated('[]', 10_800)}]}`), 480)}]`,
    'empty entries': `[${repeated('{}', 5_000_000)}]`,
  };
  for (const [name, payload] of Object.entries(bodies)) {
    const started = performance.now();
    const rest = await app.send(PATH, { as: STAFF, payload, headers });
    const rpc = await app.send('POST !/trpc/usage.record', {
      as: STAFF,
      payload: `{"json":{"app_id":"${SALES}","entries":${payload}}}`,
      headers,
    });
    const tookMs = performance.now() - started;

    assert.equal([rest.statusCode, rpc.statusCode], [400, 400], name);
    assert.match(rest.json().errors.body[0], /500000 values/, name);
    // 0.1 s on an idle machine; parsing both takes 2 s at least.
    assert.ok(tookMs < 1_500, `${name}: ${tookMs} ms`);
  }
});

crowded('are taken where they are many entries or large texts', async ({ app }) => {
  const entries = `[${repeated(entry('{"request":{"path":"/a/","META":{"QUERY_STRING":"a=1,2,3"}}}'), 10_000)}]`;
  const texts = `[${repeated(entry(JSON.stringify({ text: 'x'.repeat(60_000) })), 250)}]`;

  assert.equal((await app.send(PATH, { as: STAFF, payload: entries, headers })).json().recorded, 10_000);
  assert.equal((await app.send(PATH, { as: STAFF, payload: texts, headers })).json().recorded, 250);
});

crowded.run();
