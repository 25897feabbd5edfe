import * as assert from 'uvu/assert';
import { preferredReturn } from '../../src/http/rest/negotiation.ts';
import { ACME, ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';

const prefer = appSuite('Prefer');

const minimal = { prefer: 'return=minimal' };
const patch = (app: TestApp, headers: Record<string, string>) =>
  app.send('PATCH /jb/clients/1/', { as: ACME, payload: { login_title: 'Hi' }, headers });

prefer('does not change responses without the header', async ({ app }) => {
  const response = await patch(app, {});
  assert.equal([response.statusCode, response.headers['preference-applied']], [200, undefined]);
});

prefer('return=minimal omits the body of a PATCH and sets the new ETag', async ({ app }) => {
  const response = await patch(app, minimal);
  const shown = await app.send('GET /jb/clients/1/', { as: ACME });

  assert.equal([response.statusCode, response.body], [204, '']);
  assert.is(response.headers['preference-applied'], 'return=minimal');
  assert.is(response.headers.etag, shown.headers.etag);
});

prefer('return=minimal omits the body of a creation and sets Location', async ({ app }) => {
  const payload = { domain: 'minimal.test', name: 'Minimal' };
  const response = await app.send('POST /jb/sites/', { as: ROOT, payload, headers: minimal });
  const shown = await app.send(`GET !${response.headers.location}`, { as: ROOT });

  assert.equal([response.statusCode, response.body], [201, '']);
  assert.is(response.headers['preference-applied'], 'return=minimal');
  assert.is(shown.json().domain, 'minimal.test');
});

prefer('return=minimal keeps secrets that are shown only once', async ({ app }) => {
  const response = await app.send('POST /jb/tokens/', { as: ADA, payload: { name: 'm' }, headers: minimal });
  assert.is(response.statusCode, 201);
  assert.match(response.json().token, /^[0-9a-f]{40}$/);
  assert.is(response.headers['preference-applied'], undefined);
});

prefer('does not apply to failures', async ({ app }) => {
  const payload = { login_title: 7 };
  const response = await app.send('PATCH /jb/clients/1/', { as: ACME, payload, headers: minimal });
  assert.equal([response.statusCode, response.headers['preference-applied']], [400, undefined]);
});

prefer('is parsed according to RFC 7240: the first of several, in any case, with or without quotes', () => {
  for (const [header, value] of [
    ['return=minimal', 'minimal'],
    ['respond-async, Return = "Representation"; foo', 'representation'],
    ['return=minimal, return=representation', 'minimal'],
    ['foo; return=minimal', null],
    ['return=all', null],
    ['xreturn=minimal', null],
    ['return=minimalism', null],
  ] as const) {
    assert.is(preferredReturn({ headers: { prefer: header } }), value, header);
  }
});

prefer.run();
