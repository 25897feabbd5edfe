import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sanitizeExtra } from '../../../src/services/usage/usage-extra.ts';

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
  for (const extra of [null, 7, 'x', [], new Date()]) assert.equal(faultsOf(extra), ['extra']);
  assert.equal(faultsOf({ x: 'é'.repeat(40_000) }), ['extra']);
  assert.equal(faultsOf({ x: 'é'.repeat(32_000) }), []);
});

extras.run();
