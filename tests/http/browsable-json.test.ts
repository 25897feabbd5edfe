import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLinkResolver } from '../../src/http/browsable/api-paths.ts';
import { highlightJson } from '../../src/http/browsable/json-highlighter.ts';
import { anyCharacter } from '../support/any-character.ts';

const json = suite('highlightJson');

const highlight = (text: string) => {
  const { lines, isComplete } = highlightJson(JSON.parse(text), () => null);
  return { html: lines.join(''), isComplete };
};

const CHARACTERS: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
const toText = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(lt|gt|quot|#39|amp);/g, (_entity, name: string) => CHARACTERS[name] ?? '');

const PARTS = [...'<>"\'&\\{[,א\0\u202e\u2066\u200f\u2028', '\ud800', '</script>', '<!--'];
/** Strings that would break out of an element or reorder the text beside them if they were not escaped. */
const hostile = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.array(fc.constantFrom(...PARTS)).map((parts) => parts.join('')),
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

json('renders text that parses to the same JSON', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const text = JSON.stringify(value);
      assert.is(JSON.stringify(JSON.parse(toText(highlight(text).html))), JSON.stringify(JSON.parse(text)));
    }),
  );
});

json('escapes all values and shows invisible characters', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const { html } = highlight(JSON.stringify(value));
      const own = /<span class="(line in\d+|key|string|number|constant)">|<\/span>/g;
      assert.not.match(html.replaceAll(own, ''), /[<>"']/);
      const invisible = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\u200e\u200f]/u;
      assert.not.match(html.replaceAll('\n', ''), invisible);
    }),
  );
});

json('indents nested values and keeps empty ones on one line', () => {
  const text = toText(highlight('{"a":[1,{}],"b":[]}').html);
  assert.is(text, '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}\n');
});

json('truncates documents that are too wide or too long', () => {
  const wide = highlight(`[${'1,'.repeat(500_000)}1]`);
  const long = highlight(JSON.stringify([...Array(100)].map(() => '<'.repeat(100_000))));

  for (const { html, isComplete } of [wide, long]) {
    assert.not.ok(isComplete);
    assert.ok(html.length < 2_000_000, `${html.length}`);
  }
});

const links = suite('createLinkResolver');

const at = (url: string, keys: string[], value: unknown) =>
  createLinkResolver(`/api/v1${url}`, '/self/')(keys, value);

links('links users, apps, clients and list elements to their paths', () => {
  assert.is(at('/jb/users/', ['email'], "o'x+y@acme.test"), "/api/v1/jb/users/o'x%2By@acme.test/");
  assert.is(at('/jb/users/', ['apps'], 'zylTKNVx'), '/api/v1/jb/apps/zylTKNVx/');
  assert.is(at('/jb/users/', ['clientadmin_of'], 2), '/api/v1/jb/clients/2/');
  assert.is(at('/jb/clients/:id/apps/', ['id'], 'Qm3vR8pa'), '/api/v1/jb/apps/Qm3vR8pa/');
  assert.is(at('/jb/clients/:id/site/', ['id'], 1), '/api/v1/jb/sites/1/');
  assert.is(at('/jb/invitations/', ['user', 'email'], 'a@b.c'), '/api/v1/jb/users/a@b.c/');
});

links('does not link invited addresses, free-form data or values without a path', () => {
  assert.is(at('/jb/invitations/', ['email'], 'a@b.c'), null);
  assert.is(at('/jb/tokens/', ['id'], 3), null);
  assert.is(at('/jb/users/', ['extra', 'email'], 'a@b.c'), null);
  assert.is(at('/jb/users/', ['first_name'], 'https://evil.test/'), null);
  assert.is(at('/jb/users/', ['email'], ''), null);
});

json.run();
links.run();
