import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sanitizeExtra, withoutSecrets } from '../../../src/services/usage/usage-extra.ts';
import { NOON } from '../../support/time.ts';

const extras = suite('extra of a usage entry');

const kept = (extra: unknown) => {
  const result = sanitizeExtra(extra);
  if (!('kept' in result)) throw new Error(JSON.stringify(result.faults));
  return result.kept;
};

const faultsOf = (extra: unknown): string[] => {
  const result = sanitizeExtra(extra);
  return 'faults' in result ? Object.keys(result.faults) : [];
};

const META = { HTTP_USER_AGENT: 'x', REMOTE_ADDR: '::1', REQUEST_METHOD: 'GET', SERVER_PORT: '80' };

extras('is kept unchanged, but for undocumented keys of the request metadata', () => {
  const request = { path: '/x/', session: 's', more: [1], META };
  assert.is(kept({ z: 1, a: { b: null }, request }).text, JSON.stringify({ z: 1, a: { b: null }, request }));

  const fullRequest = { ...request, META: { PATH: '/usr/bin', ...META, wsgi: { version: 1 } } };
  assert.is(kept({ z: 1, request: fullRequest, a: 2 }).text, JSON.stringify({ z: 1, request, a: 2 }));
});

extras('counts by a stack with a valid name, and keeps any other without counting it', () => {
  assert.is(kept({ stack: 'a0a91e46' }).stack, 'a0a91e46');
  assert.is(kept({}).stack, null);
  for (const stack of [null, 7, '', 'x'.repeat(256), 'a\0b', '\ud800', ['a']]) {
    assert.is(kept({ stack }).stack, null);
  }
});

extras('is refused if it is no object, too large, or its request is no object', () => {
  for (const extra of [null, 7, 'x', [], NOON]) assert.equal(faultsOf(extra), ['extra']);
  assert.equal(faultsOf({ x: 'é'.repeat(40_000) }), ['extra']);
  assert.equal(faultsOf({ request: 'GET / HTTP/1.1' }), ['extra.request']);
  assert.equal(faultsOf({ request: { META: [META] } }), ['extra.request.META']);
});

extras('is refused with a key that names a credential, at any depth', () => {
  const names = [
    ...['HTTP_COOKIE', 'cookie', 'Set-Cookie', 'HTTP_AUTHORIZATION', 'X-Api-Key', 'HTTP_X_CSRFTOKEN'],
    ...[
      'refreshToken',
      'sessionid',
      'session_key',
      'client_secret',
      'SECRET_KEY',
      'password',
      '__proto__.jwt',
    ],
  ];
  for (const name of names) {
    const key = name.replace('__proto__.', '');
    for (const extra of [{ [key]: 1 }, { a: [{ b: { [key]: {} } }] }, { request: { META: { [key]: '' } } }])
      assert.is(faultsOf(extra).length, 1, JSON.stringify(extra));
  }
  assert.equal(faultsOf({ a: [{ cookie: 1 }] }), ['extra.a.0.cookie']);
  assert.is(faultsOf(Object.fromEntries(Array.from({ length: 100 }, (_, n) => [n, { jwt: 1 }]))).length, 20);
});

extras('may have keys that are similar to credentials', () => {
  const extra = { token: 'BTC', auth: 'saml', key: 1, tokens: 3, cookiecutter: 1, password_reset: true };
  assert.equal(faultsOf({ ...extra, request: { session: 'abc', path: '/x/' } }), []);
});

extras('has no secrets in its addresses', () => {
  const addresses: [string, string][] = [
    ['token=abc&tab=2', 'token=…&tab=2'],
    ['/reset/?reset_token=a/b?c;d#top', '/reset/?reset_token=…#top'],
    ['https://x.test/#access_token=abc&state=1', 'https://x.test/#access_token=…&state=1'],
    ['user[password]=x&a=%20', 'user[password]=…&a=%20'],
    ['X-Amz-Signature=x&api_key=z', 'X-Amz-Signature=…&api_key=…'],
    ['https://me:secret@x.test/', 'https://…@x.test/'],
  ];
  for (const [sent, masked] of addresses) {
    assert.is(withoutSecrets(sent), masked);
    const request = { path: sent, session: sent, META: { HTTP_REFERER: sent, QUERY_STRING: sent } };
    const left = JSON.parse(kept({ request, more: sent }).text);
    const META = { HTTP_REFERER: masked, QUERY_STRING: masked };
    assert.equal(left, { request: { path: masked, session: sent, META }, more: sent });
  }
  for (const plain of ['', '/apps/', 'tab=2&x=1', 'tokens=2&design=3', 'a@x.test?b=1'])
    assert.is(withoutSecrets(plain), plain);
});

extras.run();
