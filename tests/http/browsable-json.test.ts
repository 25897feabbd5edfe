import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { jsonLines } from '../../src/http/browsable/json-lines.ts';
import { valueLinks } from '../../src/http/browsable/value-links.ts';
import { anyCharacter } from '../support/any-character.ts';

const json = suite('JSON on a page');

const none = () => null;
const shown = (text: string, linkOf = none) => {
  const { lines, isWhole } = jsonLines(text, linkOf);
  return { html: lines.join(''), isWhole };
};

const CHARACTERS: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
const read = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(lt|gt|quot|#39|amp);/g, (_entity, name: string) => CHARACTERS[name] ?? '');

/** Text of the kind that leaves its place where it can, or keyedMutex around what stands beside it. */
const hostile = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc
    .array(
      fc.constantFrom(
        '<',
        '>',
        '"',
        "'",
        '&',
        '\\',
        '</script>',
        '<!--',
        '\u202e',
        '\u2066',
        '\u200f',
        '\0',
        '\u2028',
        '\ud800',
        'א',
        '{',
        '[',
        ',',
      ),
    )
    .map((parts) => parts.join('')),
);
const { value: anyJson } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    hostile,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(hostile, tie('value'), { maxKeys: 5 }),
  ),
}));

json('is the same JSON when it is read off the page, whatever it holds', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const text = JSON.stringify(value);
      assert.is(JSON.stringify(JSON.parse(read(shown(text).html))), JSON.stringify(JSON.parse(text)));
    }),
  );
});

json('adds its own elements to the page and no others, and hides nothing', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const { html } = shown(JSON.stringify(value));
      const own = /<span class="(line in\d+|key|text|number|word)">|<\/span>/g;
      assert.not.match(html.replaceAll(own, ''), /[<>"']/);
      assert.not.match(
        html.replaceAll('\n', ''),
        /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\u200e\u200f]/u,
      );
    }),
  );
});

json('loses no digit, and nothing that stands twice', () => {
  const text = '{"n":12345678901234567890.10,"n":1E400,"":-0}';

  assert.is(read(shown(text).html).replaceAll(/\s/g, ''), text);
});

json('sets in what is inside, and keeps what is empty on its line', () => {
  assert.is(read(shown('{"a":[1,{}],"b":[]}').html), '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}\n');
});

json('is cut off where no page could show it', () => {
  const deep = shown(`${'['.repeat(30_000)}${']'.repeat(30_000)}`);
  const crowded = shown(`[${'1,'.repeat(500_000)}1]`);
  const long = shown(JSON.stringify([...Array(100)].map(() => '<'.repeat(100_000))));

  for (const { html, isWhole } of [deep, crowded, long]) {
    assert.not.ok(isWhole);
    assert.ok(html.length < 2_000_000, `${html.length}`);
  }
});

const links = suite('links of values');

links('lead to what has a path of its own', () => {
  const at = (url: string, keys: string[], value: unknown) =>
    valueLinks(`/api/v1${url}`, '/self/')(keys, value);

  assert.is(at('/jb/users/', ['email'], "o'x+y@acme.test"), "/api/v1/jb/users/o'x%2By@acme.test/");
  assert.is(at('/jb/users/', ['apps'], 'zylTKNVx'), '/api/v1/jb/apps/zylTKNVx/');
  assert.is(at('/jb/users/', ['clientadmin_of'], 2), '/api/v1/jb/clients/2/');
  assert.is(at('/jb/clients/:id/apps/', ['id'], 'Qm3vR8pa'), '/api/v1/jb/apps/Qm3vR8pa/');
  assert.is(at('/jb/clients/:id/site/', ['id'], 1), '/api/v1/jb/sites/1/');
  assert.is(at('/jb/invitations/', ['user', 'email'], 'a@b.c'), '/api/v1/jb/users/a@b.c/');
});

links('leave alone what only looks like it, and what somebody has sent', () => {
  const at = (url: string, keys: string[], value: unknown) =>
    valueLinks(`/api/v1${url}`, '/self/')(keys, value);

  assert.is(at('/jb/invitations/', ['email'], 'a@b.c'), null);
  assert.is(at('/jb/tokens/', ['id'], 3), null);
  assert.is(at('/jb/users/', ['extra', 'email'], 'a@b.c'), null);
  assert.is(at('/jb/users/', ['first_name'], 'https://evil.test/'), null);
  assert.is(at('/jb/users/', ['email'], ''), null);
});

json.run();
links.run();
