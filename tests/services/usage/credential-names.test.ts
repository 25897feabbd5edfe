import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  hasCredentialLine,
  isCredentialName,
  sanitizeExtra,
  withoutSecrets,
} from '../../../src/services/usage/usage-extra.ts';

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

secrets.run();
