import * as assert from 'uvu/assert';
import { HOUR_MS } from '../../src/lib/clock.ts';
import { pruneEmbeds } from '../../src/services/gate/embeds.ts';
import { setApp } from '../support/access-views.ts';
import { ACME, ADA, appSuite, type TestApp } from '../support/test-app.ts';

const pruning = appSuite('pruning of embeds');

pruning.before(({ app }) => setApp(app, { launch_url: 'https://sales.example.com/' }));

const embed = async (app: TestApp): Promise<string> =>
  (await app.as(ACME).accessViews.embed({ app: 'sales', email: ADA })).url.slice(-33, -1);
const open = (app: TestApp, key: string) => app.send(`GET !/v/${key}/`, { headers: { accept: 'text/html' } });

pruning(
  'deletes ended sessions, and views for one use when all that they opened has ended',
  async ({ app }) => {
    const db = app.db();
    const expireAgo = (key: string, hours: number) =>
      db
        .updateTable('access_views')
        .set({ expires_at: new Date(app.clock.now().getTime() - hours * HOUR_MS) })
        .where('key', '=', key)
        .execute();
    const [recent, old] = [await embed(app), await embed(app)];
    const { key: listed } = await app.as(ACME).accessViews.create({ app: 'sales' });
    for (const key of [recent, old, listed]) assert.is((await open(app, key)).statusCode, 303);
    await expireAgo(recent, 11.9);
    await expireAgo(old, 12.1);
    await expireAgo(listed, 1_000);
    await pruneEmbeds(app.orm.em.fork(), app.clock.now());

    const keys = (await db.selectFrom('access_views').select('key').orderBy('id').execute()).map(
      ({ key }) => key,
    );
    assert.equal(keys, [recent, listed]);
    assert.is((await db.selectFrom('embed_sessions').select('digest').execute()).length, 2);
    await db
      .updateTable('embed_sessions')
      .set({ expires_at: new Date(0) })
      .execute();
    await pruneEmbeds(app.orm.em.fork(), app.clock.now());
    assert.equal(await db.selectFrom('embed_sessions').select('digest').execute(), []);
    assert.is((await db.selectFrom('access_view_uses').select('id').execute()).length, 2);
  },
);

pruning.run();
