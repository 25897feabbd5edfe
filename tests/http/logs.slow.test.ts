import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { Server } from 'node:net';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { startLogged } from '../support/logged-app.ts';
import { appSuite, ROOT } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { addUsers } from '../support/users.ts';

const logs = appSuite('logs');
const countConnections = (server: Server): Promise<number> => promisify(server.getConnections.bind(server))();

logs('have no error for clients that disconnect from a list halfway', async ({ app }) => {
  await addUsers(app, 1_000);
  await sql`update memberships set extra = json_build_object('filler', repeat(md5(random()::text), 250))
    where user_id in (select id from users where email like 'm%@many.test')`.execute(app.db());
  const { entries, logged } = await startLogged(app);
  await logged.server.listen({ port: 0, host: '127.0.0.1' });
  const authorization = `Token ${await app.tokenOf(ROOT)}`;

  for (const encoding of ['identity', 'gzip', 'br']) {
    const headers = { authorization, 'accept-encoding': encoding };
    const request = get(`${logged.server.listeningOrigin}/api/v1/jb/users/`, { agent: false, headers });
    const [response] = (await once(request, 'response')) as [IncomingMessage]; // arguments of the event
    await once(response, 'readable');
    response.destroy();
  }
  await until('the server has noticed', async () => (await countConnections(logged.server.server)) === 0);
  await logged.close();

  const errors = entries().filter(({ level }) => level > 30);
  assert.equal(errors, []);
});

logs.run();
