import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sanitizeExtra } from '../../../src/services/usage/usage-extra.ts';

const credentials = suite('credentials in extra');

/** Parsed like a body, which may have own keys such as `__proto__`. */
const faultsOf = (text: string): string[] => {
  const result = sanitizeExtra(JSON.parse(text));
  return 'faults' in result ? Object.keys(result.faults) : [];
};
const placesIn = (extra: object): string[] => faultsOf(JSON.stringify(extra));

credentials('are found at any depth and in any spelling of the name', () => {
  const names = [
    ...['META.HTTP_COOKIE', 'cookie', 'HTTP_AUTHORIZATION', 'COOKIES', 'Set-Cookie', ' cookie ', 'ｃookie'],
    ...['coo\u200bkie', 'X-Session-Token', 'x-access-token', 'x-amz-security-token', 'x-jwt', 'refreshToken'],
    ...['sessionid', 'PHPSESSID', 'session_key', 'client_secret', 'old password', 'passwd', 'SECRET_KEY'],
    ...['csrfmiddlewaretoken', 'x-goog-iap-jwt-assertion', 'id_token', 'API KEY', 'http.x.api.key'],
  ];
  for (const name of names) {
    const key = name.replace('META.', '');
    for (const extra of [{ [key]: 'x' }, { a: [{ b: { [key]: { c: 1 } } }] }, { request: { [key]: null } }]) {
      assert.is(placesIn(extra).length, 1, JSON.stringify(extra));
    }
  }
  assert.equal(faultsOf('{"request":{"__proto__":{"HTTP_COOKIE":"x"}}}'), [
    'extra.request.__proto__.HTTP_COOKIE',
  ]);
  assert.equal(placesIn({ request: { POST: { password: 'x' } } }), ['extra.request.POST.password']);
  assert.equal(placesIn({ request: { session: { session_key: 'x' } } }), [
    'extra.request.session.session_key',
  ]);
});

credentials('are found in lists, lines and header text', () => {
  const headers = [
    [['cookie', 'x']],
    ['accept', '*/*', 'cookie', 'x'],
    ['Host: x', 'Cookie: x'],
    { list: [{ pairs: [['X-Auth', 'x']] }] },
    'Host: x\r\nCookie: x',
    'cookie: x',
  ];
  for (const value of headers) {
    for (const extra of [
      { headers: value },
      { rawHeaders: value },
      { request: { Headers: value } },
      { META: value },
      { http: { request: { raw_headers: value } } },
    ]) {
      assert.is(placesIn(extra).length, 1, JSON.stringify(extra));
    }
  }
  assert.equal(placesIn({ request: { POST: [['password', 'x']] } }), ['extra.request.POST.0.0']);
});

credentials('are found in header names with lookalike letters', () => {
  const lookalike = 'cооkie'; // two of its letters are Cyrillic
  assert.equal(placesIn({ request: { headers: { [lookalike]: 'x' } } }).length, 1);
  assert.equal(placesIn({ headers: [[lookalike, 'x']] }).length, 1);
  assert.equal(placesIn({ größe: 1, request: { POST: { größe: 1 } } }), []);
});

credentials('are refused beside and below the metadata that is kept', () => {
  const META = { HTTP_COOKIE: 'x' };
  const shapes: [object, string][] = [
    [{ request: { META: [META] } }, 'extra.request.META'],
    [{ request: { META: 'HTTP_COOKIE=x' } }, 'extra.request.META'],
    [{ request: [{ META }] }, 'extra.request'],
    [{ request: 'GET / HTTP/1.1' }, 'extra.request'],
    [{ request: { META: { QUERY_STRING: { a: 1 } } } }, 'extra.request.META.QUERY_STRING'],
    [{ request: { meta: { DATABASE_URL: 'x' } } }, 'extra.request.meta'],
    [{ 'Request ': { META: { DATABASE_URL: 'x' } } }, 'extra.Request '],
  ];
  for (const [extra, path] of shapes) assert.equal(placesIn(extra), [path], JSON.stringify(extra));
  assert.equal(placesIn({ request: { META: null } }), []);
  assert.equal(placesIn({ request: null }), []);
});

credentials('are not repeated in the error that names their path', () => {
  const paths = placesIn({ headers: { 'Cookie: hidden': '' }, request: { headers: ['Cookie: hidden'] } });
  assert.equal(paths, ['extra.headers.Cookie', 'extra.request.headers.0']);
  assert.equal(placesIn({ request: { META: { 'Cookie: hidden': '' } } }), ['extra.request.META.Cookie']);
});

credentials('are not confused with similar names', () => {
  const extra = {
    token: 'BTC',
    auth: 'saml',
    key: 'x',
    monkey: 1,
    tokens: 3,
    secretary: 'x',
    cookiecutter: 1,
    password_reset: true,
    author: 'x',
    meta: { page: 3 },
    columns: ['Name', 'Password'],
    request: { session: 'abc', path: '/x/', vary: ['x', 'cookie'], headers: ['vary', 'Cookie'] },
  };
  assert.equal(placesIn(extra), []);
});

credentials('are reported 20 at a time', () => {
  const extra = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [n, { cookie: 1 }]));
  assert.is(placesIn(extra).length, 20);
});

credentials('are found at every position', () => {
  const cookie = fc.constantFrom('cookie', 'HTTP_COOKIE', 'Set-Cookie', 'X-Auth-Token', 'sessionid');
  const holder = fc.constantFrom('a', 'request', 'headers', '__proto__', 'list', '0', '');
  fc.assert(
    fc.property(cookie, fc.array(holder, { maxLength: 8 }), fc.jsonValue(), (name, path, value) => {
      const leaf = JSON.stringify({ [name]: value });
      const text = path.reduce(
        (inner, key) => (key === 'list' ? `{"x":[1,${inner}]}` : `{${JSON.stringify(key)}:${inner}}`),
        leaf,
      );
      assert.ok(faultsOf(text).length > 0, text);
    }),
  );
});

credentials.run();
