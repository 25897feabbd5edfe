import { createHash } from 'node:crypto';
import * as assert from 'uvu/assert';
import { createVisitor } from '../support/http-clients.ts';
import { ADA, appSuite, DEMO_PASSWORD, ROOT } from '../support/test-app.ts';

const responses = appSuite('responses of pages');

const PAGES = [
  '/login/',
  '/password/reset/',
  '/password/reset/?token=1.x',
  '/invitation/k/?signature=s',
  '/nowhere/',
];
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

responses('have headers against framing, scripts, caching and referrers', async ({ app }) => {
  for (const path of PAGES) {
    const { headers, body } = await createVisitor(app).get(path);
    const style = /<style>(.*)<\/style>/s.exec(body)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    assert.equal(
      String(headers['content-security-policy']).split('; '),
      [
        "default-src 'none'",
        `style-src 'sha256-${hash}'`,
        "img-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ],
      path,
    );
    assert.is(headers['cache-control'], 'no-store', path);
    assert.is(headers['referrer-policy'], 'strict-origin', path);
    assert.is(headers['x-content-type-options'], 'nosniff', path);
    assert.is(headers['cross-origin-opener-policy'], 'same-origin', path);
    assert.match(String(headers.vary), 'Accept', path);
    assert.not.match(body, /<script|\son\w+=|\sstyle=/i, path);
  }
});

responses('have the same privacy headers on redirects', async ({ app }) => {
  const { headers } = await createVisitor(app).get('/');

  assert.is(headers['cache-control'], 'no-store');
  assert.is(headers['referrer-policy'], 'strict-origin');
});

responses(
  'support HEAD and paths without a trailing slash, and reject other methods with Allow',
  async ({ app }) => {
    const visitor = createVisitor(app);
    const head = await visitor.head('/login/');

    assert.equal([head.status, head.body], [200, '']);
    assert.is((await visitor.get('/login')).status, 200);
    assert.is((await visitor.get('/password/reset')).status, 200);
    for (const [line, allow] of [
      ['DELETE !/login/', 'GET, HEAD, POST, OPTIONS'],
      ['POST !/', 'GET, HEAD, OPTIONS'],
      ['GET !/logout/', 'POST, OPTIONS'],
      ['PUT !/invitation/k/', 'GET, HEAD, POST, OPTIONS'],
      ['GET !/sessions/1/end', 'POST, OPTIONS'],
    ] as const) {
      const response = await app.send(line, { headers: { accept: BROWSER } });
      assert.equal([response.statusCode, response.headers.allow], [405, allow], line);
      assert.match(response.body, 'This page does not support this kind of request.', line);
    }
  },
);

responses('accept URL-encoded forms of up to 16 KiB and no other body', async ({ app }) => {
  const send = (type: string, payload: string) =>
    app.send('POST !/login/', { payload, headers: { 'content-type': type, accept: BROWSER } });
  const form = 'application/x-www-form-urlencoded';
  const multipart = '--x\r\nContent-Disposition: form-data; name="username"\r\n\r\na\r\n--x--\r\n';

  assert.is((await send(form, `username=${'a'.repeat(17_000)}`)).statusCode, 413);
  assert.is((await send('multipart/form-data; boundary=x', multipart)).statusCode, 415);
  assert.is((await send('application/json', '{"username":"a"}')).statusCode, 415);
  assert.is((await send('text/plain', 'username=a')).statusCode, 415);
  assert.is((await send(form, '%=&__proto__=x&%ff=%fe&username=%00')).statusCode, 403);
  assert.is((await app.send('POST !/login/')).statusCode, 403);
  assert.match((await send('text/plain', 'username=a')).body, 'Request failed');
});

responses("show the client's own 404 message with sanitized HTML", async ({ app }) => {
  const message =
    '<p>Ask <b>Alex</b>.</p><script>alert(1)</script><p>Or <a href="https://help.test/" onclick="x()">us</a>.</p>';
  const texts = { subtitle_404: 'Lost & found', message_404: message };
  await app.db().updateTable('clients').set(texts).where('id', '=', 1).execute();
  const page = await createVisitor(app).get('/nowhere/');

  assert.is(page.status, 404);
  assert.match(page.body, '<h1>Lost &amp; found</h1>');
  assert.match(
    page.body,
    '<p>Ask <b>Alex</b>.</p><p>Or <a href="https://help.test/" rel="noopener noreferrer">us</a>.</p>',
  );
  assert.not.match(page.body, /<script|onclick/);
  assert.match(String(page.headers['content-security-policy']), "default-src 'none'");
  assert.is((await app.as(ROOT).clients.get({ id: 1 })).message_404, message);
});

responses(
  'are problem documents if the client is not a browser or the path is an API path',
  async ({ app }) => {
    for (const [path, accept] of [
      ['!/nowhere/', '*/*'],
      ['!/nowhere/', 'application/json'],
      ['!/api/nowhere/', BROWSER],
      ['!/trpc/nowhere', BROWSER],
    ] as const) {
      const { statusCode, headers } = await app.send(`GET ${path}`, { as: ADA, headers: { accept } });
      assert.is(statusCode, 404, path);
      assert.match(String(headers['content-type']), 'json', `${path} ${accept}`);
    }
  },
);

responses(
  "show the client's own 500 message with the request ID, and no details of the error",
  async ({ app }) => {
    const texts = { subtitle_500: 'Oh no', message_500: '<i>Soon</i> again.' };
    await app.db().updateTable('clients').set(texts).where('id', '=', 1).execute();
    const visitor = createVisitor(app);
    await visitor.get('/login/');
    await app.orm.em.fork().execute('alter table sessions rename to sessions_away');
    const fields = { username: ADA, password: DEMO_PASSWORD };
    const page = await visitor.submit('/login/', fields);
    await app.orm.em.fork().execute('alter table sessions_away rename to sessions');

    assert.is(page.status, 500);
    assert.match(page.text, 'Oh no Soon again.');
    assert.match(page.text, String(page.headers['x-request-id']));
    assert.not.match(page.body, /sessions|relation|select|DEMO/i);
  },
);

responses('show a 404 page even if the client cannot be loaded', async ({ app }) => {
  await app.orm.em.fork().execute('alter table clients rename to clients_away');
  const page = await createVisitor(app).get('/nowhere/');
  await app.orm.em.fork().execute('alter table clients_away rename to clients');

  assert.is(page.status, 404);
  assert.match(page.text, 'We could not find that page');
});

responses.run();
