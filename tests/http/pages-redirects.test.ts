import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formTargets, homeOf, loginPath, ownPath } from '../../src/http/pages/redirects.ts';
import { anyCharacter } from '../support/any-character.ts';

const destinations = suite('destinations');

const HERE = 'https://steward.example';
const pieces = fc
  .array(
    fc.constantFrom(
      '/',
      '\\',
      '//',
      '.',
      '..',
      '@',
      ':',
      '%2f',
      '%5c',
      '\t',
      '\n',
      '\r',
      '\0',
      ' ',
      '?',
      '#',
      'é',
    ),
  )
  .map((parts) => `/${parts.join('')}evil.test`);

destinations('goes on to paths of this host alone, whatever the address says', () => {
  const wishes = fc.oneof(fc.string({ unit: anyCharacter }), fc.webUrl(), fc.webPath(), pieces);
  fc.assert(
    fc.property(wishes, (wish) => {
      const path = ownPath(wish);
      if (path === null) return;
      assert.is(new URL(path, `${HERE}/login/`).origin, HERE);
      assert.match(path, /^\/[\x21-\x7e]*$/, 'it must fit into a header');
    }),
    { numRuns: 2000 },
  );
});

destinations('takes the paths that browsers send, with their queries', () => {
  for (const path of ['/', '/password/change/', '/invitation/k/?signature=a-b_c', '/caf%C3%A9?a=%2F/b#c']) {
    assert.is(ownPath(path), path);
  }
});

destinations('takes nothing else', () => {
  const bad = [
    '',
    'evil',
    '//evil.test',
    '/\\evil.test',
    '/\t/evil.test',
    'https://evil.test',
    'javascript:x',
  ];
  for (const wish of [...bad, '/ü', '/a b', '/a\\b', `/${'a'.repeat(2048)}`, undefined]) {
    assert.is(ownPath(wish), null, wish);
  }
});

destinations('finds the home of a client among paths and web addresses, else takes the start page', () => {
  assert.is(homeOf('/dash/'), '/dash/');
  assert.is(homeOf('https://apps.acme.test/café'), 'https://apps.acme.test/caf%C3%A9');
  for (const location of ['javascript:alert(1)', '//evil.test', 'data:text/html,x', '', 'http://']) {
    assert.is(homeOf(location), '/', location);
  }
});

destinations('lets forms lead to a home elsewhere, and to nothing in the clear unless the home is', () => {
  assert.is(formTargets('/dash/'), "'self'");
  assert.is(formTargets('https://apps.acme.test/'), "'self' https:");
  assert.is(formTargets('http://apps.acme.test/'), "'self' http: https:");
});

destinations('sends people to the login page with the way back', () => {
  assert.is(loginPath('/'), '/login/');
  const { searchParams } = new URL(loginPath('/invitation/k/?signature=a&b=c'), HERE);
  assert.is(searchParams.get('next'), '/invitation/k/?signature=a&b=c');
});

destinations.run();
