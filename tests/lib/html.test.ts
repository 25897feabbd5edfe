import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { html } from '../../src/lib/html.ts';
import { anyCharacter } from '../support/any-character.ts';

const markup = suite('html template tag');

/** Strings that would break out of a tag or attribute if they were not escaped. */
const hostile = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc
    .array(fc.constantFrom('<', '>', '"', "'", '&', '/', '=', ' ', 'script', '&lt;', '&#39;', '-->', 'x'))
    .map((parts) => parts.join('')),
);
const CHARACTERS: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};
const unescapeHtml = (escaped: string): string =>
  escaped.replaceAll(/&(amp|lt|gt|quot|#39);/g, (entity) => CHARACTERS[entity] ?? '');

markup('escapes every string between tags and in attributes without losing a character', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const page = html`<p title="${text}">${text}</p>`.toString();
      const [, attribute, content] = /^<p title="([^<>"']*)">([^<>"']*)<\/p>$/s.exec(page) ?? [];
      assert.is(unescapeHtml(attribute ?? 'not found'), text);
      assert.is(unescapeHtml(content ?? 'not found'), text);
    }),
  );
});

markup('embeds Html values and arrays of them without escaping', () => {
  const rows = ['a', '<b>'].map((text) => html`<li>${text}</li>`);

  assert.is(html`<ul>${rows}</ul>`.toString(), '<ul><li>a</li><li>&lt;b&gt;</li></ul>');
});

markup('rejects objects that are not Html', () => {
  const forged = JSON.parse('{"text":"<b>"}');

  assert.throws(() => html`<p>${forged}</p>`);
});

markup('renders null, undefined and false as nothing, and 0 as 0', () => {
  assert.is(html`[${null}${undefined}${false}${0}]`.toString(), '[0]');
});

markup('refuses an unquoted attribute value', () => {
  assert.throws(() => html`<p title=${'x'}>`, /quoted/);
});

markup.run();
