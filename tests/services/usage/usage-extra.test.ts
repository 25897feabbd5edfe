import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  hasCredentialLine,
  isCredentialName,
  sanitizeExtra,
  withoutSecrets,
} from '../../../src/services/usage/usage-extra.ts';
import { NOON } from '../../support/time.ts';

const extras = suite('keptExtra');

const kept = (extra: unknown) => {
  const result = sanitizeExtra(extra);
  if (!('kept' in result)) throw new Error(JSON.stringify(result.faults));
  return result.kept;
};

const faultsOf = (extra: unknown): string[] => {
  const result = sanitizeExtra(extra);
  return 'faults' in result ? Object.keys(result.faults) : [];
};

const META = {
  HTTP_USER_AGENT: 'x',
  SERVER_NAME: 'x',
  HTTP_REFERER: 'x',
  REMOTE_ADDR: '::1',
  CONTENT_TYPE: '',
  REQUEST_METHOD: 'GET',
  HTTP_HOST: 'x',
  SERVER_PORT: '80',
  QUERY_STRING: '',
  HTTP_ACCEPT_ENCODING: 'br',
};

extras('keeps everything unchanged, but only the documented keys of the request metadata', () => {
  const request = { path: '/x/', session: 's', more: [1], META };
  assert.is(kept({ z: 1, a: { b: null }, request }).text, JSON.stringify({ z: 1, a: { b: null }, request }));

  const fullRequest = { ...request, META: { PATH: '/usr/bin', ...META, wsgi: { version: 1 } } };
  assert.is(kept({ z: 1, request: fullRequest, a: 2 }).text, JSON.stringify({ z: 1, request, a: 2 }));
});

extras('refuses credentials by path, in any spelling', () => {
  assert.equal(faultsOf({ request: { META: { HTTP_COOKIE: 'x' } } }), ['extra.request.META.HTTP_COOKIE']);
  assert.equal(faultsOf({ request: { headers: { Authorization: 'x', 'X-Api-Key': 1 }, COOKIES: {} } }), [
    'extra.request.headers.Authorization',
    'extra.request.headers.X-Api-Key',
    'extra.request.COOKIES',
  ]);
  const spellings = [
    'HTTP_AUTHORIZATION',
    'HTTP_PROXY_AUTHORIZATION',
    'cookie',
    'Set-Cookie',
    'HTTP_X_CSRFTOKEN',
    'CSRF_COOKIE',
    'HTTP_X_AUTH_TOKEN',
  ];
  for (const key of spellings) assert.is(faultsOf({ request: { META: { [key]: 'x' } } }).length, 1, key);
});

extras('refuses such a key at every position', () => {
  const key = fc.constantFrom(...Object.keys(META), 'HTTP_COOKIE', 'AUTHORIZATION', 'PATH', '__proto__', 'x');
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.string())), (pairs) => {
      const meta: Record<string, unknown> = Object.fromEntries(pairs);
      const result = sanitizeExtra({ request: { META: meta } });
      const isSecret = Object.hasOwn(meta, 'HTTP_COOKIE') || Object.hasOwn(meta, 'AUTHORIZATION');
      assert.is('faults' in result, isSecret);
      if ('kept' in result) {
        const left = Object.keys(JSON.parse(result.kept.text).request.META);
        assert.equal(
          left,
          Object.keys(meta).filter((name) => Object.hasOwn(META, name)),
        );
      }
    }),
    { seed: 1 },
  );
});

extras('counts by a stack with a valid name, and keeps any other without counting it', () => {
  assert.is(kept({ stack: 'a0a91e46' }).stack, 'a0a91e46');
  assert.is(kept({}).stack, null);
  for (const stack of [null, 7, '', 'x'.repeat(256), 'a\0b', '\ud800', ['a']]) {
    assert.is(kept({ stack }).stack, null);
  }
});

extras('refuses values that are no object or too large', () => {
  for (const extra of [null, 7, 'x', [], NOON]) assert.equal(faultsOf(extra), ['extra']);
  assert.equal(faultsOf({ x: 'é'.repeat(40_000) }), ['extra']);
  assert.equal(faultsOf({ x: 'é'.repeat(32_000) }), []);
});

const credentials = suite('credentials in extra');

/** Parsed like a body, which may have own keys such as `__proto__`. */
const faultsIn = (text: string): string[] => {
  const result = sanitizeExtra(JSON.parse(text));
  return 'faults' in result ? Object.keys(result.faults) : [];
};

