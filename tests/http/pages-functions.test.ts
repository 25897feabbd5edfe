import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formActionSources, homeUrl, localPath, loginPath } from '../../src/http/pages/page-layout.ts';
import { formatWait, userMessage } from '../../src/http/pages/parts.ts';
import { formatDateTime } from '../../src/lib/html.ts';
import { Problem } from '../../src/lib/problems.ts';

const displayText = suite('display text of pages');

displayText('formatWait rounds up', () => {
  const waits: [number | undefined, string][] = [
    [undefined, 'a minute'],
    [1, 'a minute'],
    [61, '2 minutes'],
    [900, '15 minutes'],
    [3541, 'an hour'],
    [3600, 'an hour'],
    [3601, '2 hours'],
    [7201, '3 hours'],
  ];
  for (const [seconds, text] of waits) assert.is(formatWait(seconds), text);
});

displayText('userMessage avoids technical terms', () => {
  for (const code of ['csrf-failed', 'invalid-credentials', 'throttled', 'invalid-input'] as const) {
    const message = userMessage(new Problem(code, { retryAfterSeconds: 900 }));
    assert.not.match(message, /csrf|token|header|cookie|input|credential/i);
  }
});

displayText('formatDateTime names the month and the zone', () => {
  const instant = new Date('2026-12-05T09:03:00Z');

  assert.is(formatDateTime(instant), '5 Dec 2026, 09:03 UTC');
});

displayText.run();

const redirects = suite('redirects of pages');

redirects('localPath returns paths as browsers send them, with their queries', () => {
  for (const path of ['/', '/password/change/', '/invitation/k/?signature=a-b_c', '/caf%C3%A9?a=%2F/b#c']) {
    assert.is(localPath(path), path);
  }
});

redirects('localPath returns null for everything else', () => {
  const foreign = ['//evil.test', '/\\evil.test', '/\t/evil.test', 'https://evil.test', 'javascript:x'];
  for (const input of [...foreign, '', 'evil', '/ü', '/a b', '/a\\b', `/${'a'.repeat(4096)}`, undefined]) {
    assert.is(localPath(input), null, input);
  }
});

redirects('homeUrl returns a local path or a web URL, and otherwise the home page', () => {
  assert.is(homeUrl('/dash/'), '/dash/');
  assert.is(homeUrl('https://apps.acme.test/café'), 'https://apps.acme.test/caf%C3%A9');
  for (const location of ['javascript:alert(1)', '//evil.test', 'data:text/html,x', '', 'http://']) {
    assert.is(homeUrl(location), '/', location);
  }
});

redirects('formActionSources allows the scheme of a home on another host', () => {
  assert.is(formActionSources('/dash/'), "'self'");
  assert.is(formActionSources('https://apps.acme.test/'), "'self' https:");
  assert.is(formActionSources('http://apps.acme.test/'), "'self' http: https:");
});

redirects('formActionSources allows the own scheme of an app that logs someone in or out', () => {
  for (const name of ['redirect_uri', 'post_logout_redirect_uri'])
    assert.match(formActionSources(`/oidc/any?${name}=com.acme.sales%3A%2Fback`), / com\.acme\.sales:$/);
});

redirects('loginPath contains the page to return to', () => {
  assert.is(loginPath('/'), '/login/');
  const { searchParams } = new URL(loginPath('/invitation/k/?signature=a&b=c'), 'https://steward.example');
  assert.is(searchParams.get('next'), '/invitation/k/?signature=a&b=c');
});

redirects.run();
