import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { startService } from '../support/service-process.ts';
import { addMembers, countRows, mailLinks, revokeFromAll, statusesOf } from '../support/users.ts';

const instances = suite('two instances that get a bulk change with one Idempotency-Key at once');

const COUNT = 100;
const EMAILS = Array.from({ length: COUNT }, (_, n) => `m${n + 1}@many.test`);
const CHANGES = `audit_entries where action = 'user.change-apps' and target_label like '%@many.test'`;

instances('change and mail each person once, and return the same response', async () => {
  await using database = await startExternalDatabase();
  const { settings, connection } = await database.makeDatabase();
  await using first = await startService('demo', settings);
  await using second = await startService('serve', settings);
  const eye = new Client(connection);
  await eye.connect();
  await addMembers(eye, COUNT);
  const services = [first, second];

  const [one, other] = await Promise.all(services.map((service) => revokeFromAll(service)));
  const counts = ['operations', 'operation_changes', CHANGES].map((from) => countRows(eye, from));
  assert.equal([one?.status, other?.status], [200, 200], `${one?.text} ${other?.text}`);
  assert.is(one?.text, other?.text);
  assert.equal(statusesOf(one?.json.results), ['ok']);
  assert.equal(await Promise.all(counts), [1, COUNT, COUNT]);

  const [mailed, also] = await Promise.all(services.map((service) => mailLinks(service, EMAILS, 'links')));
  assert.is(mailed?.text, also?.text);
  assert.equal(statusesOf(mailed?.json.results), ['ok']);
  assert.is(await countRows(eye, 'outbox_mails where operation_id is not null'), COUNT);
  await eye.end();
});

instances.run();
