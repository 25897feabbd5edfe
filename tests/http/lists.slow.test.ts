import { parse } from 'csv-parse/sync';
import * as assert from 'uvu/assert';
import { REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { csvFileName } from '../../src/http/rest/responses.ts';
import { fillLists, listEndpoints, readEndpoints } from '../support/every-read.ts';
import { ACME, ADA, appSuite, ROOT, restPath, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const BASE = 'https://steward.test/base';
const lists = appSuite('lists: pages, CSV and HEAD', { BASE_URL: BASE });
lists.before(({ app }) => fillLists(app));

const USERS = '/api/v1/jb/users/';
const HEADERS = ['x-count', 'x-page', 'x-pagesize', 'x-next', 'x-previous', 'link'] as const;
const read = (app: TestApp, path: string, as = ROOT) => app.send(`GET ${path}`, { as });

const pageHeaders = async (app: TestApp, path: string) => {
  const { headers } = await read(app, path);
  return Object.fromEntries(HEADERS.map((name) => [name, headers[name]]));
};

const withKeys = (path: string, keys: string) => path + (path.includes('?') ? '&' : '?') + keys;

/** All elements, read by following X-Next. */
const followed = async (app: TestApp, first: string): Promise<{ items: unknown[]; counts: unknown[] }> => {
  const items: unknown[] = [];
  const counts: unknown[] = [];
  for (let path = first; path !== 'None'; ) {
    const { headers, body } = await read(app, path);
    items.push(...JSON.parse(body));
    counts.push(headers['x-count']);
    const next = String(headers['x-next']);
    path = next === 'None' ? next : restPath(next.replace(BASE, ''));
  }
  return { items, counts };
};

/** All elements, read with the last element of each page as the cursor of the next. */
const continued = async (app: TestApp, path: string, key: string): Promise<unknown[]> => {
  const items: Record<string, unknown>[] = [];
  for (let cursor = ''; ; cursor = `&cursor=${encodeURIComponent(String(items.at(-1)?.[key]))}`) {
    const page = (await read(app, withKeys(path, `limit=1${cursor}`))).json();
    if (page.length === 0) return items;
    assert.is(page.length, 1);
    items.push(...page);
  }
};

const CURSOR_KEYS: Record<string, string> = {
  'access.effective': 'email',
  'dataPermissions.ofApp': 'email',
  'roles.listInClient': 'email',
  'grants.list': 'email',
  'accessViews.list': 'key',
  'users.list': 'email',
  'webhooks.deliveries': 'event',
  'clients.users': 'email',
  'savedFilters.list': 'hash',
  'savedFilters.listByStack': 'hash',
};

lists('pages: works for every list, and all pages together are the list', async ({ app }) => {
  const lists = listEndpoints().filter(({ endpoint }) => 'page_size' in endpoint.input.shape);
  assert.ok(lists.length >= 17);
  for (const { path, endpoint } of lists) {
    const whole = (await read(app, path)).json();
    const { items, counts } = await followed(app, withKeys(path, 'page_size=1'));

    assert.ok(whole.length > 1, `${path}: a list of less than two proves nothing`);
    assert.equal(items, whole, path);
    assert.equal(counts, Array(whole.length).fill(`${whole.length}`), endpoint.procedure);
  }
});

lists('pages: continues after the last element of the previous page with a cursor', async ({ app }) => {
  const lists = listEndpoints().filter(({ endpoint }) => 'cursor' in endpoint.input.shape);
  assert.ok(lists.length >= 16);
  for (const { path, endpoint } of lists) {
    const whole = (await read(app, path)).json();

    assert.equal(await continued(app, path, CURSOR_KEYS[endpoint.procedure] ?? 'id'), whole, path);
  }
});

lists('pages: skips and repeats nothing after a cursor while rows are inserted', async ({ app }) => {
  const emailsOf = async (query: string): Promise<string[]> =>
    (await read(app, `/jb/users/${query}`)).json().map(({ email }: { email: string }) => email);
  const before = await emailsOf('');
  const seen = await emailsOf('?limit=3');
  for (const email of ['0@acme.test', 'new@acme.test']) await app.as(ROOT).users.create({ email, client: 1 });
  seen.push(...(await emailsOf(`?limit=100&cursor=${seen.at(-1)}`)));
  await app.db().deleteFrom('users').where('email', 'in', ['0@acme.test', 'new@acme.test']).execute();

  const old = seen.filter((email) => before.includes(email));
  assert.equal(old, before);
});

lists('pages: links to the other pages with the base URL', async ({ app }) => {
  const url = (page: number) => `${BASE}${USERS}?is_active=true&page=${page}&page_size=2`;

  assert.equal(await pageHeaders(app, '/jb/users?page=2&is_active=true&page_size=2'), {
    'x-count': '7',
    'x-page': '2',
    'x-pagesize': '2',
    'x-next': url(3),
    'x-previous': url(1),
    link: `<${url(1)}>; rel="first", <${url(1)}>; rel="prev", <${url(3)}>; rel="next", <${url(4)}>; rel="last"`,
  });
});

lists('pages: sets X-Next and X-Previous to None at the ends', async ({ app }) => {
  const only = `${BASE}${USERS}?page=1&page_size=100`;
  const whole = {
    'x-count': '8',
    'x-page': '1',
    'x-pagesize': '100',
    'x-next': 'None',
    'x-previous': 'None',
  };

  const links = { link: `<${only}>; rel="first", <${only}>; rel="last"` };
  assert.equal(await pageHeaders(app, '/jb/users/?page=1'), { ...whole, ...links });
  for (const path of ['/jb/users/', '/jb/users/?limit=2'])
    assert.equal(Object.values(await pageHeaders(app, path)), Array(HEADERS.length).fill(undefined), path);

  const { headers, json } = await read(app, '/jb/users/?page=2147483647&page_size=5');
  assert.equal(json(), []);
  const previous = `${BASE}${USERS}?page=2&page_size=5`;
  assert.equal([headers['x-count'], headers['x-next'], headers['x-previous']], ['8', 'None', previous]);
  const nothing = await read(app, '/jb/users/?search=no-match-at-all&page=3');
  assert.equal([nothing.json(), nothing.headers['x-count']], [[], '0']);
});

lists('pages: keeps the other query parameters, and cannot inject a header', async ({ app }) => {
  const odd = 'search=a%26b%3E%0D%0AX-Evil%3A1&tag=x&tag=y%2Cz&page=2&page_size=1';
  const { headers } = await read(app, `/jb/users/?${odd}`);
  const previous = new URL(String(headers['x-previous']));

  assert.is(headers['x-evil'], undefined);
  assert.not.match(String(headers.link), /[\r\n]/);
  assert.is(previous.searchParams.get('search'), 'a&b>\r\nX-Evil:1');
  assert.equal(previous.searchParams.getAll('tag'), ['x', 'y,z']);
  assert.equal(previous.searchParams.getAll('page'), ['1']);
  const person = await read(app, `/jb/apps/?page=9&host=${encodeURIComponent('http://evil.test/')}`, ADA);
  assert.match(String(person.headers['x-previous']), `${BASE}/api/v1/jb/apps/?host=http%3A%2F%2Fevil`);
});

lists('pages: names the field of an invalid page, page size or cursor', async ({ app }) => {
  for (const [field, queries] of [
    ['page', ['page=0', 'page=-1', 'page=1.5', 'page=', 'page=2147483648', 'page=1e3', 'page=1&page=2']],
    ['page_size', ['page_size=0', 'page_size=10001', 'page_size=all', 'page_size=']],
    ['limit', ['limit=0', 'limit=10001', 'limit=x']],
    ['cursor', [`page=1&cursor=${ADA}`, `page_size=1&cursor=${ADA}`, 'cursor=unknown@acme.test']],
  ] as const)
    for (const query of queries) {
      const response = await read(app, `/jb/users/?${query}`);
      assert.equal([response.statusCode, Object.keys(response.json().errors)], [400, [field]], query);
    }
  assert.is((await read(app, '/jb/users/?page=1&page_size=10000')).statusCode, 200);
});

lists('pages: counts only what the caller can see', async ({ app }) => {
  const { headers } = await read(app, '/jb/users/?page=1&page_size=1', ACME);
  const whole = (await read(app, '/jb/users/', ACME)).json();

  assert.is(headers['x-count'], `${whole.length}`);
  assert.ok(whole.length < 8);
});

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

lists('CSV: has the content of JSON in every list, with a column for each field', async ({ app }) => {
  for (const { path } of listEndpoints()) {
    const items: Record<string, unknown>[] = (await app.send(`GET ${path}`, { as: ROOT })).json();
    const { header, records, headers } = await readCsv(app, path);

    assert.is(headers['content-type'], 'text/csv; charset=utf-8', path);
    assert.equal(header.toSorted(), Object.keys(items[0] ?? {}).toSorted(), path);
    const cells = items.map((item) => header.map((field) => cellOf(item[field])));
    assert.equal(records, cells, path);
  }
});

lists('CSV: has a header row even if empty, and escapes formulas and quotes', async ({ app }) => {
  assert.is((await readCsv(app, '/jb/sites/?page=9')).body, 'id,domain,name\r\n');

  const first_name = '=HYPERLINK("http://x.test")';
  await app.as(ROOT).users.update({ email: ADA, first_name, last_name: 'a,"b"\r\nc' });
  const { body, header, records } = await readCsv(app, `/jb/users/?search=${ADA}`);
  const cell = (field: string) => records[0]?.[header.indexOf(field)];
  const names = [cell('first_name'), cell('last_name'), cell('handle')];
  assert.equal(names, [`'${first_name}`, 'a,"b"\r\nc', "'@ada"]);
  assert.match(body, '"a,""b""\r\nc"');
});

lists('CSV: names the file after the path', async ({ app }) => {
  for (const [path, name] of [
    ['/jb/users/', 'users'],
    ['/jb/clients/1/users/invitations', 'clients-1-users-invitations'],
    [`/jb/apps/${SALES}/usage/`, `apps-${SALES}-usage`],
  ] as const) {
    const { headers } = await readCsv(app, path);
    assert.is(headers['content-disposition'], `attachment; filename="${name}.csv"`);
  }
  assert.is(csvFileName('/api/v1/jb/users/:email/', { email: '"\r\n/ä;x' }), 'users-______x.csv');
  assert.is(csvFileName('/api/v1/jb/:key/', { key: 'x'.repeat(1000) }).length, 104);
  assert.is((await read(app, '/jb/users/')).headers['content-disposition'], undefined);
});

lists('CSV: is not available for single objects and failures', async ({ app }) => {
  const singles = readEndpoints().filter(
    ({ endpoint }) => endpoint.csv === null && endpoint.rest.download !== 'text/csv',
  );
  assert.ok(singles.length > 8);
  for (const { path } of singles)
    assert.is((await app.send(`GET ${path}`, { as: ROOT, headers: CSV })).statusCode, 406, path);
  const failed = await app.send('GET /jb/users/?page=0', { as: ROOT, headers: CSV });
  assert.is(failed.headers['content-type'], 'application/problem+json; charset=utf-8');
  assert.is(failed.headers['content-disposition'], undefined);
  const made = await app.send('POST /jb/users/invitations/', { as: ROOT, headers: CSV, payload: [] });
  assert.is(made.statusCode, 406);
});

/** Leaves out what differs for each response: cookies, the request id, and the framing of the body. */
const comparable = ({ headers }: Awaited<ReturnType<TestApp['send']>>) => {
  const { date, 'x-request-id': id, 'set-cookie': cookies, 'transfer-encoding': _, ...rest } = headers;
  return { ...rest, hasDate: typeof date, hasId: typeof id, cookies: [cookies ?? []].flat().length };
};

const sameAsGet = async (app: TestApp, path: string, accept: string) => {
  const request = { as: ROOT, headers: { accept } };
  const got = await app.send(`GET ${path}`, request);
  const asked = await app.send(`HEAD ${path}`, request);

  assert.is(asked.statusCode, got.statusCode, path);
  assert.is(asked.body, '', path);
  assert.equal(comparable(asked), comparable(got), `${path} as ${accept}`);
  return got;
};

lists('HEAD: has the status and headers of GET for every read, without a body', async ({ app }) => {
  for (const { path, endpoint } of readEndpoints()) {
    const got = await sameAsGet(app, path, '*/*');
    assert.is(got.statusCode, 200, path);
    // The length of a download is known at its end.
    if (!endpoint.rest.download) assert.ok(got.headers['content-length'] !== undefined, path);
    if (endpoint.csv !== null) await sameAsGet(app, path, 'text/csv');
  }
});

lists('HEAD: has the status and headers of GET for failures and pages', async ({ app }) => {
  for (const path of [
    '/jb/users/?page=2&page_size=2',
    '/jb/users/?page=0',
    '/jb/users/unknown/',
    '/jb/none/',
  ])
    await sameAsGet(app, path, 'application/json');
  await sameAsGet(app, '/jb/sites/1/', 'text/csv');
  for (const path of [
    '!/healthz',
    '!/readyz',
    '/status/',
    '!/avatars/a.svg',
    '/csrf/',
    '!/login/',
    '!/nothing',
  ])
    await sameAsGet(app, path, '*/*');
});

lists('OPTIONS: lists the methods of every path', async ({ app }) => {
  const paths = Map.groupBy(REST_ENDPOINTS, ({ url }) => url);
  assert.ok(paths.size > 30);
  for (const [url, endpoints] of paths) {
    const methods = endpoints.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const path = restPath(url).replaceAll(/:\w+/g, '1');
    const { statusCode, headers, body } = await app.send(`OPTIONS ${path}`);
    const allowed = String(headers.allow).split(', ');

    assert.equal([statusCode, body], [204, ''], path);
    assert.equal(allowed.toSorted(), [...methods, 'OPTIONS'].toSorted(), path);
    assert.is(allowed.includes('HEAD'), allowed.includes('GET'), path);
  }
});

lists.run();
