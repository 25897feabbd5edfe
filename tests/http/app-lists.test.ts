import * as assert from 'uvu/assert';
import { ADA, appSuite, ROOT } from '../support/test-app.ts';

const lists = appSuite('apps.list over REST');

lists('returns the same as the procedure', async ({ app }) => {
  for (const who of [ADA, ROOT]) {
    const response = await app.send('GET /jb/apps/', { as: who });
    const listed = await app.as(who).apps.list({});

    assert.equal(response.json(), listed);
    assert.equal((await app.send(`GET /jb/apps/${listed[0]?.id}/`, { as: who })).json(), listed[0]);
  }
});

lists('returns CSV with objects as JSON if the client prefers it', async ({ app }) => {
  const { body, headers } = await app.send('GET /jb/apps/', { as: ROOT, headers: { accept: 'text/csv' } });
  const [header, first] = body.split('\r\n');
  const [listed] = await app.as(ROOT).apps.list({});

  assert.is(headers['content-type'], 'text/csv; charset=utf-8');
  assert.equal(header?.split(',').toSorted(), Object.keys(listed ?? {}).toSorted());
  assert.ok(first?.includes(`"${JSON.stringify(listed?.usage).replaceAll('"', '""')}"`), first);
});

lists.run();
