import { parse } from 'csv-parse/sync';
import * as assert from 'uvu/assert';
import { csvFileName } from '../../src/http/rest/responses.ts';
import { fillLists, listEndpoints, readEndpoints } from '../support/every-read.ts';
import { ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const csv = appSuite('lists as CSV');
csv.before(({ app }) => fillLists(app));

const CSV = { accept: 'text/csv' };
const readCsv = async (app: TestApp, path: string) => {
  const response = await app.send(`GET ${path}`, { as: ROOT, headers: CSV });
  assert.is(response.statusCode, 200, path);
  const [header = [], ...records]: string[][] = parse(response.body, { recordDelimiter: '\r\n' });
  return { ...response, header, records };
};

/** The CSV cell of a JSON value. */
const cellOf = (value: unknown): string => {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
  return /^[=+\-@]/.test(text) ? `'${text}` : text;
};

csv('has the content of JSON in every list, with a column for each field', async ({ app }) => {
  for (const { path } of listEndpoints()) {
    const items: Record<string, unknown>[] = (await app.send(`GET ${path}`, { as: ROOT })).json();
    const { header, records, headers } = await readCsv(app, path);

    assert.is(headers['content-type'], 'text/csv; charset=utf-8', path);
    assert.equal(header.toSorted(), Object.keys(items[0] ?? {}).toSorted(), path);
    assert.equal(
      records,
      items.map((item) => header.map((field) => cellOf(item[field]))),
      path,
    );
  }
});

csv('has a header row even if empty, and ends lines with CRLF (RFC 4180)', async ({ app }) => {
  const { body, records } = await readCsv(app, '/jb/sites/?page=9');

  assert.is(body, 'id,domain,name\r\n');
  assert.equal(records, []);
});

csv('escapes formulas, quotes and line breaks', async ({ app }) => {
  const first_name = '=HYPERLINK("http://x.test")';
  await app.as(ROOT).users.update({ email: ADA, first_name, last_name: 'a,"b"\r\nc' });
  const { body, header, records } = await readCsv(app, `/jb/users/?search=${ADA}`);
  const [record = []] = records;

  assert.is(record[header.indexOf('first_name')], `'${first_name}`);
  assert.is(record[header.indexOf('last_name')], 'a,"b"\r\nc');
  assert.is(record[header.indexOf('handle')], "'@ada");
  assert.match(body, '"a,""b""\r\nc"');
});

csv('names the file after the path', async ({ app }) => {
  const nameOf = async (path: string) => (await readCsv(app, path)).headers['content-disposition'];

  assert.is(await nameOf('/jb/users/'), 'attachment; filename="users.csv"');
  assert.is(
    await nameOf('/jb/clients/1/users/invitations'),
    'attachment; filename="clients-1-users-invitations.csv"',
  );
  assert.is(await nameOf(`/jb/apps/${SALES}/usage/`), `attachment; filename="apps-${SALES}-usage.csv"`);
  assert.is(csvFileName('/api/v1/jb/users/:email/', { email: '"\r\n/ä;x' }), 'users-______x.csv');
  assert.is(csvFileName('/api/v1/jb/:key/', { key: 'x'.repeat(1000) }).length, 104);
  const json = await app.send('GET /jb/users/', { as: ROOT });
  assert.is(json.headers['content-disposition'], undefined);
});

csv('works with pagination', async ({ app }) => {
  const { headers, records } = await readCsv(app, '/jb/users/?page=2&page_size=3');

  assert.is(records.length, 3);
  assert.is(headers['x-count'], '8');
});

csv('is not available for single objects and failures', async ({ app }) => {
  const singles = readEndpoints().filter(
    ({ endpoint }) => endpoint.csv === null && endpoint.rest.download !== 'text/csv',
  );
  assert.ok(singles.length > 8);
  for (const { path } of singles) {
    assert.is((await app.send(`GET ${path}`, { as: ROOT, headers: CSV })).statusCode, 406, path);
  }
  const failed = await app.send('GET /jb/users/?page=0', { as: ROOT, headers: CSV });
  assert.is(failed.headers['content-type'], 'application/problem+json; charset=utf-8');
  assert.is(failed.headers['content-disposition'], undefined);
  const made = await app.send('POST /jb/users/invitations/', { as: ROOT, headers: CSV, payload: [] });
  assert.is(made.statusCode, 406);
});

csv.run();
