import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, EDSGER, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const table = appSuite('users.table');

const download = async (app: TestApp, query: string, as = ACME) => {
  const response = await app.send(`GET /jb/users/table/?${query}`, { as });
  return { response, lines: response.body.split('\r\n').slice(0, -1) };
};

table('is a CSV file of the chosen columns in the chosen order', async ({ app }) => {
  const { response, lines } = await download(app, 'role=member&sort=-email&columns=email,last_name,apps');

  assert.is(response.statusCode, 200, response.body);
  assert.is(response.headers['content-type'], 'text/csv; charset=utf-8');
  assert.is(response.headers['content-disposition'], 'attachment; filename="users.csv"');
  const listed = await app.as(ACME).users.list({ role: 'member', sort: '-email', limit: 100 });
  const expected = listed.map(
    ({ email, last_name, apps }) => `${email},${last_name},"${JSON.stringify(apps).replaceAll('"', '""')}"`,
  );
  assert.ok(listed.length > 1);
  const quoted = lines.map((line) => line.replace(/,\[\]$/, ',"[]"'));
  assert.equal(quoted, ['email,last_name,apps', ...expected]);
});

table('has all columns by default, as the list has', async ({ app }) => {
  const list = await app.send('GET /jb/users/?format=csv', { as: ROOT });
  const { response } = await download(app, 'sort=date_joined', ROOT);

  const sorted = (text: string) => text.split('\r\n').sort();
  assert.equal(sorted(response.body), sorted(list.body));
});

table('shows a client admin only people of the client', async ({ app }) => {
  const { lines } = await download(app, 'columns=email');

  assert.ok(lines.includes(GRACE));
  assert.not.ok(lines.includes(EDSGER));
});

table('is refused to members, and with an unknown column, sort or filter', async ({ app }) => {
  assert.is((await download(app, '', ADA)).response.statusCode, 403);
  const { response } = await download(app, 'columns=email,password');
  assert.is(response.statusCode, 400);
  assert.match(JSON.stringify(response.json().errors), 'columns');
  assert.is((await download(app, 'sort=handle')).response.statusCode, 400);
});

table.run();