const placesIn = (extra: object): string[] => faultsIn(JSON.stringify(extra));

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
  assert.equal(faultsIn('{"request":{"__proto__":{"HTTP_COOKIE":"x"}}}'), [
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
      assert.ok(faultsIn(text).length > 0, text);
    }),
    { seed: 1 },
  );
});

const secrets = suite('withoutSecrets');

secrets('removes only the values of secret parameters', () => {
  const addresses: [string, string][] = [
    ['token=abc&tab=2', 'token=…&tab=2'],
    ['/reset/?reset_token=a/b?c;d#top', '/reset/?reset_token=…#top'],
    ['https://x.test/#access_token=abc&state=1', 'https://x.test/#access_token=…&state=1'],
    ['user[password]=x&a=%20', 'user[password]=…&a=%20'],
    ['user%5Bpassword%5D=x', 'user%5Bpassword%5D=…'],
    ['X-Amz-Signature=x&key=y&api_key=z', 'X-Amz-Signature=…&key=…&api_key=…'],
    ['next=%2Fx%3Ftoken%3Dabc%26a%3D1&b=2', 'next=%2Fx%3Ftoken%3D…&b=2'],
    ['next=%252Fx%253Fkey%253Dabc', 'next=%252Fx%253Fkey%253D…'],
    ['https://me:secret@x.test/', 'https://…@x.test/'],
  ];
  for (const [sent, kept] of addresses) assert.is(withoutSecrets(sent), kept);
  for (const plain of ['', '/apps/', 'tab=2&x=1', 'monkey=1&tokens=2&design=3', 'token=', 'a@x.test?b=1']) {
    assert.is(withoutSecrets(plain), plain);
  }
});

secrets('is applied to URLs of an entry only', () => {
  const extra = {
    request: {
      path: '/x/?token=abc',
      session: 'token=abc',
      META: {
        HTTP_REFERER: 'https://x.test/?token=abc',
        QUERY_STRING: 'token=abc',
        SERVER_NAME: 'token=abc',
      },
    },
    more: 'token=abc',
  };
  const result = sanitizeExtra(extra);

  assert.ok('kept' in result);
  const { request, more } = JSON.parse(result.kept.text);
  assert.equal(request, {
    path: '/x/?token=…',
    session: 'token=abc',
    META: { HTTP_REFERER: 'https://x.test/?token=…', QUERY_STRING: 'token=…', SERVER_NAME: 'token=abc' },
  });
  assert.is(more, 'token=abc');
});

secrets('removes these values among any other parameters', () => {
  const word = fc.stringMatching(/^[a-z0-9%+/?_.-]{0,12}$/);
  const parameters = fc.array(fc.tuple(word, word));
  fc.assert(
    fc.property(parameters, parameters, (before, after) => {
      const hidden = ['access_token', 'HIDDEN'] as const;
      const query = [...before, hidden, ...after].map((pair) => pair.join('=')).join('&');
      assert.not.ok(withoutSecrets(query).includes('HIDDEN'), query);
    }),
    { seed: 1 },
  );
});

secrets('and the check of names end for long texts, for which quadratic work would take minutes', () => {
  const hostile = [
    'a',
    'token',
    'token=',
    '%25',
    '//a',
    '/',
    'x-',
    'sess-',
    ' ',
    'ﷺ',
    'cookie ',
    '\n',
    'x\n',
    ':\r\n',
  ];
  for (const part of hostile) {
    const text = `${part.repeat(65_536 / part.length)}@z`;
    assert.type(withoutSecrets(text), 'string');
    assert.not(isCredentialName(text, true));
    assert.not(hasCredentialLine(text));
  }
});

secrets('finds a credential on any line of header text', () => {
  const lines = [
    'accept: */*',
    'x-csrftoken: abc',
    '  Authorization : x',
    ':cookie: a=b',
    'Proxy-Authorization: x',
  ];
  for (const line of lines.slice(1)) {
    assert.ok(hasCredentialLine(line), line);
    for (const end of ['\n', '\r', '\r\n', '\n\n\t'])
      assert.ok(hasCredentialLine(`${lines[0]}${end}${line}${end}`), JSON.stringify([line, end]));
  }
  for (const plain of ['', '\n\n', 'accept: */*\r\nhost: x', 'say cookie: x', 'cookie\nrecipe', 'monkey: 1'])
    assert.not(hasCredentialLine(plain), JSON.stringify(plain));
});

extras.run();
credentials.run();
secrets.run();
